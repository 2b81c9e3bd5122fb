// SPDX-License-Identifier: Apache-2.0
// The caches: bytes per second by footprint, and the latency of a load that depends on the one
// before. Bound by the L2, or by device memory beyond its size; a chase by the latency of either.
#include <memory>
#include <string>

#include <warpgauge/core/units.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "kernels/memory/cache.hpp"

namespace {

using namespace warpgauge;

constexpr std::size_t blocks_per_sm = 4;  // see kernels/memory/cache_read.cu

/// The whole device reads integers, bypassing the L1, `read_bytes` in total or a little more.
/// `traffic` is their ceiling, if none of them is in a cache; what is read beyond `read_bytes` then
/// comes from one, and does not count.
void read(GpuCase& gpu, std::size_t read_bytes, CacheState cache_state,
          std::optional<Traffic> traffic) {
  const std::size_t n = gpu.param("bytes") / sizeof(std::int32_t);
  kernels::ReadShape shape{blocks_per_sm * static_cast<std::size_t>(gpu.device().multiprocessors),
                           1};
  shape.loads = (read_bytes + bytes_read(shape) - 1) / bytes_read(shape);
  const auto in = gpu.input<std::int32_t>(n);
  const auto out = gpu.output<std::int32_t>(shape.blocks);
  gpu.moves_bytes(traffic ? read_bytes : bytes_read(shape), traffic);
  gpu.verify(out, {}, [=](const Iteration& at, Window window, double* expected) {
    kernels::read_round_reference(in[at], expected, n, shape, window.first, window.count,
                                  at.stream);
  });
  gpu.replay(
      [=](const Iteration& at) { kernels::read_round(in[at], out[at], n, shape, at.stream); },
      cache_state);
}

/// Many rounds, so that the first one counts little.
void read_again(GpuCase& gpu, CacheState cache_state) {
  read(gpu, 512 * mebi, cache_state, std::nullopt);
}

/// One round, as most kernels read.
void read_once(GpuCase& gpu, CacheState cache_state) {
  read(gpu, gpu.param("bytes"), cache_state, Traffic::device_read);
}

// By footprint; read from the L2 as far as it fits.
const GpuBenchmark read_hot{
    "cache/read_hot/i32",
    {{"bytes", {4 * mebi, 24 * mebi, 48 * mebi}, {16 * mebi, 32 * mebi, 40 * mebi, 56 * mebi}}},
    [](GpuCase& gpu) { read_again(gpu, CacheState::hot); }};
// More than the L2 of an H200: most of each round comes from device memory.
const GpuBenchmark read_cold{"cache/read/i32",
                             {{"bytes", {128 * mebi}, {64 * mebi, 96 * mebi, 256 * mebi}}},
                             [](GpuCase& gpu) { read_again(gpu, CacheState::cold); }};

const Axes once{{"bytes", {16 * mebi}, {4 * mebi, 32 * mebi}}};
const GpuBenchmark once_hot{"cache/read_once_hot/i32", once,
                            [](GpuCase& gpu) { read_once(gpu, CacheState::hot); }};
const GpuBenchmark once_cold{"cache/read_once/i32", once,
                             [](GpuCase& gpu) { read_once(gpu, CacheState::cold); }};

/// One thread follows pointers through a ring of `bytes`: the row's time over its number of loads
/// is the latency.
void chase(GpuCase& gpu, CacheState cache_state) {
  const std::size_t bytes = gpu.param("bytes");
  const std::size_t loads = gpu.param("loads");
  if (cache_state == CacheState::hot && bytes > gpu.device().l2_bytes / 2) {
    throw Unsupported("its " + human_bytes(bytes) + " do not stay in the L2 of " +
                      human_bytes(gpu.device().l2_bytes));
  }
  const auto ring = std::make_shared<const kernels::ChaseRing>(bytes);
  const auto out = gpu.output<std::int32_t>(1);
  gpu.verify(out, {}, [=](const Iteration& at, Window, double* expected) {
    ring->reference((at.slot + 1) * loads, expected, at.stream);
  });
  // Each chase continues where the one before ended, so that it does not meet what that one read.
  gpu.replay([=](const Iteration& at) { (*ring)(at.slot* loads, loads, out[at], at.stream); },
             cache_state);
}

void chase_hot(GpuCase& gpu) {
  chase(gpu, CacheState::hot);
}

// A pointer every 128 bytes, and enough loads to visit all of them: rings that fit into the L1,
// into the L2 ...
const GpuBenchmark chase_l1{"cache/chase_hot",
                            {{"bytes", {16 << 10}, {4 << 10, 128 << 10}}, {"loads", {100'000}}},
                            chase_hot};
const GpuBenchmark chase_l2{
    "cache/chase_hot", {{"bytes", {2 << 20}, {1 << 20}}, {"loads", {16'384}}}, chase_hot};
const GpuBenchmark chase_more_of_l2{
    "cache/chase_hot", {{"bytes", {}, {8 << 20}}, {"loads", {65'536}}}, chase_hot};
const GpuBenchmark chase_most_of_l2{
    "cache/chase_hot", {{"bytes", {}, {16 << 20}}, {"loads", {131'072}}}, chase_hot};
// ... and into no cache; 1 GiB also exceeds the reach of the TLBs.
const GpuBenchmark chase_memory{"cache/chase",
                                {{"bytes", {1 << 30}, {256 << 20}}, {"loads", {1000}}},
                                [](GpuCase& gpu) { chase(gpu, CacheState::cold); }};

}  // namespace
