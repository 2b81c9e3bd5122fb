// SPDX-License-Identifier: Apache-2.0
// C = A B. Large matrices are bound by arithmetic, 2 m n k operations; an A with few rows (skinny)
// by device memory, the bytes of B; small matrices by startup and teardown.
#include <memory>
#include <optional>
#include <type_traits>

#include <warpgauge/gpu_benchmark.hpp>
#include <warpgauge/program/run_context.hpp>
#include "benchmarks/gemm_arithmetic.hpp"
#include "benchmarks/gemm_measure.hpp"
#include "kernels/gemm/blackwell/blackwell.hpp"
#include "kernels/gemm/cublaslt.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/ladder.hpp"
#include "kernels/gemm/tensor.hpp"

namespace {

using namespace warpgauge;
using kernels::GemmB;
using kernels::GemmShape;

template <class T>
using Launcher = void (*)(const T*, const T*, T*, GemmShape, cudaStream_t);

template <class T, class Launch>
void multiply_by(GpuCase& gpu, GemmShape shape, const Launch& launch,
                 const Arithmetic& arithmetic = of_elements<T>(),
                 CacheState cache_state = CacheState::cold) {
  measure<T, T>(
      gpu, shape, 1, tolerance<T>(shape.k, arithmetic),
      limits_of(shape, cublas_ceiling<T>(arithmetic)),
      [=](const T* a, const T* b, T* c, cudaStream_t stream) { launch(a, b, c, shape, stream); },
      GemmB::row_major, cache_state);
}

/// A rung of a ladder. `shared_bytes`: shared memory per block if not every GPU has that much.
template <class T>
auto rung(Launcher<T> launch, std::size_t shared_bytes = 0,
          const Arithmetic& arithmetic = of_elements<T>()) {
  return [=](GpuCase& gpu) {
    require_shared_memory(gpu.device(), shared_bytes);
    multiply_by<T>(gpu, square(gpu), launch, arithmetic);
  };
}

void require_wgmma() {
  if (!kernels::has_wgmma()) {
    throw Unsupported("needs compute capability 9.0, which alone has wgmma");
  }
}

/// A rung of the Hopper ladder.
template <class T>
auto wgmma_rung(Launcher<T> launch, ShapeOf shape_of = square,
                CacheState cache_state = CacheState::cold) {
  return [=](GpuCase& gpu) {
    require_wgmma();
    multiply_by<T>(gpu, shape_of(gpu), launch, of_elements<T>(), cache_state);
  };
}

/// Stream-K on Hopper; an object holds its partial sums.
template <class T>
auto wgmma_stream_k(ShapeOf shape_of = square) {
  return [=](GpuCase& gpu) {
    require_wgmma();
    const auto gemm = std::make_shared<kernels::GemmWgmmaStreamK<T>>(shape_of(gpu));
    const auto launch = [=](auto a, auto b, auto c, GemmShape, auto stream) {
      (*gemm)(a, b, c, stream);
    };
    multiply_by<T>(gpu, shape_of(gpu), launch);
  };
}

/// The last Hopper rung, with B as [n,k].
template <class In, class Out>
auto wgmma_k_major(const Arithmetic& arithmetic, const std::optional<ComputeCeiling>& ceiling) {
  return [=](GpuCase& gpu) {
    require_wgmma();
    const GemmShape shape = square(gpu);
    measure<In, Out>(
        gpu, shape, 1, tolerance<Out>(shape.k, arithmetic), limits_of(shape, ceiling),
        [=](const In* a, const In* b, Out* c, cudaStream_t stream) {
          kernels::gemm_wgmma_k_major(a, b, c, shape, stream);
        },
        GemmB::transposed);
  };
}

/// cuBLAS: `batch` products in one call.
template <class T>
void multiply_by_cublas(GpuCase& gpu, GemmShape shape, std::size_t batch,
                        const Arithmetic& arithmetic, CacheState cache_state = CacheState::cold) {
  measure<T, T>(gpu, shape, batch, tolerance<T>(shape.k, arithmetic),
                limits_of(shape, cublas_ceiling<T>(arithmetic)),
                cublas<T>(shape, arithmetic, batch), GemmB::row_major, cache_state);
}

template <class T>
auto by_cublas(ShapeOf shape_of = square, const Arithmetic& arithmetic = of_elements<T>(),
               CacheState cache_state = CacheState::cold) {
  return
      [=](GpuCase& gpu) { multiply_by_cublas<T>(gpu, shape_of(gpu), 1, arithmetic, cache_state); };
}

/// Many small products in one call.
template <class T>
auto batched(const Arithmetic& arithmetic = of_elements<T>()) {
  return [=](GpuCase& gpu) {
    multiply_by_cublas<T>(gpu, square(gpu), gpu.param("batch"), arithmetic);
  };
}

/// A has one row; this repository's gemv kernel.
template <class T>
void one_row(GpuCase& gpu) {
  const std::size_t n = gpu.param("n");
  multiply_by<T>(gpu, {1, n, n}, [=](const T* a, const T* b, T* c, GemmShape, cudaStream_t stream) {
    kernels::gemv(a, b, c, n, n, stream);
  });
}

using bf16 = __nv_bfloat16;
using f16 = __half;

// fp32 without tensor cores, the simplest kernel first. Slower kernels have smaller largest sizes.
const Axes middle{{"n", {2048}, {256, 1024, 4096}}};
const GpuBenchmark ladder[] = {
    {"gemm/naive/f32", {{"n", {1024}, {256}}}, rung<float>(kernels::gemm_naive)},
    {"gemm/coalesced/f32", {{"n", {}, {256, 1024, 2048}}}, rung<float>(kernels::gemm_coalesced)},
    {"gemm/tiled/f32", {{"n", {1024}, {256, 2048}}}, rung<float>(kernels::gemm_tiled)},
    {"gemm/register_1d/f32",
     {{"n", {}, {256, 1024, 2048, 4096}}},
     rung<float>(kernels::gemm_register_1d)},
    {"gemm/register_2d/f32", middle, rung<float>(kernels::gemm_register_2d)},
    {"gemm/vectorized/f32", middle, rung<float>(kernels::gemm_vectorized)},
    {"gemm/double_buffered/f32",
     {{"n", {2048}, {256, 1024, 4096, 8192}}},
     rung<float>(kernels::gemm_double_buffered)},
    {"gemm/warp_tile/f32",
     {{"n", {4096}, {256, 512, 1024, 2048, 8192}}},
     rung<float>(kernels::gemm_warp_tile)},
};

// Tensor cores with warp-level instructions.
const Axes large{{"n", {4096}, {256, 512, 1024, 2048, 8192}}};
const Axes every_size{{"n", {}, {256, 512, 1024, 2048, 4096, 8192}}};
const GpuBenchmark tensor_rungs[] = {
    {"gemm/wmma/bf16", {{"n", {2048}, {1024, 4096}}}, rung<bf16>(kernels::gemm_wmma)},
    {"gemm/wmma/f16", {{"n", {}, {1024, 2048, 4096}}}, rung<f16>(kernels::gemm_wmma)},
    {"gemm/wmma_staged/bf16", every_size,
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

// Hopper's wgmma and TMA. Row-major ("NN") like cuBLAS below, except k_major.
const Axes from_2048{{"n", {}, {2048, 4096, 8192}}};
const GpuBenchmark wgmma_rungs[] = {
    {"gemm/wgmma/bf16", from_2048, wgmma_rung<bf16>(kernels::gemm_wgmma)},
    {"gemm/wgmma_large_tile/bf16", from_2048, wgmma_rung<bf16>(kernels::gemm_wgmma_large_tile)},
    {"gemm/wgmma_producer/bf16", from_2048, wgmma_rung<bf16>(kernels::gemm_wgmma_producer)},
    {"gemm/wgmma_two_consumers/bf16", from_2048,
     wgmma_rung<bf16>(kernels::gemm_wgmma_two_consumers)},
    {"gemm/wgmma_persistent/bf16", from_2048, wgmma_rung<bf16>(kernels::gemm_wgmma_persistent)},
    {"gemm/wgmma_multicast/bf16", from_2048, wgmma_rung<bf16>(kernels::gemm_wgmma_multicast)},
    {"gemm/wgmma_tma_store/bf16", from_2048, wgmma_rung<bf16>(kernels::gemm_wgmma_tma_store)},
    {"gemm/wgmma_l2_order/bf16", from_2048, wgmma_rung<bf16>(kernels::gemm_wgmma_l2_order)},
    {"gemm/wgmma_ping_pong/bf16", from_2048, wgmma_rung<bf16>(kernels::gemm_wgmma_ping_pong)},
    {"gemm/wgmma_stmatrix/bf16",
     {{"n", {4096, 8192}, {256, 512, 1024, 2048}}},
     wgmma_rung<bf16>(kernels::gemm_wgmma_stmatrix)},
    {"gemm/wgmma_serpentine/bf16", from_2048, wgmma_rung<bf16>(kernels::gemm_wgmma_serpentine)},
    {"gemm/wgmma_dependent_launch/bf16", from_2048,
     wgmma_rung<bf16>(kernels::gemm_wgmma_dependent_launch)},
    {"gemm/wgmma_early_loads/bf16", from_2048, wgmma_rung<bf16>(kernels::gemm_wgmma_early_loads)},
    {"gemm/wgmma_staggered_end/bf16", from_2048,
     wgmma_rung<bf16>(kernels::gemm_wgmma_staggered_end)},
    {"gemm/wgmma_stream_k/bf16", every_size, wgmma_stream_k<bf16>()},
    {"gemm/wgmma_best/bf16", every_size, wgmma_rung<bf16>(kernels::gemm_wgmma_best)},
    {"gemm/wgmma_best/f16", every_size, wgmma_rung<f16>(kernels::gemm_wgmma_best)},
    {"gemm/wgmma_k_major/tf32", from_2048,
     wgmma_k_major<float, float>(tf32, cublas_ceiling<float>(tf32))},
    {"gemm/wgmma_k_major/e4m3", from_2048,
     wgmma_k_major<__nv_fp8_e4m3, bf16>(e4m3_in_tensor_cores, std::nullopt)},
};

// Data-centre Blackwell's tcgen05.
const GpuBenchmark tcgen05{"gemm/tcgen05/bf16", from_2048, [](GpuCase& gpu) {
                             if (!kernels::has_tcgen05()) {
                               throw Unsupported("needs compute capability 10.0, for tcgen05");
                             }
                             multiply_by<bf16>(gpu, square(gpu), kernels::gemm_tcgen05<bf16>);
                           }};

const ContextRegistration version{"cublas_version", kernels::cublas_version};

/// cuBLASLt with the algorithm that `choice` selects for the shape; the row's label names it.
template <class In, class Out>
auto by_cublaslt(kernels::LtChoice choice, GemmB layout, const Arithmetic& arithmetic,
                 const std::optional<ComputeCeiling>& ceiling, ShapeOf shape_of = square,
                 kernels::Fp8Sums sums = kernels::Fp8Sums::fp32) {
  return [=](GpuCase& gpu) {
    if (std::is_same_v<In, __nv_fp8_e4m3> && !kernels::multiplies_fp8()) {
      throw Unsupported("needs compute capability 8.9");
    }
    const GemmShape shape = shape_of(gpu);
    const auto gemm = std::make_shared<kernels::CublasLtGemm<In, Out>>(shape, layout, choice, sums);
    measure<In, Out>(
        gpu, shape, 1, tolerance<Out>(shape.k, arithmetic), limits_of(shape, ceiling),
        [=](const In* a, const In* b, Out* c, cudaStream_t stream) { (*gemm)(a, b, c, stream); },
        layout);
  };
}

/// Products of numbers with scale factors of blocks, all 1: the vendor's rate of NVFP4 and MXFP8.
/// The reference multiplies them as e4m3, which holds both.
template <class In>
void by_cublaslt_blocks(GpuCase& gpu) {
  if (!kernels::multiplies_blocks()) {
    throw Unsupported("needs compute capability 10.0 and CUDA 12.8");
  }
  constexpr bool packed = std::is_same_v<In, kernels::E2m1Pair>;
  using Stored = std::conditional_t<packed, std::uint8_t, __nv_fp8_e4m3>;
  using Whole = DeviceArray<__nv_fp8_e4m3>;
  const GemmShape shape = square(gpu);
  const std::size_t numbers = product({shape.n, shape.n});
  const std::size_t elements = packed ? numbers / 2 : numbers;
  const auto gemm = std::make_shared<kernels::CublasLtGemm<In, __nv_bfloat16>>(
      shape, GemmB::transposed, kernels::LtChoice::fastest);
  const auto a = gpu.input<Stored>(elements);
  const auto b = gpu.input<Stored>(elements);
  const auto c = gpu.output<__nv_bfloat16>(numbers);
  const auto in = [](const Buffer<Stored>& buffer, const Iteration& at) {
    return reinterpret_cast<const In*>(buffer[at]);
  };
  const auto whole_a = std::make_shared<Whole>(packed ? numbers : 0);
  const auto whole_b = std::make_shared<Whole>(packed ? numbers : 0);
  const auto whole = [=](const Buffer<Stored>& buffer, Whole& to, const Iteration& at) {
    if constexpr (packed) {
      kernels::unpack(in(buffer, at), to.data(), elements, at.stream);
      return static_cast<const __nv_fp8_e4m3*>(to.data());
    } else {
      return static_cast<const __nv_fp8_e4m3*>(buffer[at]);
    }
  };
  gpu.moves_bytes(2 * elements + numbers * sizeof(__nv_bfloat16), std::nullopt);
  gpu.computes_flops(flops(shape), std::nullopt);
  gpu.verify(c, tolerance<__nv_bfloat16>(shape.k, packed ? nvfp4 : e4m3),
             [=](const Iteration& at, Window window, double* expected) {
               kernels::gemm_reference(whole(a, *whole_a, at), whole(b, *whole_b, at), expected,
                                       shape, window.first, window.count, at.stream,
                                       GemmB::transposed);
             });
  gpu.replay([=](const Iteration& at) { (*gemm)(in(a, at), in(b, at), c[at], at.stream); });
}

auto cublaslt_best(ShapeOf shape_of) {
  return by_cublaslt<bf16, bf16>(kernels::LtChoice::fastest, GemmB::row_major, of_elements<bf16>(),
                                 cublas_ceiling<bf16>(of_elements<bf16>()), shape_of);
}

const Axes two_sizes{{"n", {1024, 4096}, {256, 512, 2048, 8192}}};
const GpuBenchmark libraries[] = {
    {"gemm/cublas/f32", two_sizes, by_cublas<float>()},
    {"gemm/cublas/tf32", large, by_cublas<float>(square, tf32)},
    {"gemm/cublas/f16", every_size, by_cublas<f16>()},
    {"gemm/cublas/bf16", {{"n", {1024, 4096, 8192}, {256, 512, 2048}}}, by_cublas<bf16>()},
    // The fastest algorithm that NVIDIA's heuristic proposes: the target of the ladder.
    {"gemm/cublaslt_best/bf16", from_2048, cublaslt_best(square)},
    {"gemm/cublaslt_k_major/tf32", from_2048,
     by_cublaslt<float, float>(kernels::LtChoice::fastest, GemmB::transposed, tf32,
                               cublas_ceiling<float>(tf32))},
    // The tensor cores alone keep the sum, as in gemm/wgmma_k_major/e4m3.
    {"gemm/cublaslt_k_major/e4m3", from_2048,
     by_cublaslt<__nv_fp8_e4m3, bf16>(kernels::LtChoice::fastest, GemmB::transposed,
                                      e4m3_in_tensor_cores, std::nullopt, square,
                                      kernels::Fp8Sums::tensor_cores)},
    // 8-bit floats summed in fp32, B transposed, C as bf16. No ceiling: it would be its own. In the
    // full suite only, because loading its kernels takes each process 1.6 s.
    {"gemm/cublaslt/e4m3", every_size,
     by_cublaslt<__nv_fp8_e4m3, bf16>(kernels::LtChoice::first, GemmB::transposed, e4m3,
                                      std::nullopt)},
    // On Blackwell, with a scale per block: what a rung of these types would be compared with.
    {"gemm/cublaslt/mxfp8", from_2048, by_cublaslt_blocks<kernels::ScaledE4m3>},
    {"gemm/cublaslt/nvfp4", from_2048, by_cublaslt_blocks<kernels::E2m1Pair>},
};

// Many small products in one call, as in attention: bound by memory and startup.
const Axes batches{{"batch", {64}, {512}}, {"n", {256}, {64, 128}}};
const Axes batches_in_full{{"batch", {}, {64, 512}}, {"n", {}, {64, 128, 256}}};
const GpuBenchmark in_batches[] = {
    {"gemm/cublas_batched/bf16", batches, batched<bf16>()},
    {"gemm/cublas_batched/f16", batches_in_full, batched<f16>()},
    {"gemm/cublas_batched/f32", batches_in_full, batched<float>()},
    {"gemm/cublas_batched/tf32", batches_in_full, batched<float>(tf32)},
};

// A few rows times a large matrix, as in each decoding step: bound by reading B once.
const Axes few_rows{{"m", {1}, {8, 16}}, {"n", {8192}, {4096}}};
const Axes few_rows_in_full{{"m", {}, {1, 8, 16}}, {"n", {}, {4096, 8192}}};
const GpuBenchmark with_few_rows[] = {
    {"gemm/cublas_skinny/bf16", few_rows, by_cublas<bf16>(rows_times_square)},
    {"gemm/cublas_skinny/f16", few_rows_in_full, by_cublas<f16>(rows_times_square)},
    {"gemm/cublas_skinny/f32", few_rows_in_full, by_cublas<float>(rows_times_square)},
    {"gemm/cublaslt_best_skinny/bf16", few_rows_in_full, cublaslt_best(rows_times_square)},
    {"gemm/wgmma_split_k/bf16", few_rows_in_full,
     wgmma_rung<bf16>(kernels::gemm_wgmma_split_k, rows_times_square)},
    {"gemm/wgmma_best_skinny/bf16", few_rows_in_full,
     wgmma_rung<bf16>(kernels::gemm_wgmma_best, rows_times_square)},
};

// Many rows times a small matrix: bound by reading A and writing C.
const Axes many_rows{{"m", {}, {65'536}}, {"n", {}, {128, 512}}};
const GpuBenchmark with_many_rows[] = {
    {"gemm/cublas_tall/bf16", many_rows, by_cublas<bf16>(rows_times_square)},
    {"gemm/wgmma_best_tall/bf16", many_rows,
     wgmma_rung<bf16>(kernels::gemm_wgmma_best, rows_times_square)},
};

// Shapes of a transformer: one token, the next tokens of a few sequences, prompts.
const Axes tokens{{"m", {}, {1, 16, 128, 512, 4096}}, {"n", {}, {4096, 14'336}}};
const Axes projection_tokens{{"m", {}, {1, 16, 128, 512, 4096}}, {"n", {}, {4096, 6144}}};
const GpuBenchmark in_transformers[] = {
    {"gemm/cublas_feed_forward/bf16", tokens, by_cublas<bf16>(feed_forward)},
    {"gemm/cublaslt_best_feed_forward/bf16", tokens, cublaslt_best(feed_forward)},
    {"gemm/wgmma_stream_k_feed_forward/bf16", tokens, wgmma_stream_k<bf16>(feed_forward)},
    {"gemm/wgmma_best_feed_forward/bf16", tokens,
     wgmma_rung<bf16>(kernels::gemm_wgmma_best, feed_forward)},
    {"gemm/cublas_projection/bf16", projection_tokens, by_cublas<bf16>(projection)},
    {"gemm/cublaslt_best_projection/bf16", projection_tokens, cublaslt_best(projection)},
    {"gemm/wgmma_best_projection/bf16", projection_tokens,
     wgmma_rung<bf16>(kernels::gemm_wgmma_best, projection)},
};

const GpuBenchmark with_one_row[] = {
    {"gemm/gemv/bf16", {{"n", {8192}, {4096}}}, one_row<bf16>},
    {"gemm/gemv/f16", {{"n", {}, {4096, 8192}}}, one_row<f16>},
};

// Without rests: the rate that the power limit allows. The steady state takes half a second.
const Axes sustained_sizes{{"n", {}, {4096, 8192}}};
const GpuBenchmark sustained[] = {
    {"gemm/cublas_sustained/bf16", sustained_sizes,
     by_cublas<bf16>(square, of_elements<bf16>(), CacheState::sustained)},
    {"gemm/wgmma_best_sustained/bf16", sustained_sizes,
     wgmma_rung<bf16>(kernels::gemm_wgmma_best, square, CacheState::sustained)},
};

}  // namespace
