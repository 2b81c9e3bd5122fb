// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/checked_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace warpgauge {
namespace {

TEST(CheckedThread, JoinThrowsWhatTheThreadThrew) {
  CheckedThread thread([] { throw std::runtime_error("lost"); });
  EXPECT_THROW(thread.join(), std::runtime_error);
}

TEST(CheckedThread, JoinOfAThreadThatEndsWellThrowsNothing) {
  std::atomic<bool> ran{false};
  CheckedThread thread([&] { ran = true; });
  EXPECT_NO_THROW(thread.join());
  EXPECT_TRUE(ran);
}

TEST(CheckedThread, EndsWithTheObject) {
  std::atomic<bool> ran{false};
  {
    const CheckedThread thread([&] { ran = true; });
  }
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace warpgauge
