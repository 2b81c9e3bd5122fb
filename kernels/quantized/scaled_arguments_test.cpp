// SPDX-License-Identifier: Apache-2.0
// Arguments for which the launchers of scaled.hpp throw or do nothing before any launch. Needs no
// GPU.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <warpgauge/testing/refusal.hpp>
#include "kernels/quantized/scaled.hpp"

namespace warpgauge::kernels {
namespace {

// Never read or written: every call below returns before a launch.
alignas(16) __nv_fp8_e4m3 values[32];
alignas(16) float scales[4];
alignas(16) __nv_bfloat16 results[16];

constexpr GemmShape small{1, 8, 16};

struct Arguments {
  ScaledRows a{values, scales};
  ScaledTiles b{values, scales};
  __nv_bfloat16* c = results;
};

std::vector<ScaledRung> rungs() {
  std::vector<ScaledRung> all(std::begin(scaled_wgmma_ladder), std::end(scaled_wgmma_ladder));
  all.push_back({"scaled_gemm_naive", scaled_gemm_naive});
  return all;
}

std::string refusal_of(const ScaledRung& rung, Arguments arguments, GemmShape shape) {
  return refusal([&] { rung.launch(arguments.a, arguments.b, arguments.c, shape, nullptr); });
}

TEST(ScaledGemm, NoOutputsDoNothing) {
  for (const ScaledRung& rung : rungs()) {
    EXPECT_EQ(refusal_of(rung, {{}, {}, nullptr}, {0, 1, 1}), "");
    EXPECT_EQ(refusal_of(rung, {{}, {}, nullptr}, {1, 0, 0}), "");
  }
}

TEST(ScaledGemm, SumsOfNothingAreRefused) {
  for (const ScaledRung& rung : rungs()) {
    EXPECT_EQ(refusal_of(rung, {}, {1, 8, 0}),
              std::string(rung.name) + ": m=1 n=8 k=0 sums nothing: k must be at least 1");
  }
}

TEST(ScaledGemm, NullAndMisalignedPointersAreRefused) {
  for (const ScaledRung& rung : rungs()) {
    const std::string name = std::string(rung.name) + ": ";
    EXPECT_EQ(refusal_of(rung, {.a = {nullptr, scales}}, small), name + "a is null");
    EXPECT_EQ(refusal_of(rung, {.a = {values, nullptr}}, small), name + "a_scales is null");
    EXPECT_EQ(refusal_of(rung, {.b = {values + 1, scales}}, small),
              name + "b is not aligned to 16 bytes");
    EXPECT_EQ(refusal_of(rung, {.b = {values, nullptr}}, small), name + "b_scales is null");
    EXPECT_EQ(refusal_of(rung, {.c = results + 1}, small), name + "c is not aligned to 16 bytes");
  }
}

TEST(ScaledGemm, RowsThatAreNotWholeSixteenBytesAreRefused) {
  for (const ScaledRung& rung : rungs()) {
    const std::string name = rung.name;
    EXPECT_EQ(refusal_of(rung, {}, {1, 8, 24}),
              name + ": m=1 n=8 k=24: k must be a multiple of 16, n of 8: rows of whole 16 bytes");
    EXPECT_EQ(refusal_of(rung, {}, {1, 12, 16}),
              name + ": m=1 n=12 k=16: k must be a multiple of 16, n of 8: rows of whole 16 bytes");
  }
}

TEST(ScaledGemm, ExtentsThatTmaDoesNotCountAreRefused) {
  for (const ScaledRung& rung : rungs()) {
    EXPECT_NE(refusal_of(rung, {}, {2'147'482'624, 8, 16}).find("at most 2147482623 rows"),
              std::string::npos);
  }
}

TEST(ScaledGemm, SplitRefusesMoreClustersThanAGridHolds) {
  const ScaledRung split{"scaled_gemm_wgmma_split", scaled_gemm_wgmma_split};
  EXPECT_EQ(refusal_of(split, {}, {std::size_t{1} << 21, std::size_t{1} << 23, 16}),
            "scaled_gemm_wgmma_split: 536870912 elements are more than 536870911");
}

}  // namespace
}  // namespace warpgauge::kernels
