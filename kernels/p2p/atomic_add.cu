// SPDX-License-Identifier: Apache-2.0
// A warp adds to 32 contiguous integers (128 bytes) that no other warp touches. Bound by the link's
// bandwidth or, if each addition waits for the previous one, by its latency.
#include <warpgauge/cuda/arguments.hpp>
#include "kernels/launch_elements.cuh"
#include "kernels/p2p/p2p.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned atomic_add_threads = 256;

/// `none` is 0, unknown to the compiler: it makes each addition depend on the previous one.
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
