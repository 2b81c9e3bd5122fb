// SPDX-License-Identifier: Apache-2.0
// Waits that do not wait are found out.
#include "benchmarks/sync_ways.hpp"

#include <gtest/gtest.h>

#include "fixtures/case_required.hpp"

namespace warpgauge {
namespace {

class SyncWaysTest : public CaseRequired {
 protected:
  std::string said_of_round(const std::function<void(void (*step)(cudaStream_t))>& round) {
    return failure([&] { require_both_waits(gpu().stream(), round); });
  }
};

TEST_F(SyncWaysTest, ThereAndBackWaitsTwice) {
  const OtherStream other;
  EXPECT_EQ(said_of_round([&](auto* step) { other.go_and_return(gpu().stream(), step); }),
            "no failure");
}

TEST_F(SyncWaysTest, AMissingWaitIsFoundEitherWay) {
  const OtherStream streams;
  const auto first = gpu().stream();
  const auto other = streams.stream.get();
  const std::string never_back = said_of_round([&](auto* step) {
    step(first);
    streams.there.make_wait(other, first);
    step(other);
  });
  EXPECT_NE(never_back.find("one of both streams did not wait"), std::string::npos) << never_back;
  const std::string never_there = said_of_round([&](auto* step) {
    step(first);
    step(other);
    streams.back.make_wait(first, other);
  });
  EXPECT_NE(never_there.find("one of both streams did not wait"), std::string::npos) << never_there;
}

}  // namespace
}  // namespace warpgauge
