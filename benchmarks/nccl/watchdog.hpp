// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace warpgauge {

/// Ends this process if a call into NCCL or CUDA does not return: nothing else can interrupt one.
/// The runner then measures the benchmarks that are left in another process.
class Watchdog {
 public:
  Watchdog() : thread_([this] { run(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Unless disarm() or another arm() comes within `patience`, calls `why`, writes the sentence
  /// that it returns to standard error, and ends the process with status 1. `why` runs in a thread
  /// of the watchdog, which disarm() waits for.
  void arm(std::chrono::milliseconds patience, std::function<std::string()> why) {
    set(Clock::now() + patience, std::move(why));
  }
  void disarm() { set({}, nullptr); }

 private:
  using Clock = std::chrono::steady_clock;

  void set(Clock::time_point until, std::function<std::string()> why) {
    {
      const std::lock_guard lock(mutex_);
      until_ = until;
      why_ = std::move(why);
    }
    changed_.notify_all();
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      if (!why_) {
        changed_.wait(lock);
      } else if (Clock::now() < until_) {
        changed_.wait_until(lock, until_);
      } else {
        std::fprintf(stderr, "warpgauge: %s\n", why_().c_str());
        std::_Exit(1);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point until_;
  std::function<std::string()> why_;
  bool stopped_ = false;
  std::thread thread_;  // last: it begins when all else is there
};

}  // namespace warpgauge
