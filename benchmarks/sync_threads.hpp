// SPDX-License-Identifier: Apache-2.0
// What a thread does while it waits for the device: how to choose it, and how to verify it.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>

#include <warpgauge/cuda/sm_clock.hpp>
#include "benchmarks/checked_thread.hpp"
#include "benchmarks/sync_ways.hpp"

namespace warpgauge {

/// Chooses what the calling thread does while it waits for the device: a flag of the context, which
/// can be changed while the context is in use (cudaSetDeviceFlags: for an initialised device, "the
/// previous flags are overwritten"). The destructor restores the earlier flag for later benchmarks.
class Schedule {
 public:
  explicit Schedule(unsigned schedule) : schedule_(schedule) {
    WARPGAUGE_CHECK(cudaGetDeviceFlags(&before_));
    WARPGAUGE_CHECK(cudaSetDeviceFlags((before_ & ~unsigned{cudaDeviceScheduleMask}) | schedule));
  }

  /// Throws WrongResult unless the context has the flag.
  void require_in_force() const {
    unsigned now = 0;
    WARPGAUGE_CHECK(cudaGetDeviceFlags(&now));
    if ((now & unsigned{cudaDeviceScheduleMask}) != schedule_) {
      throw WrongResult("the context has the schedule " +
                        std::to_string(now & unsigned{cudaDeviceScheduleMask}) + ", not " +
                        std::to_string(schedule_));
    }
  }
  ~Schedule() { report_cuda_error(cudaSetDeviceFlags(before_), "cudaSetDeviceFlags"); }
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

 private:
  unsigned schedule_;
  unsigned before_ = 0;
};

/// Seconds by one of the system's clocks.
inline double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The fraction of `call` that the calling thread spent on a core.
inline double fraction_worked(const std::function<void()>& call) {
  const double begun = seconds_of(CLOCK_MONOTONIC);
  const double worked = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  call();
  return (seconds_of(CLOCK_THREAD_CPUTIME_ID) - worked) / (seconds_of(CLOCK_MONOTONIC) - begun);
}

/// Keeps the calling thread, and those it starts, on its present CPU; the destructor restores its
/// affinity.
class KeptOnOneCpu {
 public:
  /// Throws Unsupported if the system forbids it.
  KeptOnOneCpu() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t here{};
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &here);
    if (sched_setaffinity(0, sizeof(here), &here) != 0) {
      throw Unsupported("needs to keep two threads on one CPU, to show how one of them waits");
    }
  }
  ~KeptOnOneCpu() { sched_setaffinity(0, sizeof(before_), &before_); }
  KeptOnOneCpu(const KeptOnOneCpu&) = delete;
  KeptOnOneCpu& operator=(const KeptOnOneCpu&) = delete;

 private:
  cpu_set_t before_{};
};

/// A second thread on the calling thread's core that yields in a loop; both stay on this core.
class Companion {
 public:
  Companion()
      : thread_([this] {
          while (!ended_) {
            ++yields_;
            sched_yield();
          }
        }) {
    while (yields_ == 0) {
      sched_yield();
    }
  }
  ~Companion() { ended_ = true; }
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  /// How often it has run and yielded.
  std::int64_t yields() const { return yields_; }

 private:
  KeptOnOneCpu kept_;
  std::atomic<bool> ended_{false};
  std::atomic<std::int64_t> yields_{0};
  CheckedThread thread_;  // last: it ends first
};

/// What the calling thread does while it waits.
enum class Waiting : std::uint8_t { spins, yields, sleeps };

inline const char* name_of(Waiting waiting) {
  constexpr std::array<const char*, 3> names{"spins", "yields", "sleeps"};
  return names.at(static_cast<std::size_t>(waiting));
}

/// Its behaviour in a call that waits for 1 ms, beside a companion. On an H200's host it works for
/// 100 % of the wait and leaves the companion no or one iteration if it spins, 57 % and 380 if it
/// yields, and 2 % and 2800 if it sleeps.
inline Waiting seen_waiting(const Timed& timed, const Iteration& at) {
  const Companion companion;
  const std::int64_t yields = companion.yields();
  const double fraction = fraction_worked([&] {
    timed.call_with([](const Iteration& now) { detail::delay(1'000'000, now.stream); }, at);
  });
  if (fraction < 0.25) {
    return Waiting::sleeps;
  }
  return companion.yields() - yields < 30 ? Waiting::spins : Waiting::yields;
}

/// Throws WrongResult unless the thread behaves as expected in two of three waits: another process
/// may use the core in one of them.
inline void require_waiting(Waiting said, const Timed& timed, const Iteration& at) {
  constexpr int waits = 3;
  int as_said = 0;
  Waiting other = said;
  for (int i = 0; i < waits; ++i) {
    const Waiting seen = seen_waiting(timed, at);
    as_said += seen == said ? 1 : 0;
    other = seen == said ? other : seen;
  }
  if (2 * as_said < waits) {
    throw WrongResult(std::string("the waiting thread ") + name_of(other) +
                      "; this is of one that " + name_of(said));
  }
}

}  // namespace warpgauge
