// SPDX-License-Identifier: Apache-2.0
// What it costs to start an empty kernel: the call on the host, and the device's own time, by
// stream and by graph, with 0 to 4 KiB of arguments. Bound by the driver and the front end.
#include <memory>

#include "fixtures/cuda/graph.hpp"
#include "fixtures/gpu_benchmark.hpp"
#include "kernels/empty.hpp"

namespace {

using namespace warpgauge;

const Axes arguments{
    {"argument_bytes",
     {kernels::empty_argument_bytes.begin(), kernels::empty_argument_bytes.end()}}};

Work launch_empty(const GpuCase& gpu) {
  return [bytes = gpu.param("argument_bytes")](const Turn& at) {
    kernels::launch_empty(bytes, at.stream);
  };
}

/// Launches a graph of one empty kernel.
Work launch_empty_graph(GpuCase& gpu) {
  const Work launch = launch_empty(gpu);
  const Stream stream;
  const Graph graph = Graph::capture(stream.get(), [&] { launch(Turn{stream.get(), 0}); });
  const auto executable = std::make_shared<const ExecutableGraph>(graph, stream.get());
  return [executable](const Turn& at) { executable->launch(at.stream); };
}

// Host time of the call; the device keeps up, so nothing waits.
const GpuBenchmark stream_empty{"launch/stream_empty", arguments,
                                [](GpuCase& gpu) { gpu.issue(launch_empty(gpu)); }};
const GpuBenchmark graph_empty{"launch/graph_empty", arguments,
                               [](GpuCase& gpu) { gpu.issue(launch_empty_graph(gpu)); }};

// Device time from one kernel to the next: queued on a stream, and as nodes of one graph.
const GpuBenchmark stream_empty_device{"launch/stream_empty_device", arguments,
                                       [](GpuCase& gpu) { gpu.stream_period(launch_empty(gpu)); }};
const GpuBenchmark graph_empty_device{"launch/graph_empty_device", arguments,
                                      [](GpuCase& gpu) { gpu.replay(launch_empty(gpu)); }};

}  // namespace
