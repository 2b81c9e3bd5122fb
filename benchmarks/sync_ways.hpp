// SPDX-License-Identifier: Apache-2.0
// The ways to wait that the sync benchmarks time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

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

  /// `work` on `first`, then on the other one, which waits for that, and `first` for it.
  template <class Step>
  void go_and_return(cudaStream_t first, const Step& work) const {
    work(first);
    there.make_wait(stream.get(), first);
    work(stream.get());
    back.make_wait(first, stream.get());
  }
};

/// Throws WrongResult unless `first` takes both steps' time when `round` gives each of them one of
/// work_seconds: a wait that is missing, there or back, leaves one.
inline void require_both_waits(cudaStream_t first,
                               const std::function<void(void (*step)(cudaStream_t))>& round) {
  const Event begun;
  const Event ended;
  begun.record(first);
  round(occupy);
  ended.record(first);
  WARPGAUGE_CHECK(cudaDeviceSynchronize());
  const double seconds = seconds_between(begun, ended);
  if (!(seconds >= 1.8 * work_seconds)) {
    throw WrongResult("the stream took " + std::to_string(1e6 * seconds) +
                      " us of two steps that take " + std::to_string(2e6 * work_seconds) +
                      ": one of both streams did not wait");
  }
}

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

}  // namespace warpgauge
