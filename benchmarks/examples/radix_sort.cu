// SPDX-License-Identifier: Apache-2.0
// Keys sorted by CUB: bound by device memory. Its temporary storage is as cold as the keys.
#include <algorithm>
#include <cub/device/device_radix_sort.cuh>

#include <warpgauge/gpu_benchmark.hpp>
using namespace warpgauge;

std::vector<std::uint32_t> sorted_keys(std::span<const std::uint32_t> keys) {
  std::vector<std::uint32_t> expected(keys.begin(), keys.end());
  std::sort(expected.begin(), expected.end());
  return expected;
}

const GpuBenchmark sort{
    "examples/radix_sort/u32", {{"n", {1048576}}}, [](GpuCase& gpu) {
      const int n = gpu.param<int>("n");
      const auto from = gpu.input<std::uint32_t>(n), to = gpu.output<std::uint32_t>(n);
      const auto run = [=](void* storage, std::size_t bytes, const Iteration& at) {
        WARPGAUGE_CHECK(
            cub::DeviceRadixSort::SortKeys(storage, bytes, from[at], to[at], n, 0, 32, at.stream));
      };
      std::size_t bytes = 0;
      std::uint32_t* const none = nullptr;
      WARPGAUGE_CHECK(cub::DeviceRadixSort::SortKeys(nullptr, bytes, none, none, n));
      const auto storage = gpu.scratch<std::uint8_t>(bytes);
      gpu.verify(to, sorted_keys, from);
      gpu.replay([=](const Iteration& at) { run(storage[at], bytes, at); });
    }};
