// SPDX-License-Identifier: Apache-2.0
// Arguments that copies and their helpers refuse, or that need no work, before any CUDA call.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/testing/refusal.hpp>
#include "kernels/launch/lcg.hpp"
#include "kernels/memory/copy.hpp"

namespace warpgauge::kernels {
namespace {

// Never read or written: every call below ends before a launch.
alignas(16) float memory[8];
unsigned char* const aligned = reinterpret_cast<unsigned char*>(memory);
std::int32_t* const integers = reinterpret_cast<std::int32_t*>(memory);
double* const doubles = reinterpret_cast<double*>(memory);
double* const between_doubles = reinterpret_cast<double*>(memory + 1);

constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();
constexpr std::size_t past_grid = 256 * max_grid_blocks + 1;

TEST(Copy, NoBytesDoNothing) {
  EXPECT_NO_THROW(copy_bytes(nullptr, nullptr, 0, nullptr));
  EXPECT_NO_THROW(touch(nullptr, 0, 0, 1, nullptr));
  EXPECT_NO_THROW(packed_rows_reference(nullptr, nullptr, {0, 0, 0}, 0, 0, nullptr));
}

TEST(Copy, BadPointersAreRefused) {
  const auto copy = [](const void* from, void* to) {
    return refusal([=] { copy_bytes(from, to, 1, nullptr); });
  };
  EXPECT_EQ(copy(nullptr, aligned), "copy_bytes: from is null");
  EXPECT_EQ(copy(aligned, nullptr), "copy_bytes: to is null");
  EXPECT_EQ(copy(aligned + 8, aligned), "copy_bytes: from is not aligned to 16 bytes");
  EXPECT_EQ(copy(aligned, aligned + 1), "copy_bytes: to is not aligned to 16 bytes");
  EXPECT_EQ(refusal([] { touch(nullptr, 1, 1, 1, nullptr); }), "touch: memory is null");
}

TEST(Copy, MoreThanTheGridHoldsIsRefused) {
  EXPECT_NE(refusal([] { copy_bytes(aligned, aligned, huge, nullptr); }), "");
  EXPECT_NE(refusal([] { touch(aligned, huge, 1, 1, nullptr); }), "");
  EXPECT_NE(refusal([] {
              packed_rows_reference(memory, doubles, {past_grid, 1, 1}, 0, past_grid, nullptr);
            }),
            "");
}

TEST(Touch, AStrideOfNothingIsRefused) {
  EXPECT_EQ(refusal([] { touch(aligned, 1, 0, 1, nullptr); }),
            "touch: a stride of 0 bytes, at least 1 is needed");
}

TEST(PackedRows, BadArgumentsAreRefused) {
  const auto reference = [](const float* rows, double* expected, std::size_t width,
                            std::size_t pitch) {
    return refusal(
        [=] { packed_rows_reference(rows, expected, {1, width, pitch}, 0, 1, nullptr); });
  };
  EXPECT_EQ(reference(nullptr, doubles, 1, 1), "packed_rows_reference: rows is null");
  EXPECT_EQ(reference(memory, nullptr, 1, 1), "packed_rows_reference: expected is null");
  EXPECT_EQ(reference(memory, between_doubles, 1, 1),
            "packed_rows_reference: expected is not aligned to 8 bytes");
  EXPECT_NE(reference(memory, doubles, 0, 1), "");
  EXPECT_EQ(reference(memory, doubles, 3, 2),
            "packed_rows_reference: rows of 3 elements, 2 apart; at least 1 and no more than they "
            "are apart can be packed");
}

TEST(PackedRows, WhatIsPastTheRowsIsRefused) {
  const auto window = [](PitchedRows shape, std::size_t first, std::size_t count) {
    return refusal([=] { packed_rows_reference(memory, doubles, shape, first, count, nullptr); });
  };
  EXPECT_EQ(window({2, 3, 4}, 6, 1),
            "packed_rows_reference: 1 elements from 6 end past the 6 of the rows");
  EXPECT_NE(window({2, 3, 4}, 7, 1), "");
  EXPECT_NE(window({2, 3, 4}, 1, huge), "");
  EXPECT_NE(window({0, 3, 4}, 0, 1), "");
  EXPECT_EQ(
      window({huge / 8, 1, 2}, 0, 1),
      "packed_rows_reference: 2305843009213693951 rows of 2 are more bytes than a signed 64-bit "
      "difference can count");
}

TEST(LcgRounds, BadArgumentsAreRefused) {
  EXPECT_NO_THROW(lcg_rounds(nullptr, nullptr, 0, 1, nullptr));
  EXPECT_NO_THROW(lcg_reference(nullptr, nullptr, 0, 1, nullptr));
  EXPECT_EQ(refusal([] { lcg_rounds(nullptr, integers, 1, 1, nullptr); }),
            "lcg_rounds: in is null");
  EXPECT_EQ(refusal([] { lcg_rounds(integers, nullptr, 1, 1, nullptr); }),
            "lcg_rounds: out is null");
  EXPECT_EQ(refusal([] { lcg_reference(nullptr, doubles, 1, 1, nullptr); }),
            "lcg_reference: in is null");
  EXPECT_EQ(refusal([] { lcg_reference(integers, between_doubles, 1, 1, nullptr); }),
            "lcg_reference: expected is not aligned to 8 bytes");
  EXPECT_NE(refusal([] { lcg_rounds(integers, integers, huge, 1, nullptr); }), "");
  EXPECT_NE(refusal([] { lcg_reference(integers, doubles, huge, 1, nullptr); }), "");
}

TEST(LcgRounds, RoundsInOneAreThoseOneByOne) {
  std::uint32_t x = 12345;
  for (std::uint64_t rounds = 0; rounds < 100; ++rounds) {
    const Lcg all = Lcg{}.repeated(rounds);
    EXPECT_EQ(12345U * all.multiplier + all.increment, x) << rounds;
    x = 1664525U * x + 1013904223U;
  }
}

}  // namespace
}  // namespace warpgauge::kernels
