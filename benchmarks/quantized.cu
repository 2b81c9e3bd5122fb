// SPDX-License-Identifier: Apache-2.0
// Products of quantised matrices. Many rows are bound by the tensor cores, few by reading the
// weights; quantising is bound by device memory.
#include <memory>
#include <optional>

#include <warpgauge/core/units.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "benchmarks/gemm_measure.hpp"
#include "kernels/gemm/cublaslt.hpp"
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

const Axes scaled_sizes{{"m", {128, 4096}, {64, 1024}}, {"n", {7168}}, {"k", {16'384}}};
const Axes scaled_in_full{{"m", {}, {128, 4096}}, {"n", {}, {7168}}, {"k", {}, {16'384}}};
const Axes scaled_small{{"m", {}, {1024}}, {"n", {}, {1024}}, {"k", {}, {1024}}};
const GpuBenchmark scaled[] = {
    {"quantized/scaled_naive/e4m3", scaled_small, scaled_rung<kernels::scaled_gemm_naive>},
    {"quantized/scaled_wgmma/e4m3", scaled_in_full, scaled_wgmma_rung<kernels::scaled_gemm_wgmma>},
    {"quantized/scaled_wgmma_wide/e4m3", scaled_in_full,
     scaled_wgmma_rung<kernels::scaled_gemm_wgmma_wide>},
    {"quantized/scaled_wgmma_turns/e4m3", scaled_in_full,
     scaled_wgmma_rung<kernels::scaled_gemm_wgmma_turns>},
    {"quantized/scaled_wgmma_narrow/e4m3", scaled_in_full,
     scaled_wgmma_rung<kernels::scaled_gemm_wgmma_narrow>},
    {"quantized/scaled_best/e4m3", scaled_sizes, scaled_wgmma_rung<kernels::scaled_gemm_best>},
};

}  // namespace
