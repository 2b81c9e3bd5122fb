// SPDX-License-Identifier: Apache-2.0
// The CPUs that the user gave this process.
#pragma once

#include <sched.h>

namespace warpgauge {

inline cpu_set_t allowed_cpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  return cpus;
}

/// Those before main(). In lock-step the driver restricts this process to one CPU after that.
inline const cpu_set_t cpus_at_start = allowed_cpus();

/// While it lives, the thread may use the CPUs of the start, and so may the processes that it
/// starts now: a rank that had rank 0's only CPU would take turns with it. What remains: the system
/// may put a rank on that CPU now and then. Where it forbids the change, nothing happens.
class OnCpusOfStart {
 public:
  OnCpusOfStart() : before_(allowed_cpus()) {
    sched_setaffinity(0, sizeof cpus_at_start, &cpus_at_start);
  }
  ~OnCpusOfStart() { sched_setaffinity(0, sizeof before_, &before_); }
  OnCpusOfStart(const OnCpusOfStart&) = delete;
  OnCpusOfStart& operator=(const OnCpusOfStart&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace warpgauge
