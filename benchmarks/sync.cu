// SPDX-License-Identifier: Apache-2.0
// What it costs to wait: each way to synchronise, with nothing to wait for and behind one empty
// kernel (then launch, run and wake-up together). Bound by the driver and the host's polling.
#include <memory>
#include <stdexcept>

#include "fixtures/cuda/event.hpp"
#include "fixtures/gpu_benchmark.hpp"
#include "kernels/empty.hpp"

namespace {

using namespace warpgauge;

/// A way to wait for everything on a stream.
using Wait = std::function<void(cudaStream_t)>;

void wait_for_stream(cudaStream_t stream) {
  WARPGAUGE_CHECK(cudaStreamSynchronize(stream));
}

void wait_for_device(cudaStream_t /*stream*/) {
  WARPGAUGE_CHECK(cudaDeviceSynchronize());
}

Wait wait_for_event() {
  const auto event = std::make_shared<const Event>();
  return [event](cudaStream_t stream) {
    event->record(stream);
    event->synchronize();
  };
}

void idle(GpuCase& gpu, const Wait& wait) {
  gpu.host_calls([=](const Turn& at) { wait(at.stream); });
}

void behind_kernel(GpuCase& gpu, const Wait& wait) {
  const auto launch_and_wait = [=](const Turn& at) {
    kernels::launch_empty(0, at.stream);
    wait(at.stream);
  };
  gpu.verify([=](const Turn& at) {
    launch_and_wait(at);
    if (cudaStreamQuery(at.stream) != cudaSuccess) {
      throw WrongResult("the call returned before the work it waits for had ended");
    }
  });
  gpu.host_calls(launch_and_wait);
}

const GpuBenchmark stream_idle{
    "sync/stream_idle", {}, [](GpuCase& gpu) { idle(gpu, wait_for_stream); }};
const GpuBenchmark device_idle{
    "sync/device_idle", {}, [](GpuCase& gpu) { idle(gpu, wait_for_device); }};
const GpuBenchmark event_idle{
    "sync/event_idle", {}, [](GpuCase& gpu) { idle(gpu, wait_for_event()); }};
const GpuBenchmark stream_busy{
    "sync/stream_behind_kernel", {}, [](GpuCase& gpu) { behind_kernel(gpu, wait_for_stream); }};
const GpuBenchmark device_busy{
    "sync/device_behind_kernel", {}, [](GpuCase& gpu) { behind_kernel(gpu, wait_for_device); }};
const GpuBenchmark event_busy{
    "sync/event_behind_kernel", {}, [](GpuCase& gpu) { behind_kernel(gpu, wait_for_event()); }};

}  // namespace
