// SPDX-License-Identifier: Apache-2.0
// Arguments for which the all-reduce throws before any CUDA call. Needs no GPU.
#include <gtest/gtest.h>

#include <string>

#include <warpgauge/testing/refusal.hpp>
#include "kernels/all_reduce/all_reduce.hpp"

namespace warpgauge::kernels {
namespace {

// Never read or written: every call below returns before a launch.
alignas(16) float memory[8];
std::uint32_t flags[2];
FlaggedWords inbox[2];

AllReduce<float> call_of_two() {
  AllReduce<float> call{};
  call.ranks = 2;
  call.count = 4;
  for (unsigned rank = 0; rank < 2; ++rank) {
    call.inputs[rank] = memory;
    call.outputs[rank] = memory + 4;
    call.flags[rank] = flags + rank;
    call.inboxes[rank] = inbox + rank;
  }
  return call;
}

template <class T>
void expect_refused(const AllReduce<T>& call, const std::string& why) {
  for (const AllReduceWay<T>& way : all_reduce_ways<T>) {
    EXPECT_EQ(refusal([&] { way.launch(call, nullptr); }), std::string(way.name) + ": " + why);
  }
}

TEST(AllReduceArguments, RanksThatThereAreNotAreRefused) {
  AllReduce<float> call = call_of_two();
  call.rank = 2;
  expect_refused(call, "rank 2 of 2: takes 1 to 8 ranks, numbered from 0");
  call.ranks = 9;
  expect_refused(call, "rank 2 of 9: takes 1 to 8 ranks, numbered from 0");
  EXPECT_EQ(refusal([&] { all_reduce_barrier(call, nullptr); }),
            "all_reduce_barrier: rank 2 of 9: takes 1 to 8 ranks, numbered from 0");
}

TEST(AllReduceArguments, PointersOfEachRankAreChecked) {
  AllReduce<float> call = call_of_two();
  call.inputs[1] = nullptr;
  expect_refused(call, "inputs is null");
  call = call_of_two();
  call.outputs[1] = memory + 1;
  expect_refused(call, "outputs is not aligned to 16 bytes");
  call = call_of_two();
  call.flags[1] = nullptr;
  expect_refused(call, "flags is null");
  EXPECT_EQ(refusal([&] { all_reduce_barrier(call, nullptr); }),
            "all_reduce_barrier: flags is null");
}

TEST(AllReduceArguments, CountsThatAreNotWholeSixteenBytesAreRefused) {
  AllReduce<float> call = call_of_two();
  call.count = 6;
  expect_refused(call, "count is 6: must be a multiple of 4, which are 16 bytes");
  AllReduce<__nv_bfloat16> bf16{};
  bf16.ranks = 1;
  bf16.count = 12;
  bf16.flags[0] = flags;
  expect_refused(bf16, "count is 12: must be a multiple of 8, which are 16 bytes");
}

TEST(AllReduceArguments, LargeInputsAreNotFlagged) {
  AllReduce<float> call = call_of_two();
  call.count = most_flagged_bytes / sizeof(float) + 4;
  EXPECT_EQ(refusal([&] { all_reduce_flagged(call, nullptr); }),
            "all_reduce_flagged: count is 32772: takes at most 32768");
  call = call_of_two();
  call.inboxes[1] = nullptr;
  EXPECT_EQ(refusal([&] { all_reduce_flagged(call, nullptr); }),
            "all_reduce_flagged: inboxes is null");
}

TEST(AllReduceArguments, NoElementsDoNothing) {
  AllReduce<float> call{};
  for (const AllReduceWay<float>& way : all_reduce_ways<float>) {
    EXPECT_EQ(refusal([&] { way.launch(call, nullptr); }), "");
  }
}

}  // namespace
}  // namespace warpgauge::kernels
