// SPDX-License-Identifier: Apache-2.0
// C = A B, square, fp32 without tensor cores and bf16 with them: bound by arithmetic, 2 n^3
// operations.
#include <memory>

#include "fixtures/gpu_benchmark.hpp"
#include "kernels/gemm.hpp"

namespace {

using namespace warpgauge;

template <class T>
constexpr const char* type_name = nullptr;
template <>
constexpr const char* type_name<float> = "f32";
template <>
constexpr const char* type_name<__nv_bfloat16> = "bf16";

/// What cuBLAS reaches with the type, at a size that takes more than a millisecond.
template <class T>
ComputeCeiling ceiling() {
  constexpr std::size_t n = sizeof(T) == sizeof(float) ? 4096 : 8192;
  constexpr auto length = static_cast<double>(n);
  return {std::string("cuBLAS ") + type_name<T>, 2 * length * length * length,
          [](GpuSession& gpu) -> Work {
            const auto matrix = [&](std::uint64_t seed) {
              const std::shared_ptr<void> memory = allocate_device(n * n * sizeof(T));
              fill_seeded(static_cast<T*>(memory.get()), n * n, seed, 0, gpu.stream());
              return memory;
            };
            const auto gemm = std::make_shared<kernels::CublasGemm>();
            return [gemm, a = matrix(1), b = matrix(2), c = matrix(3)](const Turn& at) {
              (*gemm)(static_cast<const T*>(a.get()), static_cast<const T*>(b.get()),
                      static_cast<T*>(c.get()), {n, n, n}, at.stream);
            };
          }};
}

/// gemm(a, b, c, shape, stream) with sums in fp32 and results rounded to T.
template <class T, class Gemm>
void multiply(GpuCase& gpu, const Gemm& gemm, Condition condition = Condition::cold) {
  const std::size_t n = gpu.param("n");
  const kernels::GemmShape shape{n, n, n};
  const auto a = gpu.input<T>(n * n);
  const auto b = gpu.input<T>(n * n);
  const auto c = gpu.output<T>(n * n);
  gpu.moves_bytes(3 * n * n * sizeof(T));
  gpu.computes_flops(2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n),
                     ceiling<T>());
  // A dot product of n terms of at most 2.25 errs by at most n u sum|a b| (u = 2^-24; Higham 2002,
  // "Accuracy and Stability of Numerical Algorithms", 3.1), typically by u sqrt(n) |c| or about
  // u n: eight times 2.25 u n is far above that and far below one wrong term, 0.25 or more. Stored
  // as T it is rounded once more; as bf16 by up to 0.3 at n = 4096, where |c| is about 70, so that
  // there several terms must be wrong to show.
  const Tolerance tolerance{.absolute = unit_roundoff<float> * 2.25 * 8 * static_cast<double>(n),
                            .relative = unit_roundoff<T>};
  gpu.verify(c, tolerance, [=](const Turn& at, Window window, double* expected) {
    kernels::gemm_reference(a[at], b[at], expected, shape, window.first, window.count, at.stream);
  });
  gpu.replay([=](const Turn& at) { gemm(a[at], b[at], c[at], shape, at.stream); }, condition);
}

template <class T>
void multiply_by_cublas(GpuCase& gpu, Condition condition) {
  const auto gemm = std::make_shared<kernels::CublasGemm>();
  multiply<T>(gpu, [gemm](auto... arguments) { (*gemm)(arguments...); }, condition);
}

template <class T>
GpuBenchmark cublas(const std::vector<std::size_t>& sizes,
                    std::source_location where = std::source_location::current()) {
  return {std::string("gemm/cublas/") + type_name<T>,
          {{"n", sizes}},
          [](GpuCase& gpu) { multiply_by_cublas<T>(gpu, Condition::cold); },
          where};
}

// The slower the kernel, the smaller its largest size: naive takes 35 ms at 2048.
const GpuBenchmark naive{"gemm/naive/f32", {{"n", {256, 1024}}}, [](GpuCase& gpu) {
                           multiply<float>(gpu, kernels::gemm_naive);
                         }};
const GpuBenchmark tiled{"gemm/tiled/f32", {{"n", {256, 1024, 2048}}}, [](GpuCase& gpu) {
                           multiply<float>(gpu, kernels::gemm_tiled);
                         }};
const ContextRegistration version{"cublas_version", kernels::cublas_version};

const GpuBenchmark cublas_f32 = cublas<float>({256, 1024, 2048, 4096});
const GpuBenchmark cublas_bf16 = cublas<__nv_bfloat16>({512, 1024, 2048, 4096});

// Without rests: what the power limit leaves.
const GpuBenchmark cublas_sustained{
    "gemm/cublas_sustained/bf16", {{"n", {4096}}}, [](GpuCase& gpu) {
      multiply_by_cublas<__nv_bfloat16>(gpu, Condition::sustained);
    }};

}  // namespace
