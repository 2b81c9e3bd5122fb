// SPDX-License-Identifier: Apache-2.0
// The ways to wait that the sync benchmarks time, and how each is verified.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <warpgauge/cuda/sm_clock.hpp>
#include <warpgauge/cuda/stream.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "benchmarks/launch_proof.hpp"
#include "kernels/launch/probes.hpp"

namespace warpgauge {

inline constexpr double work_seconds = 200e-6;

/// An operation that takes work_seconds by the global timer, whose step may be 1 us.
inline void occupy(cudaStream_t stream) {
  detail::delay(static_cast<std::uint64_t>(work_seconds * 1e9), stream);
}

/// A way to wait for everything on a stream, and what must follow the operation before the wait.
struct Wait {
  Operation wait;
  Operation prepare = [](const Iteration&) {};
};

inline Wait for_stream() {
  return {[](const Iteration& at) { WARPGAUGE_CHECK(cudaStreamSynchronize(at.stream)); }};
}

inline Wait for_device() {
  return {[](const Iteration&) { WARPGAUGE_CHECK(cudaDeviceSynchronize()); }};
}

template <unsigned flags = cudaEventDefault>
Wait for_event() {
  const auto event = std::make_shared<const Event>(flags);
  return {[event](const Iteration&) { event->synchronize(); },
          [event](const Iteration& at) { event->record(at.stream); }};
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

/// Polls.
inline Wait by_query() {
  return {[](const Iteration& at) {
    while (!has_ended(at.stream)) {
    }
  }};
}

inline void require_ended(cudaStream_t stream) {
  if (!has_ended(stream)) {
    throw WrongResult("the call returned before the operation it waits for had ended");
  }
}

/// The timed `call`, which launches `*kernel`. An empty kernel cannot prove a wait, so a longer one
/// takes its place while this same call is verified.
struct Timed {
  std::shared_ptr<Operation> kernel;
  Operation call;

  /// Makes the call once, with `other` as the kernel.
  void call_with(Operation other, const Iteration& at) const {
    other.swap(*kernel);
    call(at);
    other.swap(*kernel);
  }
};

/// Launches `kernel`, and waits for it.
inline Timed launch_and_wait(const Operation& kernel, const Wait& way) {
  const auto launched = std::make_shared<Operation>(kernel);
  return {launched, [=](const Iteration& at) {
            (*launched)(at);
            way.prepare(at);
            way.wait(at);
          }};
}

/// Throws WrongResult unless the call launches its kernel once and returns after its end.
inline void require_waits(const Timed& timed, const Iteration& at) {
  Tally tally;
  const Operation count = tally.counting(1);
  timed.call_with(
      [&](const Iteration& now) {
        count(now);
        occupy(now.stream);
      },
      at);
  require_ended(at.stream);
  tally.launched(1);
  tally.require(at.stream);
}

/// An event on which one stream waits for another.
struct Hop {
  Event event{cudaEventDisableTiming};
  void make_wait(cudaStream_t waiting, cudaStream_t waited_for) const {
    event.record(waited_for);
    WARPGAUGE_CHECK(cudaStreamWaitEvent(waiting, event.get()));
  }
};

/// A second stream beside the timed one. No more than two: docs/pages/engine.md, "One stream".
struct OtherStream {
  Stream stream;
  Hop there, back;
};

/// `kernel`, then again on the other stream, which waits for it; the first stream waits for both.
inline Timed there_and_back(const Operation& kernel,
                            const std::shared_ptr<const OtherStream>& other) {
  const auto launched = std::make_shared<Operation>(kernel);
  return {launched, [=](const Iteration& at) {
            const cudaStream_t second = other->stream.get();
            (*launched)(at);
            other->there.make_wait(second, at.stream);
            (*launched)({second, at.slot});
            other->back.make_wait(at.stream, second);
          }};
}

/// Throws WrongResult unless the iteration's stream takes the time of both kernels, work_seconds
/// each: if one of the two waits is missing, it takes the time of one.
inline void require_both_waits(const Timed& timed, const Iteration& at) {
  const Event begun;
  const Event ended;
  begun.record(at.stream);
  timed.call_with([](const Iteration& now) { occupy(now.stream); }, at);
  ended.record(at.stream);
  WARPGAUGE_CHECK(cudaDeviceSynchronize());
  const double seconds = seconds_between(begun, ended);
  if (!(seconds >= 1.8 * work_seconds)) {
    throw WrongResult("the stream took " + std::to_string(1e6 * seconds) +
                      " us of two kernels that take " + std::to_string(2e6 * work_seconds) +
                      ": one of both streams did not wait");
  }
}

/// Waits on the other stream, which waits for the first.
inline Wait by_other(const std::shared_ptr<const OtherStream>& other) {
  return {[other](const Iteration&) { other->stream.synchronize(); },
          [other](const Iteration& at) { other->there.make_wait(other->stream.get(), at.stream); }};
}

/// Puts the driver into a state.
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
