// SPDX-License-Identifier: Apache-2.0
// Arguments for which the peer-to-peer launchers throw before any CUDA call. Needs no GPU.
#include <gtest/gtest.h>

#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/testing/refusal.hpp>
#include "kernels/p2p/p2p.hpp"

namespace warpgauge::kernels {
namespace {

// Never read or written: every call below returns before a launch.
std::int32_t memory[8];
std::int32_t* const whole = memory;
auto* const flags = reinterpret_cast<std::uint32_t*>(memory);
auto* const between = reinterpret_cast<std::uint32_t*>(reinterpret_cast<char*>(memory) + 2);
constexpr std::size_t too_many = std::size_t{1} << 31;

std::string play(std::uint32_t* inbox, std::uint32_t* outbox, std::size_t rounds,
                 std::int32_t* done) {
  return refusal([=] { ping_pong(inbox, outbox, rounds, true, done, nullptr); });
}

std::string add(const std::int32_t* values, std::uint32_t* counters, std::int32_t* out,
                AddShape shape) {
  return refusal([=] { atomic_add(values, counters, out, shape, false, nullptr); });
}

TEST(PingPong, BadArgumentsAreRefused) {
  EXPECT_EQ(play(nullptr, flags, 1, whole), "ping_pong: inbox is null");
  EXPECT_EQ(play(flags, between, 1, whole), "ping_pong: outbox is not aligned to 4 bytes");
  EXPECT_EQ(play(flags, flags, 1, nullptr), "ping_pong: done is null");
  EXPECT_NE(play(flags, flags, too_many, whole), "");
}

TEST(AtomicAdd, BadArgumentsAreRefused) {
  EXPECT_EQ(add(nullptr, flags, whole, {1, 1}), "atomic_add: values is null");
  EXPECT_EQ(add(whole, between, whole, {1, 1}), "atomic_add: counters is not aligned to 4 bytes");
  EXPECT_EQ(add(whole, flags, nullptr, {1, 1}), "atomic_add: out is null");
  EXPECT_NE(add(whole, flags, whole, {1, too_many}), "");
  EXPECT_NE(add(whole, flags, whole, {256 * max_grid_blocks + 1, 1}), "");
}

TEST(AtomicAdd, NoThreadsDoNothing) {
  EXPECT_EQ(add(nullptr, nullptr, nullptr, {0, 1}), "");
}

}  // namespace
}  // namespace warpgauge::kernels
