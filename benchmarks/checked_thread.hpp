// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <thread>
#include <utility>

namespace warpgauge {

/// A thread that the destructor joins. join() rethrows what the thread threw.
class CheckedThread {
 public:
  template <class Run>
  explicit CheckedThread(Run run)
      : thread_([this, run = std::move(run)] {
          try {
            run();
          } catch (...) {
            failure_ = std::current_exception();
          }
        }) {}
  ~CheckedThread() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  CheckedThread(const CheckedThread&) = delete;
  CheckedThread& operator=(const CheckedThread&) = delete;

  /// Waits for the end of the thread. Call it at most once.
  void join() {
    thread_.join();
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  std::exception_ptr failure_;
  std::thread thread_;  // last: it begins when all else is there
};

}  // namespace warpgauge
