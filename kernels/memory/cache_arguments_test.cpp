// SPDX-License-Identifier: Apache-2.0
// Arguments that the cache launchers refuse before any CUDA call. Needs no GPU.
#include <gtest/gtest.h>

#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/testing/refusal.hpp>
#include "kernels/memory/cache.hpp"

namespace warpgauge::kernels {
namespace {

// Never read or written: every call below ends before a launch.
alignas(16) std::int32_t memory[8];
std::int32_t* const whole = memory;
std::int32_t* const between_vectors = memory + 1;
std::int32_t* const between_integers =
    reinterpret_cast<std::int32_t*>(reinterpret_cast<char*>(memory) + 2);
double* const doubles = reinterpret_cast<double*>(memory);
double* const between_doubles = reinterpret_cast<double*>(memory + 1);

std::string read(const std::int32_t* in, std::int32_t* out, std::size_t n, ReadShape shape) {
  return refusal([=] { read_round(in, out, n, shape, nullptr); });
}

std::string reference(const std::int32_t* in, double* expected, std::size_t n, ReadShape shape,
                      std::size_t first, std::size_t count) {
  return refusal([=] { read_round_reference(in, expected, n, shape, first, count, nullptr); });
}

TEST(ReadRound, NoBlocksDoNothing) {
  EXPECT_EQ(read(nullptr, nullptr, 0, {0, 1}), "");
  EXPECT_EQ(reference(nullptr, nullptr, 0, {1, 1}, 0, 0), "");
}

TEST(ReadRound, BadPointersAreRefused) {
  EXPECT_EQ(read(nullptr, whole, 4, {1, 1}), "read_round: in is null");
  EXPECT_EQ(read(whole, nullptr, 4, {1, 1}), "read_round: out is null");
  EXPECT_EQ(read(between_vectors, whole, 4, {1, 1}), "read_round: in is not aligned to 16 bytes");
  EXPECT_EQ(read(whole, between_integers, 4, {1, 1}), "read_round: out is not aligned to 4 bytes");
  EXPECT_EQ(reference(nullptr, doubles, 4, {1, 1}, 0, 1), "read_round_reference: in is null");
  EXPECT_EQ(reference(whole, between_doubles, 4, {1, 1}, 0, 1),
            "read_round_reference: expected is not aligned to 8 bytes");
}

TEST(ReadRound, BadSizesAreRefused) {
  constexpr std::size_t most = std::size_t{1} << 33;
  EXPECT_EQ(read(whole, whole, 0, {1, 1}),
            "read_round: 0 integers are not one or more vectors of 4");
  EXPECT_EQ(read(whole, whole, 6, {1, 1}),
            "read_round: 6 integers are not one or more vectors of 4");
  EXPECT_EQ(read(whole, whole, most + 4, {1, 1}),
            "read_round: 8589934596 elements are more than 8589934592");
  EXPECT_NE(read(whole, whole, 4, {max_grid_blocks + 1, 1}), "");
  EXPECT_NE(read(whole, whole, 4, {1, most + 1}), "");
  EXPECT_EQ(reference(whole, doubles, 4, {3, 1}, 2, 2),
            "read_round_reference: 2 elements from 2 end past the 3 of the output");
  EXPECT_NE(reference(whole, doubles, 4, {3, 1}, 4, 1), "");
}

TEST(ChaseRing, SizesThatAreNoRingAreRefused) {
  EXPECT_EQ(refusal([] { ChaseRing(1000); }),
            "ChaseRing: 1000 bytes are not a power of two from 4 to 1073741824 lines of 128 bytes");
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{256}, std::size_t{384}, std::size_t{1} << 38}) {
    EXPECT_NE(refusal([=] { ChaseRing{bytes}; }), "") << bytes;
  }
}

}  // namespace
}  // namespace warpgauge::kernels
