// SPDX-License-Identifier: Apache-2.0
// CUB's reductions, histogram and scan. They have their own file because CUB multiplies the compile
// time.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/reduce/histogram_arguments.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/reduce/scan.hpp"

namespace warpgauge::kernels {
namespace {

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};

struct ProductAt {
  const float* a;
  const float* b;
  __device__ float operator()(std::size_t i) const { return a[i] * b[i]; }
};

cudaError_t sum(void* storage, std::size_t& bytes, const float* in, float* out, std::size_t n,
                cudaStream_t stream) {
  return cub::DeviceReduce::Sum(storage, bytes, in, out, n, stream);
}

cudaError_t dot(void* storage, std::size_t& bytes, ProductAt product, float* out, std::size_t n,
                cudaStream_t stream) {
  return cub::DeviceReduce::TransformReduce(storage, bytes,
                                            thrust::counting_iterator<std::size_t>(0), out, n,
                                            Add{}, product, 0.0F, stream);
}

cudaError_t max(void* storage, std::size_t& bytes, const float* in, float* out, std::size_t n,
                cudaStream_t stream) {
  return cub::DeviceReduce::Max(storage, bytes, in, out, n, stream);
}

cudaError_t histogram(void* storage, std::size_t& bytes, const std::int32_t* keys,
                      std::int32_t* bins, std::size_t n, BinOf bin_of, cudaStream_t stream) {
  // Unsigned levels: [0, 256) in 256 bins.
  return cub::DeviceHistogram::HistogramEven(
      storage, bytes, thrust::make_transform_iterator(keys, bin_of), bins, histogram_bins + 1, 0U,
      histogram_bins, static_cast<int>(n), stream);
}

cudaError_t scan(void* storage, std::size_t& bytes, const std::int32_t* in, std::int32_t* out,
                 std::size_t n, cudaStream_t stream) {
  // The same bits as unsigned, because unsigned overflow is defined.
  return cub::DeviceScan::InclusiveSum(storage, bytes, reinterpret_cast<const std::uint32_t*>(in),
                                       reinterpret_cast<std::uint32_t*>(out), static_cast<int>(n),
                                       stream);
}

/// Bytes of temporary storage that CUB asks for, at least 1; nothing is launched.
template <class Call>
std::size_t storage_bytes(const Call& call) {
  std::size_t bytes = 0;
  WARPGAUGE_CHECK(call(nullptr, bytes));
  return bytes > 0 ? bytes : 1;
}

constexpr std::size_t most_ints = 2'147'483'647;

std::size_t reduction_bytes(const char* owner, std::size_t most_elements) {
  // CUB counts tiles, of at least 256 elements, in an int.
  require_at_most(owner, most_elements, 256 * max_grid_blocks);
  return std::max({
      storage_bytes([=](void* none, std::size_t& bytes) {
        return sum(none, bytes, nullptr, nullptr, most_elements, nullptr);
      }),
      storage_bytes([=](void* none, std::size_t& bytes) {
        return dot(none, bytes, {}, nullptr, most_elements, nullptr);
      }),
      storage_bytes([=](void* none, std::size_t& bytes) {
        return max(none, bytes, nullptr, nullptr, most_elements, nullptr);
      }),
  });
}

std::size_t histogram_bytes(std::size_t most_keys) {
  require_at_most("CubHistogram", most_keys, most_ints);
  return storage_bytes([=](void* none, std::size_t& bytes) {
    return histogram(none, bytes, nullptr, nullptr, most_keys, {}, nullptr);
  });
}

std::size_t scan_bytes(std::size_t most_elements) {
  require_at_most("CubScan", most_elements, most_ints);
  return storage_bytes([=](void* none, std::size_t& bytes) {
    return scan(none, bytes, nullptr, nullptr, most_elements, nullptr);
  });
}

}  // namespace

CubReduction::CubReduction(const char* owner, std::size_t most_elements)
    : owner_(owner),
      most_elements_(most_elements),
      storage_(reduction_bytes(owner, most_elements)) {}

void CubReduction::require(const char* name, const float* in, const float* out,
                           std::size_t n) const {
  require_at_most(owner_, n, most_elements_);
  if (n > 0) {
    require_pointer(owner_, name, in, alignof(float));
  }
  require_pointer(owner_, "out", out, alignof(float));
}

void CubSum::operator()(const float* in, float* out, std::size_t n, cudaStream_t stream) {
  require("in", in, out, n);
  std::size_t bytes = storage_.size_bytes();
  WARPGAUGE_CHECK(sum(storage_.data(), bytes, in, out, n, stream));
}

void CubDot::operator()(const float* a, const float* b, float* out, std::size_t n,
                        cudaStream_t stream) {
  require("a", a, out, n);
  require("b", b, out, n);
  std::size_t bytes = storage_.size_bytes();
  WARPGAUGE_CHECK(dot(storage_.data(), bytes, {a, b}, out, n, stream));
}

void CubMax::operator()(const float* in, float* out, std::size_t n, cudaStream_t stream) {
  require("in", in, out, n);
  std::size_t bytes = storage_.size_bytes();
  WARPGAUGE_CHECK(max(storage_.data(), bytes, in, out, n, stream));
}

CubHistogram::CubHistogram(std::size_t most_keys)
    : most_keys_(most_keys), storage_(histogram_bytes(most_keys)) {}

void CubHistogram::operator()(const std::int32_t* keys, std::int32_t* bins, std::size_t n,
                              BinOf bin_of, cudaStream_t stream) {
  require_at_most("CubHistogram", n, most_keys_);
  require_histogram("CubHistogram", n, {"keys", keys}, {"bins", bins});
  std::size_t bytes = storage_.size_bytes();
  WARPGAUGE_CHECK(histogram(storage_.data(), bytes, keys, bins, n, bin_of, stream));
}

CubScan::CubScan(std::size_t most_elements)
    : ScanStorage("CubScan", most_elements, scan_bytes(most_elements)) {}

void CubScan::operator()(const std::int32_t* in, std::int32_t* out, std::size_t n,
                         cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require(in, out, n);
  std::size_t bytes = storage_.size_bytes();
  WARPGAUGE_CHECK(scan(storage_.data(), bytes, in, out, n, stream));
}

}  // namespace warpgauge::kernels
