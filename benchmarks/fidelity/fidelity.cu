// SPDX-License-Identifier: Apache-2.0
// What replay times are proved on, against CUPTI: work of known length, of one kernel and of
// several, from latency-bound to far past the caches. scripts/warpgauge fidelity runs it.
#include <memory>

#include <warpgauge/core/units.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "benchmarks/fidelity/hard_kernels.cuh"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/launch/probes.hpp"
#include "kernels/reduce/reduce.hpp"

namespace {

using namespace warpgauge;

__global__ void count_kernel(double* expected, Window window) {
  for (std::size_t i = threadIdx.x; i < window.count; i += blockDim.x) {
    expected[i] = static_cast<double>(window.first + i);
  }
}

// Bound by nothing: about 1 us, 10 us, 100 us and 1 ms at the 1.98 GHz of an H200, whose number of
// SMs it takes.
const GpuBenchmark spin{
    "fidelity/spin", {{"cycles", {1980, 19800, 198000, 1980000}}}, [](GpuCase& gpu) {
      constexpr unsigned blocks = 132;
      const std::size_t cycles = gpu.param("cycles");
      const auto done = gpu.output<float>(std::size_t{blocks} * kernels::spin_threads);
      gpu.verify(done, {}, [](const Iteration& at, Window window, double* expected) {
        count_kernel<<<1, 256, 0, at.stream>>>(expected, window);
      });
      gpu.replay([=](const Iteration& at) { kernels::spin(cycles, blocks, done[at], at.stream); });
    }};

// One kernel, bound by device memory, 8 bytes an element.
const GpuBenchmark square{
    "fidelity/square/f32",
    {{"n", {4 << 10, 256 << 10, 2 << 20, 16 << 20, 128 << 20}}},
    [](GpuCase& gpu) {
      const std::size_t n = gpu.param("n");
      const auto in = gpu.input<float>(n);
      const auto out = gpu.output<float>(n);
      gpu.moves_bytes(2 * n * sizeof(float));
      const Tolerance rounding{.relative = 2 * unit_roundoff<float>};
      gpu.verify(out, rounding, [=](const Iteration& at, Window window, double* expected) {
        kernels::transform_reference<kernels::Square>(in[at] + window.first, expected, window.count,
                                                      at.stream);
      });
      gpu.replay([=](const Iteration& at) {
        kernels::transform_vector<kernels::Square>(in[at], out[at], n, at.stream);
      });
    }};

// As many kernels as CUB takes, bound by device memory, 4 bytes an element.
const GpuBenchmark sum_cub{
    "fidelity/sum_cub/f32", {{"n", {64 << 10, 16 << 20, 256 << 20}}}, [](GpuCase& gpu) {
      const std::size_t n = gpu.param("n");
      const auto in = gpu.input<float>(n);
      const auto out = gpu.output<float>(1);
      gpu.moves_bytes(n * sizeof(float));
      // A term left out or taken twice is 0.5 or more. Rounding is far below: terms have either
      // sign, so that the partial sums of a thread, of about 10^3 terms, are about 30, and the
      // errors of n additions add up like a random walk, to about u sqrt(n) 30 = 0.03 at most.
      const Tolerance half_a_term{.absolute = 0.25};
      gpu.verify(out, half_a_term, [=](const Iteration& at, Window /*whole*/, double* expected) {
        kernels::sum_reference(in[at], expected, n, at.stream);
      });
      const auto sum = std::make_shared<kernels::CubSum>(n);
      gpu.replay([=](const Iteration& at) { (*sum)(in[at], out[at], n, at.stream); });
    }};

// What a library chooses, on tensor cores: bound by arithmetic, 2 n^3 operations.
const GpuBenchmark cublas{
    "fidelity/cublas/bf16", {{"n", {512, 1024, 4096}}}, [](GpuCase& gpu) {
      const std::size_t n = gpu.param("n");
      const auto length = static_cast<double>(n);
      const kernels::GemmShape shape{n, n, n};
      const auto a = gpu.input<__nv_bfloat16>(product({n, n}));
      const auto b = gpu.input<__nv_bfloat16>(product({n, n}));
      const auto c = gpu.output<__nv_bfloat16>(product({n, n}));
      gpu.computes_flops(2 * length * length * length);
      // Summed in fp32 as in benchmarks/gemm.cu, where the bound is derived, then rounded once.
      const Tolerance tolerance{.absolute = unit_roundoff<float> * 2.25 * 8 * length,
                                .relative = unit_roundoff<__nv_bfloat16>};
      gpu.verify(c, tolerance, [=](const Iteration& at, Window window, double* expected) {
        kernels::gemm_reference(a[at], b[at], expected, shape, window.first, window.count,
                                at.stream);
      });
      const auto gemm = std::make_shared<kernels::CublasGemm>();
      gpu.replay([=](const Iteration& at) { (*gemm)(a[at], b[at], c[at], shape, at.stream); });
    }};

// Bound by their own waiting, or by the latency of a memory that is to be cold.
GpuBenchmark hard(const char* name, void (*kernel)(const float*, float*), bool early) {
  return {name, {}, [=](GpuCase& gpu) {
            if (early && gpu.device().compute_major < 9) {
              throw Unsupported("kernels start early from compute capability 9.0 on");
            }
            const auto x = gpu.input<float>(hard_count);
            const auto y = gpu.output<float>(hard_count);
            gpu.verify(y, {}, [=](auto at, auto i) { return 2 * x(at, i); });
            gpu.replay(
                [=](const Iteration& at) { launch_hard(kernel, early, x[at], y[at], at.stream); });
          }};
}

const GpuBenchmark hard_ones[] = {
    hard("fidelity/early", early_kernel<true>, true),
    hard("fidelity/early_no_wait", early_kernel<false>, true),
    hard("fidelity/chase", chase_kernel<false>, false),
    hard("fidelity/chase_evict_last", chase_kernel<true>, false),
};

}  // namespace
