// SPDX-License-Identifier: Apache-2.0
// What it costs to wait: each way to synchronise, with nothing to wait for and behind one empty
// kernel (then launch, run and wake-up together, and for an event its recording). Bound by the
// driver and the host's polling.
#include <memory>
#include <stdexcept>

#include "fixtures/cuda/event.hpp"
#include "fixtures/gpu_benchmark.hpp"
#include "kernels/empty.hpp"

namespace {

using namespace warpgauge;

/// A way to wait for everything on a stream, and what has to happen before the work is there.
struct Wait {
  std::function<void(cudaStream_t)> wait;
  std::function<void(cudaStream_t)> prepare = [](cudaStream_t) {};
};

Wait for_stream() {
  return {[](cudaStream_t stream) { WARPGAUGE_CHECK(cudaStreamSynchronize(stream)); }};
}

Wait for_device() {
  return {[](cudaStream_t) { WARPGAUGE_CHECK(cudaDeviceSynchronize()); }};
}

Wait for_event() {
  const auto event = std::make_shared<const Event>();
  return {[event](cudaStream_t) { event->synchronize(); },
          [event](cudaStream_t stream) { event->record(stream); }};
}

/// Waits behind work of 200 us: a wait that does not wait is found out. `then` brings the driver
/// into the state that is measured.
void verify_behind_work(GpuCase& gpu, const Wait& way, const std::function<void()>& then = [] {}) {
  gpu.verify([=](const Turn& at) {
    delay(200'000, at.stream);
    way.prepare(at.stream);
    way.wait(at.stream);
    if (cudaStreamQuery(at.stream) != cudaSuccess) {
      throw WrongResult("the call returned before the work it waits for had ended");
    }
    then();
  });
}

/// With nothing to wait for any more: the call alone, which is the core's work. What it takes
/// depends on whether the driver knows the whole device to be idle, as it does from a
/// cudaDeviceSynchronize to the next work. Then the stream's takes 0.2 us and the event's too, else
/// both take 1.3 us. A stream is measured as a program leaves it that launches and waits, an event
/// on a device that is known to be idle.
void idle(GpuCase& gpu, const Wait& way, const std::function<void()>& then = [] {}) {
  verify_behind_work(gpu, way, then);
  gpu.issue([=](const Turn& at) { way.wait(at.stream); });
}

void behind_kernel(GpuCase& gpu, const Wait& way) {
  verify_behind_work(gpu, way);
  gpu.host_calls([=](const Turn& at) {
    kernels::launch_empty(0, at.stream);
    way.prepare(at.stream);
    way.wait(at.stream);
  });
}

const GpuBenchmark stream_idle{
    "sync/stream_idle", {}, [](GpuCase& gpu) { idle(gpu, for_stream()); }};
const GpuBenchmark device_idle{
    "sync/device_idle", {}, [](GpuCase& gpu) { idle(gpu, for_device()); }};
const GpuBenchmark event_idle{"sync/event_idle", {}, [](GpuCase& gpu) {
                                idle(gpu, for_event(),
                                     [] { WARPGAUGE_CHECK(cudaDeviceSynchronize()); });
                              }};
const GpuBenchmark stream_busy{
    "sync/stream_behind_kernel", {}, [](GpuCase& gpu) { behind_kernel(gpu, for_stream()); }};
const GpuBenchmark device_busy{
    "sync/device_behind_kernel", {}, [](GpuCase& gpu) { behind_kernel(gpu, for_device()); }};
const GpuBenchmark event_busy{
    "sync/event_behind_kernel", {}, [](GpuCase& gpu) { behind_kernel(gpu, for_event()); }};

}  // namespace
