// SPDX-License-Identifier: Apache-2.0
// C = A B: bound by arithmetic, 2 m n k operations, where the matrices are large; by device memory,
// the bytes of B, where A has few rows (skinny); by starting and ending where all are small.
#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>

#include <warpgauge/core/units.hpp>
#include <warpgauge/cuda/device_array.hpp>
#include <warpgauge/cuda/seeded_data.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include <warpgauge/program/run_context.hpp>
#include "benchmarks/gemm_arithmetic.hpp"
#include "kernels/gemm/cublaslt.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/gemm/ladder.hpp"
#include "kernels/gemm/tensor.hpp"

namespace {

using namespace warpgauge;
using kernels::CublasGemm;
using kernels::FloatProducts;
using kernels::GemmB;
using kernels::GemmShape;

template <class T>
using Launcher = void (*)(const T*, const T*, T*, GemmShape, cudaStream_t);

/// What bounds a product: arithmetic at the ceiling's rate, or the memory that it is read from.
struct Limits {
  std::optional<ComputeCeiling> arithmetic;
  std::optional<Traffic> memory = Traffic::device_copy;
};

/// Measures operation(a, b, c, stream) that makes `batch` products of one shape, each C of type
/// Out.
template <class In, class Out, class Operation>
void measure(GpuCase& gpu, GemmShape shape, std::size_t batch, Tolerance tolerance,
             const Limits& limits, const Operation& operation, GemmB layout = GemmB::row_major,
             CacheState cache_state = CacheState::cold) {
  const std::size_t a_count = product({shape.m, shape.k});
  const std::size_t b_count = product({shape.k, shape.n});
  const std::size_t c_count = product({shape.m, shape.n});
  const auto a = gpu.input<In>(product({batch, a_count}));
  const auto b = gpu.input<In>(product({batch, b_count}));
  const auto c = gpu.output<Out>(product({batch, c_count}));
  gpu.moves_bytes(batch * ((a_count + b_count) * sizeof(In) + c_count * sizeof(Out)),
                  limits.memory);
  gpu.computes_flops(static_cast<double>(batch) * flops(shape), limits.arithmetic);
  gpu.verify(c, tolerance, [=](const Iteration& at, Window window, double* expected) {
    const std::size_t end = window.first + window.count;
    for (std::size_t i = window.first; i < end;) {  // one product of the batch after the other
      const std::size_t of_batch = i / c_count;
      const std::size_t count = std::min(end, (of_batch + 1) * c_count) - i;
      kernels::gemm_reference(a[at] + of_batch * a_count, b[at] + of_batch * b_count,
                              expected + (i - window.first), shape, i % c_count, count, at.stream,
                              layout);
      i += count;
    }
  });
  gpu.replay([=](const Iteration& at) { operation(a[at], b[at], c[at], at.stream); }, cache_state);
}

template <class T>
auto seeded(std::size_t count, std::uint64_t seed, cudaStream_t stream) {
  const auto values = std::make_shared<DeviceArray<T>>(count);
  detail::fill_seeded(values->data(), count, seed, 0, stream);
  return values;
}

/// The vendor's libraries, as measure() takes operations.
template <class T>
auto cublas(GemmShape shape, const Arithmetic& arithmetic, std::size_t batch = 1) {
  const auto gemm =
      std::make_shared<CublasGemm>(CublasGemm::default_workspace_bytes,
                                   arithmetic.tf32 ? FloatProducts::tf32 : FloatProducts::fp32);
  return [=](const T* a, const T* b, T* c, cudaStream_t stream) {
    gemm->batched(a, b, c, shape, batch, stream);
  };
}

/// What cuBLAS reaches with floats at 4096, with 16 bits at 8192: a millisecond or more, for
/// the clock is not steady in shorter operations. Tensor cores multiply f16 and bf16 at
/// one rate, so bf16 stands for both.
template <class T>
ComputeCeiling cublas_ceiling(const Arithmetic& arithmetic) {
  if constexpr (std::is_same_v<T, __half>) {
    return cublas_ceiling<__nv_bfloat16>(of_elements<__nv_bfloat16>());
  } else {
    constexpr std::size_t n = std::is_same_v<T, float> ? 4096 : 8192;
    const GemmShape shape{n, n, n};
    // In TF32 that takes a third of a millisecond.
    const int times = arithmetic.tf32 ? 4 : 1;
    return {"cuBLAS " + arithmetic.name, times * flops(shape),
            [=](cudaStream_t stream) -> Operation {
              const auto gemm = cublas<T>(shape, arithmetic);
              return [=, a = seeded<T>(n * n, 1, stream), b = seeded<T>(n * n, 2, stream),
                      c = seeded<T>(n * n, 3, stream)](const Iteration& at) {
                for (int i = 0; i < times; ++i) {
                  gemm(a->data(), b->data(), c->data(), at.stream);
                }
              };
            }};
  }
}

GemmShape square(const GpuCase& gpu) {
  const std::size_t n = gpu.param("n");
  return {n, n, n};
}

// Bodies of benchmarks, to be registered by name below.

/// A rung of a ladder, a block of which takes `shared_bytes` of shared memory where that is more
/// than every GPU has.
template <class T>
auto rung(Launcher<T> launch, std::size_t shared_bytes = 0,
          const Arithmetic& arithmetic = of_elements<T>()) {
  return [=](GpuCase& gpu) {
    require_shared_memory(gpu.device(), shared_bytes);
    const GemmShape shape = square(gpu);
    measure<T, T>(
        gpu, shape, 1, tolerance<T>(shape.k, arithmetic), {cublas_ceiling<T>(arithmetic)},
        [=](const T* a, const T* b, T* c, cudaStream_t stream) { launch(a, b, c, shape, stream); });
  };
}

template <class T>
void multiply_by_cublas(GpuCase& gpu, GemmShape shape, std::size_t batch,
                        const Arithmetic& arithmetic, CacheState cache_state = CacheState::cold,
                        Traffic memory = Traffic::device_copy) {
  measure<T, T>(gpu, shape, batch, tolerance<T>(shape.k, arithmetic),
                {cublas_ceiling<T>(arithmetic), memory}, cublas<T>(shape, arithmetic, batch),
                GemmB::row_major, cache_state);
}

template <class T>
auto by_cublas(const Arithmetic& arithmetic = of_elements<T>(),
               CacheState cache_state = CacheState::cold) {
  return [=](GpuCase& gpu) { multiply_by_cublas<T>(gpu, square(gpu), 1, arithmetic, cache_state); };
}

/// Many small products in one call.
template <class T>
auto batched(const Arithmetic& arithmetic = of_elements<T>()) {
  return [=](GpuCase& gpu) {
    multiply_by_cublas<T>(gpu, square(gpu), gpu.param("batch"), arithmetic);
  };
}

/// A few rows times a large matrix.
template <class T>
void skinny(GpuCase& gpu) {
  const std::size_t n = gpu.param("n");
  multiply_by_cublas<T>(gpu, {gpu.param("m"), n, n}, 1, of_elements<T>(), CacheState::cold,
                        Traffic::device_read);
}

/// One row, without a library.
template <class T>
void one_row(GpuCase& gpu) {
  const std::size_t n = gpu.param("n");
  measure<T, T>(gpu, {1, n, n}, 1, tolerance<T>(n, of_elements<T>()),
                {cublas_ceiling<T>(of_elements<T>()), Traffic::device_read},
                [=](const T* a, const T* b, T* c, cudaStream_t stream) {
                  kernels::gemv(a, b, c, n, n, stream);
                });
}

using bf16 = __nv_bfloat16;
using f16 = __half;

// fp32 without tensor cores, from the first idea on. Bound by: see each rung's source. The slower
// the kernel, the smaller its largest size.
const Axes middle{{"n", {2048}, {256, 1024, 4096}}};
const GpuBenchmark ladder[] = {
    {"gemm/naive/f32", {{"n", {1024}, {256}}}, rung<float>(kernels::gemm_naive)},
    {"gemm/coalesced/f32", {{"n", {1024}, {256, 2048}}}, rung<float>(kernels::gemm_coalesced)},
    {"gemm/tiled/f32", {{"n", {1024}, {256, 2048}}}, rung<float>(kernels::gemm_tiled)},
    {"gemm/register_1d/f32", middle, rung<float>(kernels::gemm_register_1d)},
    {"gemm/register_2d/f32", middle, rung<float>(kernels::gemm_register_2d)},
    {"gemm/vectorized/f32", middle, rung<float>(kernels::gemm_vectorized)},
    {"gemm/double_buffered/f32",
     {{"n", {2048}, {256, 1024, 4096, 8192}}},
     rung<float>(kernels::gemm_double_buffered)},
    {"gemm/warp_tile/f32",
     {{"n", {4096}, {256, 512, 1024, 2048, 8192}}},
     rung<float>(kernels::gemm_warp_tile)},
};

// On tensor cores by warps.
const Axes large{{"n", {4096}, {256, 512, 1024, 2048, 8192}}};
const Axes every_size{{"n", {}, {256, 512, 1024, 2048, 4096, 8192}}};
const GpuBenchmark tensor_rungs[] = {
    {"gemm/wmma/bf16", {{"n", {2048}, {1024, 4096}}}, rung<bf16>(kernels::gemm_wmma)},
    {"gemm/wmma/f16", {{"n", {}, {1024, 2048, 4096}}}, rung<f16>(kernels::gemm_wmma)},
    {"gemm/wmma_staged/bf16", large,
     rung<bf16>(kernels::gemm_wmma_staged, kernels::gemm_wmma_staged_shared_bytes)},
    {"gemm/wmma_staged/f16", every_size,
     rung<f16>(kernels::gemm_wmma_staged, kernels::gemm_wmma_staged_shared_bytes)},
    {"gemm/mma_sync/bf16", large,
     rung<bf16>(kernels::gemm_mma_sync, kernels::gemm_mma_sync_shared_bytes)},
    {"gemm/mma_sync/f16", every_size,
     rung<f16>(kernels::gemm_mma_sync, kernels::gemm_mma_sync_shared_bytes)},
    {"gemm/mma_sync/tf32", large,
     rung<float>(kernels::gemm_mma_sync_tf32, kernels::gemm_mma_sync_shared_bytes, tf32)},
};

const ContextRegistration version{"cublas_version", kernels::cublas_version};

const Axes two_sizes{{"n", {1024, 4096}, {256, 512, 2048, 8192}}};
const GpuBenchmark libraries[] = {
    {"gemm/cublas/f32", two_sizes, by_cublas<float>()},
    {"gemm/cublas/tf32", large, by_cublas<float>(tf32)},
    {"gemm/cublas/f16", every_size, by_cublas<f16>()},
    {"gemm/cublas/bf16", two_sizes, by_cublas<bf16>()},
};

// 8-bit floats, B transposed, C as bf16. It has no ceiling but itself. Of the full suite alone, for
// loading its kernels takes a process 1.6 s.
const GpuBenchmark fp8{"gemm/cublaslt/e4m3", every_size, [](GpuCase& gpu) {
                         if (!kernels::multiplies_fp8()) {
                           throw Unsupported("needs compute capability 8.9");
                         }
                         const GemmShape shape = square(gpu);
                         const auto gemm = std::make_shared<kernels::CublasLtFp8Gemm>(shape);
                         measure<__nv_fp8_e4m3, bf16>(
                             gpu, shape, 1, tolerance<bf16>(shape.k, e4m3),
                             {std::nullopt, std::nullopt},
                             [=](const __nv_fp8_e4m3* a, const __nv_fp8_e4m3* b, bf16* c,
                                 cudaStream_t stream) { (*gemm)(a, b, c, stream); },
                             GemmB::transposed);
                       }};

// Many small products in one call, as attention has them: bound by memory and by starting up.
const Axes batches{{"batch", {64}, {512}}, {"n", {256}, {64, 128}}};
const Axes batches_in_full{{"batch", {}, {64, 512}}, {"n", {}, {64, 128, 256}}};
const GpuBenchmark in_batches[] = {
    {"gemm/cublas_batched/bf16", batches, batched<bf16>()},
    {"gemm/cublas_batched/f16", batches_in_full, batched<f16>()},
    {"gemm/cublas_batched/f32", batches_in_full, batched<float>()},
    {"gemm/cublas_batched/tf32", batches_in_full, batched<float>(tf32)},
};

// A few rows times a large matrix, as each step of decoding has it: bound by reading B once.
const Axes few_rows{{"m", {1}, {8, 16}}, {"n", {8192}, {4096}}};
const Axes few_rows_in_full{{"m", {}, {1, 8, 16}}, {"n", {}, {4096, 8192}}};
const GpuBenchmark with_few_rows[] = {
    {"gemm/cublas_skinny/bf16", few_rows, skinny<bf16>},
    {"gemm/cublas_skinny/f16", few_rows_in_full, skinny<f16>},
    {"gemm/cublas_skinny/f32", few_rows_in_full, skinny<float>},
};

// The same of one row, without a library.
const GpuBenchmark with_one_row[] = {
    {"gemm/gemv/bf16", {{"n", {8192}, {4096}}}, one_row<bf16>},
    {"gemm/gemv/f16", {{"n", {}, {4096, 8192}}}, one_row<f16>},
};

// Without rests: what the power limit leaves. Reaching its steady state takes half a second.
const GpuBenchmark sustained{"gemm/cublas_sustained/bf16",
                             {{"n", {}, {4096}}},
                             by_cublas<bf16>(of_elements<bf16>(), CacheState::sustained)};

}  // namespace
