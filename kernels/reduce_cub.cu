// SPDX-License-Identifier: Apache-2.0
// The library's sum. Apart from the reference because CUB multiplies the time to compile.
#include <cub/device/device_reduce.cuh>

#include "kernels/arguments.hpp"
#include "kernels/launch_check.hpp"
#include "kernels/reduce.hpp"

namespace warpgauge::kernels {
namespace {

/// Bytes of temporary storage that CUB asks for; nothing is launched.
std::size_t storage_bytes(std::size_t most_elements) {
  // CUB counts tiles, of 256 elements at the least, in an int.
  require_at_most("CubSum", most_elements, 256 * max_grid_blocks);
  std::size_t bytes = 0;
  const float* const in = nullptr;
  float* const out = nullptr;
  check_status("cub::DeviceReduce::Sum",
               cub::DeviceReduce::Sum(nullptr, bytes, in, out, most_elements));
  return bytes;
}

}  // namespace

CubSum::CubSum(std::size_t most_elements)
    : most_elements_(most_elements), storage_("CubSum", storage_bytes(most_elements)) {}

void CubSum::operator()(const float* in, float* out, std::size_t n, cudaStream_t stream) {
  require_at_most("CubSum", n, most_elements_);
  if (n > 0) {
    require_pointer("CubSum", "in", in, alignof(float));
  }
  require_pointer("CubSum", "out", out, alignof(float));
  std::size_t bytes = storage_.bytes();
  check_status("cub::DeviceReduce::Sum",
               cub::DeviceReduce::Sum(storage_.data(), bytes, in, out, n, stream));
}

}  // namespace warpgauge::kernels
