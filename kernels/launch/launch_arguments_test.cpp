// SPDX-License-Identifier: Apache-2.0
// What the launchers of chains, blocks and tallies refuse before any CUDA call: needs no GPU.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/testing/refusal.hpp>
#include "kernels/launch/blocks.hpp"
#include "kernels/launch/chain.hpp"
#include "kernels/launch/probes.hpp"

namespace warpgauge::kernels {
namespace {

// Never read or written: every call below ends before a launch.
alignas(16) float memory[8];
float* const floats = memory;
float* const between_floats = reinterpret_cast<float*>(reinterpret_cast<char*>(memory) + 2);
double* const doubles = reinterpret_cast<double*>(memory);
double* const between_doubles = reinterpret_cast<double*>(memory + 1);
auto* const between_counts = reinterpret_cast<unsigned long long*>(memory + 1);

constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();
constexpr std::size_t past_grid = 256 * max_grid_blocks + 1;

template <class Step>
void expect_refuses_bad_steps(const std::string& name, const Step& step) {
  const auto message = [&](const float* in, float* out, std::size_t n) {
    return refusal([&] { step(in, out, n); });
  };
  EXPECT_EQ(message(nullptr, nullptr, 0), "");
  EXPECT_EQ(message(nullptr, floats, 1), name + ": in is null");
  EXPECT_EQ(message(floats, nullptr, 1), name + ": out is null");
  EXPECT_EQ(message(between_floats, floats, 1), name + ": in is not aligned to 4 bytes");
  EXPECT_EQ(message(floats, between_floats, 1), name + ": out is not aligned to 4 bytes");
  EXPECT_EQ(message(floats, floats, past_grid),
            name + ": 549755813633 elements need more than 2147483647 blocks of 256");
  EXPECT_NE(message(floats, floats, huge), "");
}

TEST(Chain, StepsRefuseBadArguments) {
  expect_refuses_bad_steps(
      "add_one", [](const float* in, float* out, std::size_t n) { add_one(in, out, n, nullptr); });
  expect_refuses_bad_steps("add_one_early", [](const float* in, float* out, std::size_t n) {
    add_one_early(in, out, n, nullptr);
  });
  expect_refuses_bad_steps("add_one_fused", [](const float* in, float* out, std::size_t n) {
    add_one_fused(in, out, n, 16, nullptr);
  });
}

TEST(Chain, ReferenceRefusesBadArguments) {
  const auto reference = [](const float* in, double* expected, std::size_t n) {
    return refusal([=] { add_one_reference(in, expected, n, 1, nullptr); });
  };
  EXPECT_EQ(reference(nullptr, nullptr, 0), "");
  EXPECT_EQ(reference(nullptr, doubles, 1), "add_one_reference: in is null");
  EXPECT_EQ(reference(floats, nullptr, 1), "add_one_reference: expected is null");
  EXPECT_EQ(reference(floats, between_doubles, 1),
            "add_one_reference: expected is not aligned to 8 bytes");
  EXPECT_NE(reference(floats, doubles, past_grid), "");
}

TEST(Tally, RefusesBadPointers) {
  EXPECT_EQ(refusal([] { tally(nullptr, 1, nullptr); }), "tally: count is null");
  EXPECT_EQ(refusal([] { tally(between_counts, 1, nullptr); }),
            "tally: count is not aligned to 8 bytes");
}

constexpr std::size_t too_many = most_numbered_blocks + 1;

TEST(Blocks, NoBlocksDoNothing) {
  EXPECT_NO_THROW(number_blocks(nullptr, 0, nullptr));
  EXPECT_NO_THROW(exchange_in_grid(nullptr, nullptr, 0, nullptr));
  EXPECT_NO_THROW(exchange_in_cluster(nullptr, 0, 0, nullptr));
  EXPECT_NO_THROW(exchange_reference(nullptr, 0, 0, 0, nullptr));
}

TEST(Blocks, BadPointersAreRefused) {
  EXPECT_EQ(refusal([] { number_blocks(nullptr, 1, nullptr); }), "number_blocks: out is null");
  EXPECT_EQ(refusal([] { number_blocks(between_floats, 1, nullptr); }),
            "number_blocks: out is not aligned to 4 bytes");
  EXPECT_EQ(refusal([] { exchange_in_grid(nullptr, floats, 1, nullptr); }),
            "exchange_in_grid: middle is null");
  EXPECT_EQ(refusal([] { exchange_in_grid(floats, between_floats, 1, nullptr); }),
            "exchange_in_grid: out is not aligned to 4 bytes");
  EXPECT_EQ(refusal([] { exchange_in_cluster(nullptr, 8, 8, nullptr); }),
            "exchange_in_cluster: out is null");
  EXPECT_EQ(refusal([] { exchange_reference(nullptr, 0, 1, 1, nullptr); }),
            "exchange_reference: expected is null");
  EXPECT_EQ(refusal([] { exchange_reference(between_doubles, 0, 1, 1, nullptr); }),
            "exchange_reference: expected is not aligned to 8 bytes");
}

TEST(Blocks, MoreThanAFloatCountsAreRefused) {
  EXPECT_EQ(refusal([] { number_blocks(floats, too_many, nullptr); }),
            "number_blocks: 16777217 blocks are more than 16777216");
  EXPECT_NE(refusal([] { exchange_in_grid(floats, floats, too_many, nullptr); }), "");
  EXPECT_NE(refusal([] { exchange_in_cluster(floats, too_many, 1, nullptr); }), "");
  EXPECT_NE(refusal([] { exchange_reference(doubles, too_many, 1, 1, nullptr); }), "");
  EXPECT_NE(refusal([] { exchange_reference(doubles, 0, too_many, 1, nullptr); }), "");
}

TEST(Blocks, ClustersThatCannotBeAreRefused) {
  const auto clusters = [](std::size_t blocks, std::size_t cluster) {
    return refusal([=] { exchange_in_cluster(floats, blocks, cluster, nullptr); });
  };
  EXPECT_EQ(clusters(12, 8),
            "exchange_in_cluster: clusters of 8 blocks; from 1 to 8 that divide the 12 blocks are "
            "possible");
  EXPECT_NE(clusters(16, 0), "");
  EXPECT_NE(clusters(16, 16), "");
  EXPECT_EQ(refusal([] { exchange_reference(doubles, 0, 1, 0, nullptr); }),
            "exchange_reference: groups of 0 blocks, at least 1 is needed");
}

}  // namespace
}  // namespace warpgauge::kernels
