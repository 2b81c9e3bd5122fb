// SPDX-License-Identifier: Apache-2.0
// CUB's radix sort. It has its own file because CUB multiplies the compile time.
#include <cub/device/device_radix_sort.cuh>

#include <stdexcept>
#include <string>

#include <warpgauge/cuda/check.hpp>
#include "kernels/arguments.hpp"
#include "kernels/sort/sort.hpp"

namespace warpgauge::kernels {
namespace {

constexpr std::size_t most_ints = 2'147'483'647;

cudaError_t sort(void* scratch, std::size_t& bytes, SortedKeys keys, std::size_t n,
                 cudaStream_t stream) {
  return cub::DeviceRadixSort::SortKeys(scratch, bytes, keys.in, keys.out, static_cast<int>(n), 0,
                                        32, stream);
}

cudaError_t sort_pairs(void* scratch, std::size_t& bytes, SortedKeys keys, SortedKeys values,
                       std::size_t n, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys.in, keys.out, values.in, values.out,
                                         static_cast<int>(n), 0, 32, stream);
}

void require_two(const char* launcher, SortedKeys arrays) {
  if (arrays.in == arrays.out) {
    throw std::invalid_argument(std::string(launcher) + ": CUB does not sort in place");
  }
}

}  // namespace

std::size_t cub_sort_scratch_bytes(std::size_t n) {
  require_at_most("cub_sort", n, most_ints);
  std::size_t bytes = 0;
  WARPGAUGE_CHECK(sort(nullptr, bytes, {}, n, nullptr));
  return bytes;
}

std::size_t cub_sort_pairs_scratch_bytes(std::size_t n) {
  require_at_most("cub_sort_pairs", n, most_ints);
  std::size_t bytes = 0;
  WARPGAUGE_CHECK(sort_pairs(nullptr, bytes, {}, {}, n, nullptr));
  return bytes;
}

void cub_sort(SortedKeys keys, void* scratch, std::size_t n, cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  std::size_t bytes = cub_sort_scratch_bytes(n);
  require_arrays("cub_sort", {{"keys.in", keys.in},
                              {"keys.out", keys.out},
                              {"scratch", static_cast<std::byte*>(scratch), sizeof(uint4)}});
  require_two("cub_sort", keys);
  WARPGAUGE_CHECK(sort(scratch, bytes, keys, n, stream));
}

void cub_sort_pairs(SortedKeys keys, SortedKeys values, void* scratch, std::size_t n,
                    cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  std::size_t bytes = cub_sort_pairs_scratch_bytes(n);
  require_arrays("cub_sort_pairs", {{"keys.in", keys.in},
                                    {"keys.out", keys.out},
                                    {"values.in", values.in},
                                    {"values.out", values.out},
                                    {"scratch", static_cast<std::byte*>(scratch), sizeof(uint4)}});
  require_two("cub_sort_pairs", keys);
  require_two("cub_sort_pairs", values);
  WARPGAUGE_CHECK(sort_pairs(scratch, bytes, keys, values, n, stream));
}

}  // namespace warpgauge::kernels
