// SPDX-License-Identifier: Apache-2.0
// A warp adds to 32 integers in a row, 128 bytes, and nobody else to the same: bound by what the
// link carries, or, where each addition waits for the one before, by its latency.
#include <warpgauge/cuda/arguments.hpp>
#include "kernels/launch_elements.cuh"
#include "kernels/p2p/p2p.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned atomic_add_threads = 256;

/// `none` is 0, which the compiler does not know: with it an addition depends on the one before.
template <bool returning>
__global__ __launch_bounds__(atomic_add_threads) void atomic_add_kernel(
    const std::int32_t* __restrict__ values, std::uint32_t* counters, std::int32_t* out,
    std::size_t threads, std::uint32_t adds, std::uint32_t none) {
  const std::size_t i = std::size_t{blockIdx.x} * atomic_add_threads + threadIdx.x;
  if (i >= threads) {
    return;
  }
  volatile std::uint32_t* const counter = counters + i;
  const auto value = static_cast<std::uint32_t>(values[i]);
  const std::uint32_t before = *counter;
  [[maybe_unused]] std::uint32_t last = before;
  for (std::uint32_t add = 0; add < adds; ++add) {
    if constexpr (returning) {
      last = atomicAdd_system(counters + i, value + (last & none));
    } else {
      atomicAdd_system(counters + i, value);
    }
  }
  out[i] = static_cast<std::int32_t>(*counter - before);
}

void atomic_add(const std::int32_t* values, std::uint32_t* counters, std::int32_t* out,
                AddShape shape, bool returning, cudaStream_t stream) {
  require_at_most("atomic_add", shape.adds, 0x7fffffff);
  launch_elements({"atomic_add", shape.threads, atomic_add_threads},
                  {{"values", values}, {"counters", counters}, {"out", out}}, stream,
                  returning ? atomic_add_kernel<true> : atomic_add_kernel<false>, values, counters,
                  out, shape.threads, static_cast<std::uint32_t>(shape.adds), 0U);
}

}  // namespace warpgauge::kernels
