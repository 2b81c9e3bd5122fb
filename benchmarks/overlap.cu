// SPDX-License-Identifier: Apache-2.0
// Copies beside computation, and kernels beside each other, in 1 to 8 streams: 32 MiB go to the
// device in chunks, are computed with, and come back. Bound by the longest of the three stages, the
// time of a perfect overlap (`copies_alone`, `compute_alone`); one stream takes their sum. `bytes`
// counts one way. limit_fraction is relative to the pinned copy to the device, so it says how near
// a pipeline comes to hiding everything else; one stream can reach a third. On an H200 with 16
// chunks: one stream 2.14 ms, two 1.16, four 0.84, both copies alone 0.66.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <warpgauge/cuda/stream.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "kernels/launch/lcg.hpp"
#include "kernels/launch/probes.hpp"

namespace {

using namespace warpgauge;

constexpr std::size_t total_bytes = std::size_t{32} << 20;
constexpr std::size_t total = total_bytes / sizeof(std::int32_t);

// On an H200, computing with an element takes as long as its transfer (0.6 ms for all).
constexpr unsigned rounds = 1200;

/// The streams of the family: the engine's own and seven more. A process that has once had eight
/// streams runs the kernels of a graph slower for the rest of its life (docs/pages/engine.md). So
/// every body here first creates them, and the order of the benchmarks does not matter. For the
/// same reason, they are never destroyed.
class Lanes {
 public:
  static constexpr std::size_t most = 8;

  static const Lanes& of_process() {
    static const auto* const lanes = new Lanes;
    return *lanes;
  }

  using StreamOf = std::function<cudaStream_t(std::size_t lane)>;

  /// What `issue` puts on `count` streams starts together, after earlier work on the iteration's
  /// stream. That is the first of them, and continues when all have ended.
  void run(std::size_t count, const Iteration& at,
           const std::function<void(const StreamOf&)>& issue) const {
    begun_.record(at.stream);
    for (std::size_t i = 0; i + 1 < count; ++i) {
      WARPGAUGE_CHECK(cudaStreamWaitEvent(others_.at(i).get(), begun_.get()));
    }
    issue([&](std::size_t lane) { return lane == 0 ? at.stream : others_.at(lane - 1).get(); });
    for (std::size_t i = 0; i + 1 < count; ++i) {
      ended_.at(i).record(others_.at(i).get());
      WARPGAUGE_CHECK(cudaStreamWaitEvent(at.stream, ended_.at(i).get()));
    }
  }

 private:
  std::array<Stream, most - 1> others_;
  std::array<Event, most - 1> ended_;
  Event begun_;
};

void copy(const void* from, void* to, std::size_t bytes, cudaStream_t stream) {
  WARPGAUGE_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
}

void verify_rounds(GpuCase& gpu, const Buffer<std::int32_t>& output,
                   const Buffer<std::int32_t>& input) {
  gpu.verify(output, {}, [=](const Iteration& at, Window window, double* expected) {
    kernels::lcg_reference(input[at] + window.first, expected, window.count, rounds, at.stream);
  });
}

/// Each chunk goes to the device, is computed with, and comes back, on the next of the streams.
Operation pipeline(GpuCase& gpu) {
  const std::size_t streams = gpu.param("streams", 1, Lanes::most);
  const std::size_t chunk = total / gpu.param("chunks", 1, total);
  const auto in = gpu.input<std::int32_t>(total, Memory::pinned);
  const auto arrived = gpu.output<std::int32_t>(total);
  const auto computed = gpu.output<std::int32_t>(total);
  const auto out = gpu.output<std::int32_t>(total, Memory::pinned);
  gpu.moves_bytes(total_bytes, Traffic::host_to_device);
  gpu.verify_copy(arrived, in);
  verify_rounds(gpu, computed, in);
  verify_rounds(gpu, out, in);
  return [=, &lanes = Lanes::of_process()](const Iteration& at) {
    lanes.run(streams, at, [&](const Lanes::StreamOf& stream_of) {
      for (std::size_t first = 0; first < total; first += chunk) {
        const cudaStream_t stream = stream_of(first / chunk % streams);
        const std::size_t count = std::min(chunk, total - first);
        const std::size_t bytes = count * sizeof(std::int32_t);
        copy(in[at] + first, arrived[at] + first, bytes, stream);
        kernels::lcg_rounds(arrived[at] + first, computed[at] + first, count, rounds, stream);
        copy(computed[at] + first, out[at] + first, bytes, stream);
      }
    });
  };
}

/// Both copies of a pipeline at once and nothing else: the bus in both directions.
void copies_alone(GpuCase& gpu) {
  const auto in = gpu.input<std::int32_t>(total, Memory::pinned);
  const auto arrived = gpu.output<std::int32_t>(total);
  const auto computed = gpu.input<std::int32_t>(total);
  const auto out = gpu.output<std::int32_t>(total, Memory::pinned);
  gpu.moves_bytes(2 * total_bytes, std::nullopt);
  gpu.verify_copy(arrived, in);
  gpu.verify_copy(out, computed);
  gpu.replay([=, &lanes = Lanes::of_process()](const Iteration& at) {
    lanes.run(2, at, [&](const Lanes::StreamOf& stream_of) {
      copy(in[at], arrived[at], total_bytes, stream_of(0));
      copy(computed[at], out[at], total_bytes, stream_of(1));
    });
  });
}

/// All of a pipeline's computation in one kernel: integer arithmetic.
void compute_alone(GpuCase& gpu) {
  Lanes::of_process();
  const auto in = gpu.input<std::int32_t>(total);
  const auto out = gpu.output<std::int32_t>(total);
  gpu.moves_bytes(2 * total_bytes);
  verify_rounds(gpu, out, in);
  gpu.replay(
      [=](const Iteration& at) { kernels::lcg_rounds(in[at], out[at], total, rounds, at.stream); });
}

/// Eight kernels of one block each, of 20 us on an H200 (at 1.98 GHz): one after the other in one
/// stream, all at once in eight. Bound by the longest stream, and by the launches.
Operation small_kernels(GpuCase& gpu) {
  constexpr std::size_t count = 8;
  constexpr std::uint64_t cycles = 39'600;
  const std::size_t streams = gpu.param("streams", 1, Lanes::most);
  const auto done = gpu.output<float>(count * kernels::spin_threads);
  gpu.moves_bytes(done.count() * sizeof(float), std::nullopt);
  gpu.verify(done, {}, [](const Iteration& at, Window window, double* expected) {
    std::vector<double> numbers(window.count);
    for (std::size_t i = 0; i < window.count; ++i) {
      numbers[i] = static_cast<double>((window.first + i) % kernels::spin_threads);
    }
    copy(numbers.data(), expected, window.count * sizeof(double), at.stream);
    WARPGAUGE_CHECK(cudaStreamSynchronize(at.stream));
  });
  return [=, &lanes = Lanes::of_process()](const Iteration& at) {
    lanes.run(streams, at, [&](const Lanes::StreamOf& stream_of) {
      for (std::size_t i = 0; i < count; ++i) {
        kernels::spin(cycles, 1, done[at] + i * kernels::spin_threads, stream_of(i % streams));
      }
    });
  };
}

const Axes chunked{{"streams", {1, 2, 4}, {8}}, {"chunks", {16}, {4, 64}}};
const Axes chunked_and_issued{{"streams", {4}, {1, 2, 8}}, {"chunks", {16}, {4, 64}}};

const GpuBenchmark in_a_graph{"overlap/pipeline", chunked,
                              [](GpuCase& gpu) { gpu.replay(pipeline(gpu)); }};
const GpuBenchmark issued{"overlap/pipeline_issued", chunked_and_issued,
                          [](GpuCase& gpu) { gpu.host_calls(synchronised(pipeline(gpu))); }};
const GpuBenchmark only_copies{"overlap/copies_alone", {}, copies_alone};
const GpuBenchmark only_compute{"overlap/compute_alone", {}, compute_alone};

const GpuBenchmark small_in_a_graph{"overlap/small_kernels",
                                    {{"streams", {1, 8}, {2, 4}}},
                                    [](GpuCase& gpu) { gpu.replay(small_kernels(gpu)); }};
const GpuBenchmark small_issued{
    "overlap/small_kernels_issued", {{"streams", {}, {1, 2, 4, 8}}}, [](GpuCase& gpu) {
      gpu.host_calls(synchronised(small_kernels(gpu)));
    }};

}  // namespace
