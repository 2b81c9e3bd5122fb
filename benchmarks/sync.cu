// SPDX-License-Identifier: Apache-2.0
// The cost of waiting: each way to synchronise, with nothing to wait for and after one empty kernel
// (then launch, run and wake-up together, and for an event its recording). Bound by the driver and
// the host's polling, unless a variant says otherwise.
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <warpgauge/gpu_benchmark.hpp>
#include "benchmarks/launch_proof.hpp"
#include "benchmarks/sync_threads.hpp"
#include "benchmarks/sync_ways.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/launch/probes.hpp"

namespace {

using namespace warpgauge;

/// Waits after a kernel, which detects a wait that does not wait.
void verify_behind_work(GpuCase& gpu, const Wait& way, Then then = as_it_is) {
  gpu.verify([=](const Iteration& at) {
    occupy(at.stream);
    way.prepare(at);
    way.wait(at);
    require_ended(at.stream);
    then(at.stream);
  });
}

/// With nothing left to wait for: the call alone, which is CPU time. It depends on whether the
/// driver knows that the whole device is idle, as it does from a cudaDeviceSynchronize to the next
/// launch. Then both a stream and an event take 0.2 us, otherwise 1.3 us. A stream is measured as a
/// program that launches and waits leaves it, an event on a device that is known to be idle, and
/// each in the other state.
auto idle(Wait (*make)(), Then then = as_it_is) {
  return [=](GpuCase& gpu) {
    const Wait way = make();
    verify_behind_work(gpu, way, then);
    gpu.issue(way.wait);
  };
}

void launch_empty(const Iteration& at) {
  kernels::launch_empty(0, at.stream);
}

Timed behind_empty(GpuCase& gpu, const Wait& way) {
  const Timed timed = launch_and_wait(one_empty(gpu, 0, launch_empty), way);
  gpu.verify([=](const Iteration& at) { require_waits(timed, at); });
  return timed;
}

auto behind_kernel(Wait (*make)()) {
  return [=](GpuCase& gpu) { gpu.host_calls(behind_empty(gpu, make()).call); };
}

const Axes full_suite{in_full_suite};

const GpuBenchmark plain[] = {
    // These three read 0.25, 0.35 and 0.18 us on hosts with one H200, and 1.3 to 1.4 us on one with
    // two, whichever of them is visible: too far apart for the default suite.
    {"sync/stream_idle", full_suite, idle(for_stream)},
    {"sync/device_idle", full_suite, idle(for_device)},
    {"sync/event_idle", full_suite, idle(for_event<>, know_idle)},
    {"sync/stream_known_idle", full_suite, idle(for_stream, know_idle)},
    {"sync/event_after_work", full_suite, idle(for_event<>, work_again)},
    {"sync/query_after_work", full_suite, idle(by_query)},
    {"sync/stream_behind_kernel", {}, behind_kernel(for_stream)},
    {"sync/device_behind_kernel", {}, behind_kernel(for_device)},
    {"sync/event_behind_kernel", {}, behind_kernel(for_event<>)},
    {"sync/query_behind_kernel", full_suite, behind_kernel(by_query)},
};

// ---- What the thread does while it waits. ----

auto behind_kernel(Wait (*make)(), Waiting thread) {
  return [=](GpuCase& gpu) {
    const Timed timed = behind_empty(gpu, make());
    gpu.verify([=](const Iteration& at) { require_waiting(thread, timed, at); });
    gpu.host_calls(timed.call);
  };
}

auto scheduled(unsigned schedule, Waiting thread) {
  return [=](GpuCase& gpu) {
    const Schedule during(schedule);
    gpu.verify([&](const Iteration&) { during.require_in_force(); });
    behind_kernel(for_stream, thread)(gpu);
  };
}

// Bound by the next poll for spinning (CUDA's default), by the scheduler's round for yielding, and
// by the interrupt and the thread's wake-up for the others.
const GpuBenchmark by_waiting[] = {
    {"sync/spin_behind_kernel", full_suite, scheduled(cudaDeviceScheduleSpin, Waiting::spins)},
    {"sync/yield_behind_kernel", full_suite, scheduled(cudaDeviceScheduleYield, Waiting::yields)},
    {"sync/blocking_behind_kernel", full_suite,
     scheduled(cudaDeviceScheduleBlockingSync, Waiting::sleeps)},
    {"sync/blocking_event_behind_kernel", full_suite,
     behind_kernel(for_event<cudaEventBlockingSync>, Waiting::sleeps)},
};

// ---- One stream waits for another. ----

Wait by_second_stream() {
  return by_other(std::make_shared<const OtherStream>());
}

void issue_stream_wait(GpuCase& gpu) {
  const Wait way = by_second_stream();
  verify_behind_work(gpu, way);
  gpu.issue(way.prepare);
}

void issue_there_and_back(GpuCase& gpu) {
  const Timed timed = there_and_back(launch_empty, std::make_shared<const OtherStream>());
  gpu.verify([=](const Iteration& at) {
    require_both_waits(timed, at);
    require_launches(timed.call, kernels::empty_kernel(0), 2, at);
  });
  gpu.stream_period(timed.call);
}

// Host time of the two calls; device time of an empty kernel on each of two streams that wait for
// each other; time from launching a kernel on one until the host learns its end from the other.
const GpuBenchmark two_streams[] = {
    {"sync/stream_wait_event", {}, issue_stream_wait},
    {"sync/stream_wait_event_device", {}, issue_there_and_back},
    {"sync/other_stream_behind_kernel", full_suite, behind_kernel(by_second_stream)},
};

// ---- The device calls the host. ----

/// Counts, on a thread of the driver, how often it is called.
struct Called {
  std::atomic<std::int64_t> times{0};
  std::int64_t wanted = 0;
  static void CUDART_CB count(void* called) { ++static_cast<Called*>(called)->times; }
  static void CUDART_CB call_back(cudaStream_t, cudaError_t, void* called) { count(called); }
};

void host_function(cudaStream_t stream, Called* called) {
  WARPGAUGE_CHECK(cudaLaunchHostFunc(stream, Called::count, called));
}

void callback(cudaStream_t stream, Called* called) {
  WARPGAUGE_CHECK(cudaStreamAddCallback(stream, Called::call_back, called, 0));
}

Operation calling(GpuCase& gpu, void (*enqueue)(cudaStream_t, Called*)) {
  const auto called = std::make_shared<Called>();
  gpu.verify([called](const Iteration&) {
    if (called->times != called->wanted) {
      throw WrongResult("the host was called " + std::to_string(called->times) + " times, not " +
                        std::to_string(called->wanted));
    }
  });
  return [=](const Iteration& at) {
    ++called->wanted;
    enqueue(at.stream, called.get());
  };
}

auto call_behind_kernel(void (*enqueue)(cudaStream_t, Called*)) {
  return [=](GpuCase& gpu) {
    const Wait way{.wait = for_stream().wait, .prepare = calling(gpu, enqueue)};
    gpu.host_calls(behind_empty(gpu, way).call);
  };
}

// Kernel, call and the caller's own wait together: bound by the wake-up of the driver's thread.
// Like every wake-up of a thread it has two states, 17 and 50 us on equal machines, so these are
// not in the default suite. Alone: host time of putting the call on the stream.
const GpuBenchmark calls[] = {
    {"sync/host_function_behind_kernel", full_suite, call_behind_kernel(host_function)},
    {"sync/callback_behind_kernel", full_suite, call_behind_kernel(callback)},
    {"sync/host_function", full_suite,
     [](GpuCase& gpu) { gpu.issue(calling(gpu, host_function)); }},
};

// ---- A scalar for the host from each of many kernels. ----

/// Copies `count` scalars to the host and waits, after every `count` of the kernels that make them.
void read_back(GpuCase& gpu, std::size_t count) {
  const std::size_t steps = gpu.param("steps");
  const auto in = gpu.input<float>(steps);
  const auto scalars = gpu.output<float>(steps);
  const auto host = gpu.output<float>(steps, Memory::pageable);
  for (const auto& output : {scalars, host}) {
    gpu.verify(output, {.relative = 2 * unit_roundoff<float>},
               [=](const Iteration& at, Window window, double* expected) {
                 kernels::transform_reference<kernels::Square>(in[at] + window.first, expected,
                                                               window.count, at.stream);
               });
  }
  gpu.host_calls([=](const Iteration& at) {
    for (std::size_t step = 0; step < steps; ++step) {
      kernels::transform_scalar<kernels::Square>(in[at] + step, scalars[at] + step, 1, at.stream);
      if ((step + 1) % count == 0) {
        const std::size_t first = step + 1 - count;
        WARPGAUGE_CHECK(cudaMemcpyAsync(host[at] + first, scalars[at] + first,
                                        count * sizeof(float), cudaMemcpyDeviceToHost, at.stream));
        WARPGAUGE_CHECK(cudaStreamSynchronize(at.stream));
      }
    }
  });
}

// Each step waits for its own scalar, as .item() does: bound by a launch, a copy and a wake-up per
// step. Batched, one copy follows all launches: bound by the launches.
const GpuBenchmark scalars[] = {
    {"sync/scalar_each_step", {{"steps", {16}, {1}}}, [](GpuCase& gpu) { read_back(gpu, 1); }},
    {"sync/scalars_batched",
     {{"steps", {16}}},
     [](GpuCase& gpu) { read_back(gpu, gpu.param("steps")); }},
};

// ---- Events themselves. ----

using Replaceable = std::shared_ptr<std::optional<Event>>;

/// Recorded behind a kernel, the event must have its time.
Replaceable verified_event(GpuCase& gpu) {
  const auto event = std::make_shared<std::optional<Event>>(std::in_place);
  gpu.verify([event](const Iteration& at) {
    const Event begun;
    begun.record(at.stream);
    occupy(at.stream);
    (*event)->record(at.stream);
    (*event)->synchronize();
    if (!(seconds_between(begun, **event) >= 0.9 * work_seconds)) {
      throw WrongResult("the event has less than the time of the kernel in front of it");
    }
  });
  return event;
}

/// Two events with a kernel between them, both reached.
struct Elapsed {
  Event begun, ended;
  double seconds = 0;
};

void elapsed(GpuCase& gpu) {
  const auto pair = std::make_shared<Elapsed>();
  const Stream stream;
  pair->begun.record(stream.get());
  occupy(stream.get());
  pair->ended.record(stream.get());
  stream.synchronize();
  gpu.verify([pair](const Iteration&) {
    if (!(pair->seconds >= 0.9 * work_seconds && pair->seconds < 100 * work_seconds)) {
      throw WrongResult("the events are " + std::to_string(pair->seconds) + " s apart, not 200 us");
    }
  });
  gpu.host_calls(
      [=](const Iteration&) { pair->seconds = seconds_between(pair->begun, pair->ended); });
}

// Creating an event includes the destruction of the one before.
const GpuBenchmark event_create{"sync/event_create", {}, [](GpuCase& gpu) {
                                  const Replaceable event = verified_event(gpu);
                                  gpu.host_calls([=](const Iteration&) { event->emplace(); });
                                }};
const GpuBenchmark event_record{
    "sync/event_record", {}, [](GpuCase& gpu) {
      const Replaceable event = verified_event(gpu);
      gpu.issue([=](const Iteration& at) { (*event)->record(at.stream); });
    }};
const GpuBenchmark event_elapsed{"sync/event_elapsed", {}, elapsed};

}  // namespace
