// SPDX-License-Identifier: Apache-2.0
// One product per expert, of unequal numbers of rows: bound by reading the experts' matrices if
// each has few rows, by the tensor cores if many. 128 experts of Qwen3-30B-A3B's size.
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include <warpgauge/core/units.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "benchmarks/gemm_measure.hpp"
#include "kernels/grouped/cublas.hpp"
#include "kernels/grouped/grouped.hpp"

namespace {

using namespace warpgauge;
using kernels::GroupedInputs;
using kernels::GroupedShape;
using bf16 = __nv_bfloat16;
using e4m3_t = __nv_fp8_e4m3;

/// `rows` is 8 experts for each token.
GroupedShape shape_of(const GpuCase& gpu) {
  return {gpu.param("rows"), 1536, 2048, 128};
}

/// Shares of the rows from 1 to 13; every eleventh expert has none.
std::vector<std::int32_t> offsets_of(GroupedShape shape) {
  std::vector<std::size_t> shares(shape.experts);
  for (std::size_t i = 0; i < shape.experts; ++i) {
    shares[i] = i % 11 == 0 ? 0 : 1 + i * i * 7 % 13;
  }
  const std::size_t all = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
  std::vector<std::int32_t> offsets{0};
  std::size_t through = 0;
  for (const std::size_t share : shares) {
    through += share;
    offsets.push_back(static_cast<std::int32_t>(shape.rows * through / all));
  }
  return offsets;
}

/// Measures launch(inputs, c, shape, stream).
template <class T, class Launch>
void multiply_grouped(GpuCase& gpu, const Launch& launch) {
  const GroupedShape shape = shape_of(gpu);
  const std::vector<std::int32_t> host_offsets = offsets_of(shape);
  std::size_t used = 0;
  for (std::size_t i = 0; i < shape.experts; ++i) {
    used += host_offsets[i] < host_offsets[i + 1] ? 1 : 0;
  }
  const std::size_t b_count = product({shape.k, shape.n});
  const auto a = gpu.input<T>(product({shape.rows, shape.k}));
  const auto b = gpu.input<T>(product({shape.experts, b_count}));
  const auto offsets = gpu.input(host_offsets);
  const auto scales = gpu.input<float>(shape.experts, uniform(0.5, 1));
  const auto c = gpu.output<bf16>(product({shape.rows, shape.n}));
  constexpr bool is_bf16 = std::is_same_v<T, bf16>;
  const Arithmetic arithmetic = is_bf16 ? of_elements<bf16>() : e4m3_in_tensor_cores;
  gpu.moves_bytes((a.count() + used * b_count) * sizeof(T) + c.count() * sizeof(bf16));
  gpu.computes_flops(
      flops({shape.rows, shape.n, shape.k}),
      is_bf16 ? std::optional(cublas_ceiling<bf16>(of_elements<bf16>())) : std::nullopt);
  const auto inputs = [=](const Iteration& at) {
    return GroupedInputs<T>{a[at], b[at], offsets[at], scales[at]};
  };
  gpu.verify(c, tolerance<bf16>(shape.k, arithmetic),
             [=](const Iteration& at, Window window, double* expected) {
               kernels::grouped_gemm_reference(inputs(at), expected, shape, window.first,
                                               window.count, at.stream);
             });
  gpu.replay([=](const Iteration& at) { launch(inputs(at), c[at], shape, at.stream); });
}

template <class T>
void naive(GpuCase& gpu) {
  multiply_grouped<T>(gpu, kernels::grouped_gemm_naive<T>);
}

template <class T>
void wgmma(GpuCase& gpu) {
  if (!kernels::has_wgmma()) {
    throw Unsupported("needs compute capability 9.0, which alone has wgmma");
  }
  multiply_grouped<T>(gpu, kernels::grouped_gemm_wgmma<T>);
}

/// A call of cuBLAS per expert with rows. The host knows their numbers, for which a layer would
/// have to wait.
void cublas_loop(GpuCase& gpu) {
  const std::vector<std::int32_t> offsets = offsets_of(shape_of(gpu));
  const auto gemm = std::make_shared<kernels::CublasGemm>();
  multiply_grouped<bf16>(
      gpu, [=](GroupedInputs<bf16> in, bf16* c, GroupedShape shape, cudaStream_t stream) {
        for (std::size_t i = 0; i < shape.experts; ++i) {
          const auto row = static_cast<std::size_t>(offsets[i]);
          const auto rows = static_cast<std::size_t>(offsets[i + 1]) - row;
          (*gemm)(in.a + row * shape.k, in.b + i * shape.k * shape.n, c + row * shape.n,
                  {rows, shape.n, shape.k}, stream);
        }
      });
}

/// cuBLAS's own grouped call.
void cublas_grouped(GpuCase& gpu) {
  const GroupedShape shape = shape_of(gpu);
  const auto gemm = std::make_shared<kernels::CublasGrouped>(shape, offsets_of(shape));
  multiply_grouped<bf16>(gpu, [=](GroupedInputs<bf16> in, bf16* c, GroupedShape,
                                  cudaStream_t stream) { (*gemm)(in, c, stream); });
}

const Axes sizes{{"rows", {32'768}, {1024, 4096, 131'072}}};
const Axes sizes_in_full{{"rows", {}, {1024, 4096, 32'768, 131'072}}};
const GpuBenchmark grouped[] = {
    {"grouped/naive/bf16", {{"rows", {}, {4096}}}, naive<bf16>},
    {"grouped/naive/e4m3", {{"rows", {}, {4096}}}, naive<e4m3_t>},
    {"grouped/wgmma/bf16", sizes, wgmma<bf16>},
    {"grouped/wgmma/e4m3", sizes, wgmma<e4m3_t>},
    {"grouped/cublas_loop/bf16", sizes_in_full, cublas_loop},
    {"grouped/cublas_grouped/bf16", sizes, cublas_grouped},
};

}  // namespace
