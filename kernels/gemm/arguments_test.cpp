// SPDX-License-Identifier: Apache-2.0
// Arguments that the rungs of the fp32 ladder refuse, or that need no work, before any CUDA call.
// Needs no GPU.
#include "kernels/gemm/arguments.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/arguments.hpp"
#include "kernels/gemm/ladder.hpp"

namespace warpgauge::kernels {
namespace {

// Never read or written: every call below ends before a launch.
alignas(16) float memory[8];
float* const aligned = memory;
float* const between_floats = reinterpret_cast<float*>(reinterpret_cast<char*>(memory) + 2);

constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();

class GemmLadderArguments : public ::testing::TestWithParam<GemmRung> {
 protected:
  /// The message of the std::invalid_argument that the rung throws, "" when it throws none.
  static std::string refusal(const float* a, const float* b, float* c, GemmShape shape) {
    try {
      GetParam().launch(a, b, c, shape, nullptr);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }
  static std::string named(const std::string& text) {
    return std::string("gemm_") + GetParam().name + ": " + text;
  }
};

TEST_P(GemmLadderArguments, NoOutputsDoNothing) {
  EXPECT_EQ(refusal(nullptr, nullptr, nullptr, {0, 1, 1}), "");
  EXPECT_EQ(refusal(nullptr, nullptr, nullptr, {1, 0, 1}), "");
  EXPECT_EQ(refusal(nullptr, nullptr, nullptr, {0, 0, 0}), "");
}

TEST_P(GemmLadderArguments, NoTermsAreRefused) {
  EXPECT_EQ(refusal(aligned, aligned, aligned, {1, 2, 0}),
            named("m=1 n=2 k=0 sums nothing: k must be at least 1"));
}

TEST_P(GemmLadderArguments, NullIsRefused) {
  EXPECT_EQ(refusal(nullptr, aligned, aligned, {1, 1, 1}), named("a is null"));
  EXPECT_EQ(refusal(aligned, nullptr, aligned, {1, 1, 1}), named("b is null"));
  EXPECT_EQ(refusal(aligned, aligned, nullptr, {1, 1, 1}), named("c is null"));
}

TEST_P(GemmLadderArguments, MisalignedIsRefused) {
  const std::string text = " is not aligned to 4 bytes";
  EXPECT_EQ(refusal(between_floats, aligned, aligned, {1, 1, 1}), named("a" + text));
  EXPECT_EQ(refusal(aligned, between_floats, aligned, {1, 1, 1}), named("b" + text));
  EXPECT_EQ(refusal(aligned, aligned, between_floats, {1, 1, 1}), named("c" + text));
}

TEST_P(GemmLadderArguments, MoreThanASizeCanCountIsRefused) {
  for (const GemmShape shape : {GemmShape{huge, 1, 2}, GemmShape{1, huge, 2},
                                GemmShape{huge / 4, 8, 1}, GemmShape{1, 8, huge / 4}}) {
    EXPECT_NE(refusal(aligned, aligned, aligned, shape).find("64-bit difference"),
              std::string::npos)
        << shape.m << " x " << shape.n << " x " << shape.k;
  }
}

TEST_P(GemmLadderArguments, MoreTilesThanTheGridHoldsAreRefused) {
  const std::size_t rows = max_grid_blocks * GetParam().tile_rows + 1;
  const std::size_t columns = max_grid_blocks * GetParam().tile_columns + 1;
  const std::string text = " have more than 2147483647 tiles of " +
                           std::to_string(GetParam().tile_rows) + " x " +
                           std::to_string(GetParam().tile_columns);
  EXPECT_EQ(refusal(aligned, aligned, aligned, {rows, 1, 1}),
            named(std::to_string(rows) + " rows of 1" + text));
  EXPECT_EQ(refusal(aligned, aligned, aligned, {1, columns, 1}),
            named("1 rows of " + std::to_string(columns) + text));
}

INSTANTIATE_TEST_SUITE_P(Rungs, GemmLadderArguments, ::testing::ValuesIn(gemm_ladder),
                         [](const auto& rung) { return std::string(rung.param.name); });

TEST(GemmTiles, RoundUpAndReachTheLimit) {
  EXPECT_EQ(tiles_of("f", 1, 1, 128, 64).blocks(), 1U);
  const Tiles tiles = tiles_of("f", 257, 65, 128, 64);
  EXPECT_EQ(tiles.blocks(), 6U);
  EXPECT_EQ(tiles.rows, 3U);
  EXPECT_EQ(tiles.columns, 2U);
  EXPECT_EQ(tiles_of("f", max_grid_blocks * 128, 64, 128, 64).blocks(), max_grid_blocks);
}

}  // namespace
}  // namespace warpgauge::kernels
