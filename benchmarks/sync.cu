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

/// Waits behind work of 200 us: a wait that does not wait is found out. Whatever ran before, the
/// driver has then seen the stream at work since it last knew the whole device to be idle, as in
/// any program that launches and waits: cudaStreamSynchronize takes 1.3 us, and 0.2 us right after
/// a cudaDeviceSynchronize.
void verify_behind_work(GpuCase& gpu, const Wait& way) {
  gpu.verify([=](const Turn& at) {
    delay(200'000, at.stream);
    way.prepare(at.stream);
    way.wait(at.stream);
    if (cudaStreamQuery(at.stream) != cudaSuccess) {
      throw WrongResult("the call returned before the work it waits for had ended");
    }
  });
}

/// With nothing to wait for any more: the call alone, which is the core's work.
void idle(GpuCase& gpu, const Wait& way) {
  verify_behind_work(gpu, way);
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
const GpuBenchmark event_idle{"sync/event_idle", {}, [](GpuCase& gpu) { idle(gpu, for_event()); }};
const GpuBenchmark stream_busy{
    "sync/stream_behind_kernel", {}, [](GpuCase& gpu) { behind_kernel(gpu, for_stream()); }};
const GpuBenchmark device_busy{
    "sync/device_behind_kernel", {}, [](GpuCase& gpu) { behind_kernel(gpu, for_device()); }};
const GpuBenchmark event_busy{
    "sync/event_behind_kernel", {}, [](GpuCase& gpu) { behind_kernel(gpu, for_event()); }};

}  // namespace
