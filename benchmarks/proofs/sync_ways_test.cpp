// SPDX-License-Identifier: Apache-2.0
// The checks detect waits that return too early or wait for something else.
#include "benchmarks/sync_ways.hpp"

#include <gtest/gtest.h>

#include <functional>

#include <warpgauge/testing/case_required.hpp>
#include <warpgauge/testing/under_sanitizer.hpp>

namespace warpgauge {
namespace {

class SyncWaysTest : public CaseRequired {
 protected:
  using Make = std::function<void(const Operation& kernel, const Iteration& at)>;

  Iteration iteration() { return {gpu().stream(), 0}; }

  /// Wraps `make` as the timed call.
  static Timed timed(const Make& make) {
    const auto kernel = std::make_shared<Operation>();
    return {kernel, [=](const Iteration& at) { make(*kernel, at); }};
  }
  std::string said_of_wait(const Timed& of) {
    return failure([&] { require_waits(of, iteration()); });
  }
  std::string said_of_round(const Timed& of) {
    return failure([&] { require_both_waits(of, iteration()); });
  }
};

TEST_F(SyncWaysTest, EachWayWaitsForTheKernel) {
  const auto other = std::make_shared<const OtherStream>();
  for (const Wait& way : {for_stream(), for_device(), for_event(),
                          for_event<cudaEventBlockingSync>(), by_query(), by_other(other)}) {
    EXPECT_EQ(said_of_wait(launch_and_wait({}, way)), "no failure");
  }
}

TEST_F(SyncWaysTest, AWaitForNothingIsFoundOut) {
  const std::string early = "the call returned before the operation it waits for had ended";
  EXPECT_EQ(said_of_wait(launch_and_wait({}, {[](const Iteration&) {}})), early);
  const Event never_recorded;
  EXPECT_EQ(
      said_of_wait(launch_and_wait({}, {[&](const Iteration&) { never_recorded.synchronize(); }})),
      early);
}

TEST_F(SyncWaysTest, AWaitForWhatStandsInFrontOfTheKernelIsFoundOut) {
  const Event in_front;
  EXPECT_EQ(said_of_wait(timed([&](const Operation& kernel, const Iteration& at) {
              in_front.record(at.stream);
              kernel(at);
              in_front.synchronize();
            })),
            "the call returned before the operation it waits for had ended");
}

TEST_F(SyncWaysTest, AKernelThatIsNotLaunchedOnceIsFoundOut) {
  EXPECT_EQ(said_of_wait(timed([](const Operation&, const Iteration&) {})),
            "kernels that were launched count to 1, those that ran to 0");
  EXPECT_EQ(said_of_wait(timed([](const Operation& kernel, const Iteration& at) {
              kernel(at);
              kernel(at);
              WARPGAUGE_CHECK(cudaStreamSynchronize(at.stream));
            })),
            "kernels that were launched count to 1, those that ran to 2");
}

TEST_F(SyncWaysTest, TheKernelThatIsTimedComesBackAfterTheProof) {
  int launches = 0;
  const Timed of = launch_and_wait([&](const Iteration&) { ++launches; }, for_stream());
  EXPECT_EQ(said_of_wait(of), "no failure");
  EXPECT_EQ(launches, 0);
  of.call(iteration());
  EXPECT_EQ(launches, 1);
}

TEST_F(SyncWaysTest, ThereAndBackWaitsTwice) {
  EXPECT_EQ(said_of_round(there_and_back({}, std::make_shared<const OtherStream>())), "no failure");
}

TEST_F(SyncWaysTest, AMissingWaitIsFoundEitherWay) {
  if (under_sanitizer()) {
    GTEST_SKIP() << "times under a sanitizer are others";
  }
  const OtherStream streams;
  const Iteration other{streams.stream.get(), 0};
  const std::string never_back =
      said_of_round(timed([&](const Operation& kernel, const Iteration& at) {
        kernel(at);
        streams.there.make_wait(other.stream, at.stream);
        kernel(other);
      }));
  EXPECT_NE(never_back.find("one of both streams did not wait"), std::string::npos) << never_back;
  const std::string never_there =
      said_of_round(timed([&](const Operation& kernel, const Iteration& at) {
        kernel(at);
        kernel(other);
        streams.back.make_wait(at.stream, other.stream);
      }));
  EXPECT_NE(never_there.find("one of both streams did not wait"), std::string::npos) << never_there;
}

}  // namespace
}  // namespace warpgauge
