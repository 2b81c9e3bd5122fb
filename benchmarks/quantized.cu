// SPDX-License-Identifier: Apache-2.0
// Products of quantised matrices. Many rows are bound by the tensor cores, few by reading the
// weights; quantising is bound by device memory.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <warpgauge/core/units.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "benchmarks/gemm_measure.hpp"
#include "kernels/gemm/cublaslt.hpp"
#include "kernels/quantized/int4.hpp"
#include "kernels/quantized/quantize.hpp"
#include "kernels/quantized/scaled.hpp"

namespace {

using namespace warpgauge;
using kernels::GemmShape;
using kernels::scale_blocks;
using bf16 = __nv_bfloat16;
using e4m3_t = __nv_fp8_e4m3;

/// A product of DeepSeek-V3's size: m tokens, n features.
GemmShape shape_of(const GpuCase& gpu) {
  return {gpu.param("m"), gpu.param("n"), gpu.param("k")};
}

/// The rate of cuBLASLt's e4m3 without scales per block, summed in the tensor cores alone.
ComputeCeiling e4m3_ceiling() {
  constexpr std::size_t n = 8192;
  constexpr GemmShape shape{n, n, n};
  return {"cuBLASLt e4m3", flops(shape), [=](cudaStream_t stream) -> Operation {
            const auto gemm = std::make_shared<kernels::CublasLtGemm<e4m3_t, bf16>>(
                shape, kernels::GemmB::transposed, kernels::LtChoice::first,
                kernels::Fp8Sums::tensor_cores);
            return [=, a = seeded<e4m3_t>(n * n, 1, stream), b = seeded<e4m3_t>(n * n, 2, stream),
                    c = seeded<bf16>(n * n, 3, stream)](const Iteration& at) {
              (*gemm)(a->data(), b->data(), c->data(), at.stream);
            };
          }};
}

/// Measures launch(a, b, c, shape, stream).
template <class Launch>
void multiply_scaled(GpuCase& gpu, const Launch& launch) {
  const GemmShape shape = shape_of(gpu);
  const auto a = gpu.input<e4m3_t>(product({shape.m, shape.k}));
  const auto b = gpu.input<e4m3_t>(product({shape.n, shape.k}));
  const auto a_scales =
      gpu.input<float>(product({shape.m, scale_blocks(shape.k)}), uniform(0.5, 1));
  const auto b_scales =
      gpu.input<float>(product({scale_blocks(shape.n), scale_blocks(shape.k)}), uniform(0.5, 1));
  const auto c = gpu.output<bf16>(product({shape.m, shape.n}));
  gpu.moves_bytes(a.count() + b.count() + sizeof(float) * (a_scales.count() + b_scales.count()) +
                      sizeof(bf16) * c.count(),
                  shape.m * 16 < shape.n ? Traffic::device_read : Traffic::device_copy);
  gpu.computes_flops(flops(shape), e4m3_ceiling());
  // Scales are at most 1, so the error is within that of the product without them.
  gpu.verify(
      c, tolerance<bf16>(shape.k, e4m3), [=](const Iteration& at, Window window, double* expected) {
        kernels::scaled_gemm_reference({a[at], a_scales[at]}, {b[at], b_scales[at]}, expected,
                                       shape, window.first, window.count, at.stream);
      });
  gpu.replay([=](const Iteration& at) {
    launch(kernels::ScaledRows{a[at], a_scales[at]}, kernels::ScaledTiles{b[at], b_scales[at]},
           c[at], shape, at.stream);
  });
}

template <auto launch>
void scaled_rung(GpuCase& gpu) {
  multiply_scaled(gpu, launch);
}

template <auto launch>
void scaled_wgmma_rung(GpuCase& gpu) {
  if (!kernels::has_wgmma()) {
    throw Unsupported("needs compute capability 9.0, which alone has wgmma");
  }
  multiply_scaled(gpu, launch);
}

/// cuBLASLt with the same scales, by the fastest algorithm that its heuristic proposes.
void scaled_by_cublaslt(GpuCase& gpu) {
  if (!kernels::has_wgmma()) {
    throw Unsupported("cuBLASLt has these scales on compute capability 9.0 alone");
  }
  const auto gemm = std::make_shared<kernels::CublasLtGemm<e4m3_t, bf16>>(
      shape_of(gpu), kernels::GemmB::transposed, kernels::LtChoice::fastest,
      kernels::Fp8Sums::fp32_scaled);
  multiply_scaled(gpu, [=](kernels::ScaledRows a, kernels::ScaledTiles b, bf16* c, GemmShape,
                           cudaStream_t stream) {
    (*gemm)(a.values, a.scales, b.values, b.scales, c, stream);
  });
}

const Axes scaled_sizes{{"m", {128, 4096}, {64, 256, 512, 1024}}, {"n", {7168}}, {"k", {16'384}}};
const Axes scaled_in_full{{"m", {}, {128, 256, 512, 4096}}, {"n", {}, {7168}}, {"k", {}, {16'384}}};
const Axes scaled_peer{{"m", {4096}, {64, 128, 256, 512, 1024}}, {"n", {7168}}, {"k", {16'384}}};
const Axes scaled_small{{"m", {}, {1024}}, {"n", {}, {1024}}, {"k", {}, {1024}}};
const GpuBenchmark scaled[] = {
    {"quantized/scaled_naive/e4m3", scaled_small, scaled_rung<kernels::scaled_gemm_naive>},
    {"quantized/scaled_wgmma/e4m3", scaled_in_full, scaled_wgmma_rung<kernels::scaled_gemm_wgmma>},
    {"quantized/scaled_wgmma_wide/e4m3", scaled_in_full,
     scaled_wgmma_rung<kernels::scaled_gemm_wgmma_wide>},
    {"quantized/scaled_wgmma_ahead/e4m3", scaled_in_full,
     scaled_wgmma_rung<kernels::scaled_gemm_wgmma_ahead>},
    {"quantized/scaled_wgmma_narrow/e4m3", scaled_in_full,
     scaled_wgmma_rung<kernels::scaled_gemm_wgmma_narrow>},
    {"quantized/scaled_wgmma_split/e4m3", scaled_in_full,
     scaled_wgmma_rung<kernels::scaled_gemm_wgmma_split>},
    {"quantized/scaled_best/e4m3", scaled_sizes, scaled_wgmma_rung<kernels::scaled_gemm_best>},
    {"quantized/scaled_cublaslt/e4m3", scaled_peer, scaled_by_cublaslt},
};

/// bf16 times 4-bit weights: n * k / 2 bytes, whose conversion the tensor cores wait for.
template <auto launch>
void multiply_int4(GpuCase& gpu) {
  const GemmShape shape = rows_times_square(gpu);
  const auto a = gpu.input<bf16>(product({shape.m, shape.k}));
  const auto words = gpu.input<std::uint32_t>(product({shape.n, shape.k / 8}));
  const auto scales =
      gpu.input<bf16>(product({shape.n, shape.k / kernels::int4_group}), uniform(0.0625, 0.125));
  const auto c = gpu.output<bf16>(product({shape.m, shape.n}));
  gpu.moves_bytes(sizeof(bf16) * (a.count() + scales.count() + c.count()) +
                      sizeof(std::uint32_t) * words.count(),
                  Traffic::device_read);
  gpu.computes_flops(flops(shape));
  // Terms are at most 1.5, less than the 2.25 for which the tolerance is.
  gpu.verify(c, tolerance<bf16>(shape.k, of_elements<bf16>()),
             [=](const Iteration& at, Window window, double* expected) {
               kernels::int4_gemm_reference(a[at], {words[at], scales[at]}, expected, shape,
                                            window.first, window.count, at.stream);
             });
  gpu.replay([=](const Iteration& at) {
    launch(a[at], kernels::Int4Weights{words[at], scales[at]}, c[at], shape, at.stream);
  });
}

const Axes few_rows{{"m", {1}, {4, 8, 16}}, {"n", {8192}, {4096}}};
const GpuBenchmark with_int4[] = {
    {"quantized/int4_naive/bf16",
     {{"m", {}, {1, 16}}, {"n", {}, {4096}}},
     multiply_int4<kernels::int4_gemm_naive>},
    {"quantized/int4_mma/bf16", few_rows, multiply_int4<kernels::int4_gemm_mma>},
};

/// Calls use(i) for the elements of a block's scale, from element `first` of a matrix with rows of
/// k.
template <class Use>
void for_each_of_block(std::size_t first, std::size_t rows, std::size_t k, const Use& use) {
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < kernels::scale_block; ++i) {
      use(first + row * k + i);
    }
  }
}

/// The largest magnitude of a block, as the launchers count it. k and the rows are whole blocks.
float largest_of_block(const Buffer<bf16>& in, const Iteration& at, std::size_t first,
                       std::size_t rows, std::size_t k) {
  double largest = kernels::least_magnitude;
  for_each_of_block(first, rows, k,
                    [&](std::size_t i) { largest = std::max(largest, std::abs(in(at, i))); });
  return static_cast<float>(largest);
}

/// Throws std::invalid_argument unless the case's rows and k are whole blocks.
void require_blocks(const GpuCase& gpu, std::size_t rows_of_block) {
  if (gpu.param("rows") % rows_of_block != 0 || gpu.param("k") % kernels::scale_block != 0) {
    throw std::invalid_argument("rows must be a multiple of " + std::to_string(rows_of_block) +
                                ", k of " + std::to_string(kernels::scale_block));
  }
}

/// bf16 to e4m3, with a scale per 128 terms of `rows_of_block` rows.
template <auto launch, std::size_t rows_of_block>
void quantize_e4m3(GpuCase& gpu) {
  require_blocks(gpu, rows_of_block);
  const std::size_t rows = gpu.param("rows");
  const std::size_t k = gpu.param("k");
  const std::size_t k_blocks = scale_blocks(k);
  const bool by_row = rows_of_block == 1;
  const auto in = gpu.input<bf16>(product({rows, k}), normal(0, 1));
  const auto values = gpu.output<e4m3_t>(in.count());
  const auto scales = gpu.output<float>(product({rows / rows_of_block, k_blocks}));
  gpu.moves_bytes(3 * in.count() + sizeof(float) * scales.count());
  gpu.verify(scales, {}, [=](const Iteration& at, std::size_t i) {
    const std::size_t row = by_row ? i % rows : i / k_blocks * rows_of_block;
    const std::size_t block = by_row ? i / rows : i % k_blocks;
    return double{
        largest_of_block(in, at, row * k + block * kernels::scale_block, rows_of_block, k) /
        kernels::e4m3_largest};
  });
  // A factor that errs by 2^-23 may move an element beyond the middle of two numbers.
  gpu.verify(values, {.absolute = 0x1p-10, .relative = 0x1.0001p-4},
             [=](const Iteration& at, Window window, double* expected) {
               kernels::quantize_reference(
                   in[at], scales[at],
                   by_row ? kernels::scales_of_rows(rows) : kernels::scales_of_tiles(k), expected,
                   rows, k, window.first, window.count, at.stream);
             });
  gpu.replay(
      [=](const Iteration& at) { launch(in[at], values[at], scales[at], rows, k, at.stream); });
}

/// bf16 to packed 4-bit integers.
template <auto launch>
void quantize_weights(GpuCase& gpu) {
  require_blocks(gpu, 16);
  const std::size_t rows = gpu.param("rows");
  const std::size_t k = gpu.param("k");
  const auto in = gpu.input<bf16>(product({rows, k}), normal(0, 1));
  const auto words = gpu.output<std::uint32_t>(in.count() / 8);
  const auto scales = gpu.output<bf16>(in.count() / kernels::int4_group);
  gpu.moves_bytes(sizeof(bf16) * (in.count() + scales.count()) +
                  sizeof(std::uint32_t) * words.count());
  gpu.verify(scales, {}, [=](const Iteration& at, std::size_t i) {
    const std::size_t first = i % rows * k + i / rows * kernels::int4_group;
    return static_cast<double>(
        static_cast<bf16>(largest_of_block(in, at, first, 1, k) / kernels::int4_largest));
  });
  gpu.verify(words, {}, [=](const Iteration& at, Window window, double* expected) {
    kernels::quantize_int4_reference(in[at], scales[at], expected, rows, k, window.first,
                                     window.count, at.stream);
  });
  gpu.replay(
      [=](const Iteration& at) { launch(in[at], words[at], scales[at], rows, k, at.stream); });
}

const Axes tokens{{"rows", {4096}, {128}}, {"k", {7168}}};
const Axes tokens_in_full{{"rows", {}, {128, 4096}}, {"k", {}, {7168}}};
const Axes weights_in_full{{"rows", {}, {4096}}, {"k", {}, {7168}}};
const GpuBenchmark quantizing[] = {
    {"quantized/quantize_rows_naive/bf16", tokens_in_full,
     quantize_e4m3<kernels::quantize_rows_naive, 1>},
    {"quantized/quantize_rows/bf16", tokens, quantize_e4m3<kernels::quantize_rows, 1>},
    {"quantized/quantize_tiles_naive/bf16", weights_in_full,
     quantize_e4m3<kernels::quantize_tiles_naive, 128>},
    {"quantized/quantize_tiles/bf16", weights_in_full, quantize_e4m3<kernels::quantize_tiles, 128>},
    {"quantized/quantize_int4_naive/bf16", weights_in_full,
     quantize_weights<kernels::quantize_int4_naive>},
    {"quantized/quantize_int4/bf16", weights_in_full, quantize_weights<kernels::quantize_int4>},
};

}  // namespace
