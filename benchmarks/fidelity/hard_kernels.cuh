// SPDX-License-Identifier: Apache-2.0
// Kernels of which the usual timers see a part: they overlap their own next launch, or read lines
// that an eviction by ordinary accesses leaves in the L2. Each writes y = 2 x of its elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include <warpgauge/cuda/check.hpp>

namespace warpgauge {

inline constexpr unsigned hard_threads = 128;
inline constexpr std::size_t chase_steps = 128;  // each waits for the one before
inline constexpr std::size_t hard_count = hard_threads * chase_steps;

/// One block of 20 us. The first 15 of them may run beside the kernel before if that is launched
/// so, too; without `waits`, all of them.
template <bool waits>
__global__ void early_kernel(const float* x, float* y) {
  const auto spin = [](std::uint64_t nanoseconds) {
    const auto now = [] {
      std::uint64_t time = 0;
      asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
      return time;
    };
    for (const std::uint64_t start = now(); now() - start < nanoseconds;) {
    }
  };
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
  spin(15'000);
#if __CUDA_ARCH__ >= 900
  if constexpr (waits) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
  }
#endif
  spin(5'000);
  for (std::size_t i = threadIdx.x; i < hard_count; i += hard_threads) {
    y[i] = 2 * x[i];
  }
}

/// Dependent loads, by a policy that keeps their lines in the L2 if `stays`.
template <bool stays>
__global__ void chase_kernel(const float* x, float* y) {
  std::uint64_t policy = 0;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  std::size_t i = threadIdx.x;
  for (std::size_t step = 0; step < chase_steps; ++step) {
    float value = 0;
    if constexpr (stays) {
      asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;"
                   : "=f"(value)
                   : "l"(x + i), "l"(policy));
    } else {
      asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"(x + i));
    }
    y[i] = 2 * value;
    i += hard_threads + (value > 1e30F ? 1 : 0);  // never, but the next load cannot know
  }
}

/// Launches such a kernel on `hard_count` elements; `early` so that it may start while the kernel
/// before it still runs.
inline void launch_hard(void (*kernel)(const float*, float*), bool early, const float* x, float* y,
                        cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(hard_threads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = early ? 1 : 0;
  WARPGAUGE_CHECK(cudaLaunchKernelEx(&config, kernel, x, y));
}

}  // namespace warpgauge
