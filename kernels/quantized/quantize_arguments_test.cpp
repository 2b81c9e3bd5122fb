// SPDX-License-Identifier: Apache-2.0
// Arguments for which the launchers of quantize.hpp and int4.hpp throw or do nothing before any
// launch. Needs no GPU.
#include <gtest/gtest.h>

#include <string>

#include <warpgauge/testing/refusal.hpp>
#include "kernels/quantized/quantize.hpp"

namespace warpgauge::kernels {
namespace {

using Bf16 = __nv_bfloat16;
using E4m3 = __nv_fp8_e4m3;

// Never read or written: every call below returns before a launch.
alignas(16) Bf16 in[16];
alignas(16) E4m3 values[16];
alignas(16) std::uint32_t words[8];
alignas(16) float scales[4];

constexpr struct {
  const char* name;
  void (*launch)(const Bf16*, E4m3*, float*, std::size_t, std::size_t, cudaStream_t);
} to_e4m3[]{{"quantize_rows_naive", quantize_rows_naive},
            {"quantize_rows", quantize_rows},
            {"quantize_tiles_naive", quantize_tiles_naive},
            {"quantize_tiles", quantize_tiles}};

constexpr struct {
  const char* name;
  void (*launch)(const Bf16*, std::uint32_t*, Bf16*, std::size_t, std::size_t, cudaStream_t);
} to_int4[]{{"quantize_int4_naive", quantize_int4_naive}, {"quantize_int4", quantize_int4}};

constexpr struct {
  const char* name;
  void (*launch)(const Bf16*, Int4Weights, Bf16*, GemmShape, cudaStream_t);
} products[]{{"int4_gemm_naive", int4_gemm_naive}, {"int4_gemm_mma", int4_gemm_mma}};

TEST(Quantize, NothingDoesNothing) {
  for (const auto& to : to_e4m3) {
    EXPECT_EQ(refusal([&] { to.launch(nullptr, nullptr, nullptr, 0, 1, nullptr); }), "");
    EXPECT_EQ(refusal([&] { to.launch(nullptr, nullptr, nullptr, 1, 0, nullptr); }), "");
  }
  for (const auto& to : to_int4) {
    EXPECT_EQ(refusal([&] { to.launch(nullptr, nullptr, nullptr, 0, 1, nullptr); }), "");
  }
  for (const auto& by : products) {
    EXPECT_EQ(refusal([&] { by.launch(nullptr, {}, nullptr, {0, 1, 1}, nullptr); }), "");
    EXPECT_EQ(refusal([&] { by.launch(nullptr, {}, nullptr, {1, 0, 1}, nullptr); }), "");
  }
}

TEST(Quantize, ShapesOfPartsAreRefused) {
  for (const auto& to : to_e4m3) {
    EXPECT_EQ(refusal([&] { to.launch(in, values, scales, 1, 8, nullptr); }),
              std::string(to.name) + ": k=8 must be a multiple of 16");
  }
  for (const auto& to : to_int4) {
    const std::string rule = ": rows must be a multiple of 16, k of 128";
    EXPECT_EQ(refusal([&] { to.launch(in, words, in, 8, 128, nullptr); }),
              to.name + (": rows=8 k=128" + rule));
    EXPECT_EQ(refusal([&] { to.launch(in, words, in, 16, 64, nullptr); }),
              to.name + (": rows=16 k=64" + rule));
  }
  for (const auto& by : products) {
    const std::string rule = ": k must be a multiple of 128, n of 16";
    EXPECT_EQ(refusal([&] { by.launch(in, {words, in}, in, {1, 8, 128}, nullptr); }),
              by.name + (": m=1 n=8 k=128" + rule));
    EXPECT_EQ(refusal([&] { by.launch(in, {words, in}, in, {1, 16, 64}, nullptr); }),
              by.name + (": m=1 n=16 k=64" + rule));
    EXPECT_EQ(refusal([&] { by.launch(in, {words, in}, in, {1, 16, 0}, nullptr); }),
              by.name + std::string(": m=1 n=16 k=0 sums nothing: k must be at least 1"));
  }
}

TEST(Quantize, NullAndMisalignedPointersAreRefused) {
  for (const auto& to : to_e4m3) {
    const std::string name = std::string(to.name) + ": ";
    EXPECT_EQ(refusal([&] { to.launch(in + 1, values, scales, 1, 16, nullptr); }),
              name + "in is not aligned to 16 bytes");
    EXPECT_EQ(refusal([&] { to.launch(in, nullptr, scales, 1, 16, nullptr); }),
              name + "values is null");
    EXPECT_EQ(refusal([&] { to.launch(in, values, nullptr, 1, 16, nullptr); }),
              name + "scales is null");
  }
  for (const auto& to : to_int4) {
    EXPECT_EQ(refusal([&] { to.launch(in, words + 1, in, 16, 128, nullptr); }),
              std::string(to.name) + ": words is not aligned to 16 bytes");
  }
  for (const auto& by : products) {
    const std::string name = std::string(by.name) + ": ";
    EXPECT_EQ(refusal([&] { by.launch(nullptr, {words, in}, in, {1, 16, 128}, nullptr); }),
              name + "a is null");
    EXPECT_EQ(refusal([&] { by.launch(in, {words, nullptr}, in, {1, 16, 128}, nullptr); }),
              name + "scales is null");
    EXPECT_EQ(refusal([&] { by.launch(in, {words, in}, in + 1, {1, 16, 128}, nullptr); }),
              name + "c is not aligned to 16 bytes");
  }
}

TEST(Quantize, MmaRefusesMoreThanSixteenRows) {
  EXPECT_EQ(refusal([] { int4_gemm_mma(in, {words, in}, in, {17, 16, 128}, nullptr); }),
            "int4_gemm_mma: m=17 n=16 k=128: at most 16 rows");
}

TEST(QuantizeReferences, CheckWhatTheLaunchersCheck) {
  double expected = 0;
  const auto e4m3 = [&](double* to, std::size_t rows, std::size_t k, std::size_t first) {
    return refusal([&] {
      quantize_reference(in, scales, scales_of_rows(rows), to, rows, k, first, 1, nullptr);
    });
  };
  const auto int4 = [&](double* to, std::size_t rows, std::size_t k, std::size_t first) {
    return refusal([&] { quantize_int4_reference(in, in, to, rows, k, first, 1, nullptr); });
  };
  EXPECT_EQ(e4m3(nullptr, 1, 0, 0), "");
  EXPECT_EQ(e4m3(&expected, 1, 8, 0), "quantize_reference: k=8 must be a multiple of 16");
  EXPECT_EQ(e4m3(nullptr, 1, 16, 0), "quantize_reference: expected is null");
  EXPECT_NE(e4m3(&expected, 1, 16, 16), "");
  EXPECT_EQ(int4(nullptr, 16, 0, 0), "");
  EXPECT_EQ(int4(&expected, 16, 64, 0),
            "quantize_int4_reference: rows=16 k=64: rows must be a multiple of 16, k of 128");
  EXPECT_EQ(int4(nullptr, 16, 128, 0), "quantize_int4_reference: expected is null");
  EXPECT_NE(int4(&expected, 16, 128, 256), "");
  EXPECT_EQ(
      refusal([] { int4_gemm_reference(in, {words, in}, nullptr, {1, 16, 128}, 0, 1, nullptr); }),
      "int4_gemm_reference: expected is null");
}

}  // namespace
}  // namespace warpgauge::kernels
