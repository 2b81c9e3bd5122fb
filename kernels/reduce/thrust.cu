// SPDX-License-Identifier: Apache-2.0
// Thrust's reductions and scan. They have their own file because Thrust multiplies the compile
// time.
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/inner_product.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

#include <warpgauge/cuda/check.hpp>
#include "kernels/reduce/reduce.hpp"
#include "kernels/reduce/scan.hpp"

namespace warpgauge::kernels {
namespace {

/// The allocator of Thrust's temporary storage: one piece at a time, of memory that exists already.
class OnePiece {
 public:
  using value_type = char;
  explicit OnePiece(DeviceArray<std::byte>& storage) : storage_(&storage) {}
  char* allocate(std::ptrdiff_t bytes) {
    if (static_cast<std::size_t>(bytes) > storage_->size_bytes()) {
      throw std::runtime_error("ThrustScan: asks for " + std::to_string(bytes) + " bytes, has " +
                               std::to_string(storage_->size_bytes()));
    }
    return reinterpret_cast<char*>(storage_->data());
  }
  void deallocate(char* /*memory*/, std::size_t /*bytes*/) {}

 private:
  DeviceArray<std::byte>* storage_;
};

/// Thrust's storage is that of CUB's scan: a few words per tile of hundreds of elements, plus a
/// little.
std::size_t thrust_storage_bytes(std::size_t most_elements) {
  require_at_most("ThrustScan", most_elements, std::numeric_limits<int>::max());
  return (std::size_t{1} << 20) + most_elements / 4;
}

constexpr std::size_t most_for_thrust = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(float);

}  // namespace

// Thrust's errors are thrust::system_error, a std::runtime_error with CUDA's text.

float sum_thrust(const float* in, std::size_t n, cudaStream_t stream) {
  if (n == 0) {
    return 0;
  }
  require_pointer("sum_thrust", "in", in, alignof(float));
  require_at_most("sum_thrust", n, most_for_thrust);
  return thrust::reduce(thrust::cuda::par.on(stream), in, in + n);
}

float dot_thrust(const float* a, const float* b, std::size_t n, cudaStream_t stream) {
  if (n == 0) {
    return 0;
  }
  require_arrays("dot_thrust", {{"a", a}, {"b", b}});
  require_at_most("dot_thrust", n, most_for_thrust);
  return thrust::inner_product(thrust::cuda::par.on(stream), a, a + n, b, 0.0F);
}

float max_thrust(const float* in, std::size_t n, cudaStream_t stream) {
  constexpr float neutral = -std::numeric_limits<float>::infinity();
  if (n == 0) {
    return neutral;
  }
  require_pointer("max_thrust", "in", in, alignof(float));
  require_at_most("max_thrust", n, most_for_thrust);
  return thrust::reduce(thrust::cuda::par.on(stream), in, in + n, neutral,
                        thrust::maximum<float>());
}

ThrustScan::ThrustScan(std::size_t most_elements)
    : ScanStorage("ThrustScan", most_elements, thrust_storage_bytes(most_elements)) {}

void ThrustScan::operator()(const std::int32_t* in, std::int32_t* out, std::size_t n,
                            cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require(in, out, n);
  const auto* const from = reinterpret_cast<const std::uint32_t*>(in);
  OnePiece storage(storage_);
  thrust::inclusive_scan(thrust::cuda::par_nosync(storage).on(stream), from, from + n,
                         reinterpret_cast<std::uint32_t*>(out));
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
