// SPDX-License-Identifier: Apache-2.0
// require_waiting() detects a thread that waits differently than stated.
#include "benchmarks/sync_threads.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>

#include <warpgauge/testing/case_required.hpp>

namespace warpgauge {
namespace {

class SyncThreadsTest : public CaseRequired {
 protected:
  /// A wait; the check supplies the kernel to wait for.
  static Timed of(const Wait& way) {
    return launch_and_wait([](const Iteration&) {}, way);
  }
  std::string said_of_thread(Waiting said, const Wait& way) {
    return failure([&] { require_waiting(said, of(way), {gpu().stream(), 0}); });
  }
};

TEST_F(SyncThreadsTest, AScheduleIsTheContexts) {
  const Schedule during(cudaDeviceScheduleYield);
  EXPECT_NO_THROW(during.require_in_force());
  const Schedule another(cudaDeviceScheduleSpin);
  EXPECT_NE(failure([&] { during.require_in_force(); }), "no failure");
}

TEST_F(SyncThreadsTest, AThreadDoesAsItIsSaidToAndNothingElse) {
  const std::array<std::pair<unsigned, Waiting>, 3> schedules{{
      {cudaDeviceScheduleSpin, Waiting::spins},
      {cudaDeviceScheduleYield, Waiting::yields},
      {cudaDeviceScheduleBlockingSync, Waiting::sleeps},
  }};
  for (const auto& [schedule, truth] : schedules) {
    const Schedule during(schedule);
    for (const Waiting said : {Waiting::spins, Waiting::yields, Waiting::sleeps}) {
      const std::string found = said_of_thread(said, for_stream());
      EXPECT_EQ(found == "no failure", said == truth)
          << name_of(truth) << ", said that it " << name_of(said) << ": " << found;
    }
  }
}

TEST_F(SyncThreadsTest, AnEventThatBlocksSendsTheThreadToSleep) {
  const Schedule during(cudaDeviceScheduleSpin);
  EXPECT_EQ(said_of_thread(Waiting::sleeps, for_event<cudaEventBlockingSync>()), "no failure");
  EXPECT_EQ(said_of_thread(Waiting::spins, for_event()), "no failure");
  EXPECT_EQ(said_of_thread(Waiting::sleeps, for_event()),
            "the waiting thread spins; this is of one that sleeps");
}

TEST_F(SyncThreadsTest, TheThreadGetsItsCpusBack) {
  cpu_set_t before{};
  sched_getaffinity(0, sizeof(before), &before);
  seen_waiting(of(for_stream()), {gpu().stream(), 0});
  cpu_set_t after{};
  sched_getaffinity(0, sizeof(after), &after);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace warpgauge
