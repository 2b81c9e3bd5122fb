// SPDX-License-Identifier: Apache-2.0
// C = A B, square, fp32 without tensor cores: bound by arithmetic, 2 n^3 operations.
#include <memory>

#include "fixtures/gpu_benchmark.hpp"
#include "kernels/gemm.hpp"

namespace {

using namespace warpgauge;

using Gemm =
    std::function<void(const float*, const float*, float*, kernels::GemmShape, cudaStream_t)>;

void multiply(GpuCase& gpu, const Gemm& gemm) {
  const std::size_t n = gpu.param("n");
  const kernels::GemmShape shape{n, n, n};
  const auto a = gpu.input<float>(n * n);
  const auto b = gpu.input<float>(n * n);
  const auto c = gpu.output<float>(n * n);
  gpu.moves_bytes(3 * n * n * sizeof(float));
  gpu.computes_flops(2.0 * static_cast<double>(n) * static_cast<double>(n) *
                     static_cast<double>(n));
  // A dot product of n terms below 2.25 errs by at most n u sum|a b| (u = 2^-24; Higham 2002,
  // "Accuracy and Stability of Numerical Algorithms", 3.1), typically by u sqrt(n) |c| or about
  // u n: eight times 2.25 u n is far above that and far below one wrong term, 0.25 or more.
  const Tolerance tolerance{.absolute = 0x1p-24 * 2.25 * 8 * static_cast<double>(n)};
  gpu.verify(c, tolerance, [=](const Turn& at, Window window, double* expected) {
    kernels::gemm_reference(a[at], b[at], expected, shape, window.first, window.count, at.stream);
  });
  gpu.replay([=](const Turn& at) { gemm(a[at], b[at], c[at], shape, at.stream); });
}

// The slower the kernel, the smaller its largest size: naive takes 35 ms at 2048.
const GpuBenchmark naive{"gemm/naive/f32", {{"n", {256, 1024}}}, [](GpuCase& gpu) {
                           multiply(gpu, kernels::gemm_naive);
                         }};
const GpuBenchmark tiled{"gemm/tiled/f32", {{"n", {256, 1024, 2048}}}, [](GpuCase& gpu) {
                           multiply(gpu, kernels::gemm_tiled);
                         }};
const ContextRegistration version{"cublas_version", kernels::cublas_version};

const GpuBenchmark cublas{
    "gemm/cublas/f32", {{"n", {256, 1024, 2048, 4096}}}, [](GpuCase& gpu) {
      const auto gemm = std::make_shared<kernels::CublasGemm>();
      multiply(gpu, [gemm](const float* a, const float* b, float* c, kernels::GemmShape shape,
                           cudaStream_t stream) { (*gemm)(a, b, c, shape, stream); });
    }};

}  // namespace
