// SPDX-License-Identifier: Apache-2.0
// The ways to wait that the sync benchmarks time.
#pragma once

#include <ctime>
#include <functional>
#include <memory>

#include "fixtures/cuda/event.hpp"
#include "fixtures/cuda/patterns.hpp"
#include "fixtures/cuda/stream.hpp"
#include "fixtures/gpu_benchmark.hpp"
#include "kernels/empty.hpp"

namespace warpgauge {

inline constexpr double work_seconds = 200e-6;

/// Work that takes work_seconds, as the global timer counts, whose step may be 1 us.
inline void occupy(cudaStream_t stream) {
  delay(static_cast<std::uint64_t>(work_seconds * 1e9), stream);
}

/// A way to wait for everything on a stream, and what has to happen before the work is there.
struct Wait {
  std::function<void(cudaStream_t)> wait;
  std::function<void(cudaStream_t)> prepare = [](cudaStream_t) {};
};

inline Wait for_stream() {
  return {[](cudaStream_t stream) { WARPGAUGE_CHECK(cudaStreamSynchronize(stream)); }};
}

inline Wait for_device() {
  return {[](cudaStream_t) { WARPGAUGE_CHECK(cudaDeviceSynchronize()); }};
}

inline Wait for_event(unsigned flags = cudaEventDefault) {
  const auto event = std::make_shared<const Event>(flags);
  return {[event](cudaStream_t) { event->synchronize(); },
          [event](cudaStream_t stream) { event->record(stream); }};
}

inline bool has_ended(cudaStream_t stream) {
  const cudaError_t state = cudaStreamQuery(stream);
  if (state == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  WARPGAUGE_CHECK(state);
  return true;
}

/// Asks again and again.
inline Wait by_query() {
  return {[](cudaStream_t stream) {
    while (!has_ended(stream)) {
    }
  }};
}

/// An event by which one stream is made to wait for another.
struct Hop {
  Event event{cudaEventDisableTiming};
  void make_wait(cudaStream_t waiting, cudaStream_t waited_for) const {
    event.record(waited_for);
    WARPGAUGE_CHECK(cudaStreamWaitEvent(waiting, event.get()));
  }
};

/// A second stream beside the one that is timed, and a way to it and back. No more than two streams
/// (fixtures/README.md, "One stream").
struct OtherStream {
  Stream stream;
  Hop there, back;
};

/// By the other stream, which is made to wait for the first.
inline Wait by_other(const std::shared_ptr<const OtherStream>& other) {
  return {[other](cudaStream_t) { other->stream.synchronize(); },
          [other](cudaStream_t stream) { other->there.make_wait(other->stream.get(), stream); }};
}

/// Brings the driver into a state.
using Then = void (*)(cudaStream_t);

inline void as_it_is(cudaStream_t) {}

inline void know_idle(cudaStream_t) {
  WARPGAUGE_CHECK(cudaDeviceSynchronize());
}

inline void work_again(cudaStream_t stream) {
  kernels::launch_empty(0, stream);
  WARPGAUGE_CHECK(cudaStreamSynchronize(stream));
}

/// What the calling thread does while it waits for the device: a flag of the context, which can be
/// changed while it is in use (cudaSetDeviceFlags: of an initialised device "the previous flags are
/// overwritten"). Puts the earlier one back, for other benchmarks follow in this process.
class Schedule {
 public:
  explicit Schedule(unsigned schedule) {
    WARPGAUGE_CHECK(cudaGetDeviceFlags(&before_));
    WARPGAUGE_CHECK(cudaSetDeviceFlags((before_ & ~unsigned{cudaDeviceScheduleMask}) | schedule));
  }
  ~Schedule() { report_cuda_error(cudaSetDeviceFlags(before_), "cudaSetDeviceFlags"); }
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

 private:
  unsigned before_ = 0;
};

/// Seconds of a clock of the system.
inline double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Which part of `call` the calling thread spent on a core.
inline double share_worked(const std::function<void()>& call) {
  const double begun = seconds_of(CLOCK_MONOTONIC);
  const double worked = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  call();
  return (seconds_of(CLOCK_THREAD_CPUTIME_ID) - worked) / (seconds_of(CLOCK_MONOTONIC) - begun);
}

}  // namespace warpgauge
