// SPDX-License-Identifier: Apache-2.0
// Links of a chain: bound by the gap between one kernel and the next.
#include "kernels/launch/chain.hpp"

#include "kernels/launch_elements.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned chain_threads = 256;

__device__ inline std::size_t chain_index() {
  return std::size_t{blockIdx.x} * chain_threads + threadIdx.x;
}

// No __restrict__: out may be in.
__global__ __launch_bounds__(chain_threads) void add_one_kernel(const float* in, float* out,
                                                                std::size_t n) {
  if (const std::size_t i = chain_index(); i < n) {
    out[i] = in[i] + 1.0F;
  }
}

__global__ __launch_bounds__(chain_threads) void add_one_early_kernel(const float* in, float* out,
                                                                      std::size_t n) {
#if __CUDA_ARCH__ >= 900
  // The next kernel may start at once, because it waits as this one does, until every block of the
  // kernel before it has ended and its writes are visible.
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (const std::size_t i = chain_index(); i < n) {
    out[i] = in[i] + 1.0F;
  }
#endif
}

__global__ __launch_bounds__(chain_threads) void add_one_fused_kernel(const float* in, float* out,
                                                                      std::size_t n,
                                                                      unsigned steps) {
  if (const std::size_t i = chain_index(); i < n) {
    float x = in[i];
    for (unsigned step = 0; step < steps; ++step) {
      x += 1.0F;
    }
    out[i] = x;
  }
}

__global__ __launch_bounds__(chain_threads) void add_one_reference_kernel(const float* in,
                                                                          double* expected,
                                                                          std::size_t n,
                                                                          unsigned steps) {
  if (const std::size_t i = chain_index(); i < n) {
    expected[i] = static_cast<double>(in[i]) + steps;
  }
}

void add_one(const float* in, float* out, std::size_t n, cudaStream_t stream) {
  launch_elements({"add_one", n, chain_threads}, {{"in", in}, {"out", out}}, stream, add_one_kernel,
                  in, out, n);
}

void add_one_early(const float* in, float* out, std::size_t n, cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require_arrays("add_one_early", {{"in", in}, {"out", out}});
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks_for("add_one_early", n, chain_threads));
  config.blockDim = dim3(chain_threads);
  config.stream = stream;
  require_compute_capability_of<add_one_early_kernel>("add_one_early", 9);
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &early;
  config.numAttrs = 1;
  WARPGAUGE_CHECK(cudaLaunchKernelEx(&config, add_one_early_kernel, in, out, n));
}

void add_one_fused(const float* in, float* out, std::size_t n, unsigned steps,
                   cudaStream_t stream) {
  launch_elements({"add_one_fused", n, chain_threads}, {{"in", in}, {"out", out}}, stream,
                  add_one_fused_kernel, in, out, n, steps);
}

void add_one_reference(const float* in, double* expected, std::size_t n, unsigned steps,
                       cudaStream_t stream) {
  launch_elements({"add_one_reference", n, chain_threads}, {{"in", in}, {"expected", expected}},
                  stream, add_one_reference_kernel, in, expected, n, steps);
}

}  // namespace warpgauge::kernels
