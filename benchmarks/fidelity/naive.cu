// SPDX-License-Identifier: Apache-2.0
// One kernel under the timers that its author would write first, and under those of popular tools:
// what scripts/warpgauge fidelity naive holds against CUPTI. None of them is what this project
// measures by. The kernel is fidelity/square, on one pair of buffers, as a user has them; the
// program bench_fidelity verifies it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <warpgauge/core/benchmark_case.hpp>
#include <warpgauge/core/measurement.hpp>
#include <warpgauge/core/registration.hpp>
#include <warpgauge/core/statistics.hpp>
#include <warpgauge/core/units.hpp>
#include <warpgauge/cuda/device.hpp>
#include <warpgauge/cuda/device_array.hpp>
#include <warpgauge/cuda/graph.hpp>
#include <warpgauge/cuda/seeded_data.hpp>
#include <warpgauge/cuda/stream.hpp>
#include <warpgauge/program/suite.hpp>
#include "benchmarks/fidelity/hard_kernels.cuh"
#include "kernels/elementwise/elementwise.hpp"

namespace {

using namespace warpgauge;
using HostClock = std::chrono::steady_clock;
using Seconds = std::vector<double>;  // of one launch, by each sample

double seconds_since(HostClock::time_point start) {
  return std::chrono::duration<double>(HostClock::now() - start).count();
}

using Launch = std::function<void(const float*, float*, cudaStream_t)>;

class Kernel {
 public:
  Kernel(std::size_t n, Launch launch) : in_(n), out_(n), launch_(std::move(launch)) {
    constexpr std::uint64_t seed = 20;  // any: zeros would time faster than other values
    detail::fill_seeded(in_.data(), n, seed, 0, stream());
    synchronize();
  }
  cudaStream_t stream() const noexcept { return stream_.get(); }
  void synchronize() const { stream_.synchronize(); }
  void launch() { launch_(in_.data(), out_.data(), stream()); }

 private:
  DeviceArray<float> in_;
  DeviceArray<float> out_;
  Launch launch_;
  Stream stream_;
  DeviceWait ends_before_its_buffers_;
};

constexpr int single_launches = 200;

/// (a) The clock stops when the launch call returns.
Seconds host_unsynchronised(Kernel& kernel) {
  Seconds seconds;
  for (int i = 0; i < single_launches; ++i) {
    const auto start = HostClock::now();
    kernel.launch();
    seconds.push_back(seconds_since(start));
    kernel.synchronize();  // a full queue would make the call wait
  }
  return seconds;
}

/// (b) The clock stops when the host knows that the kernel has ended.
Seconds host_synchronised(Kernel& kernel) {
  Seconds seconds;
  for (int i = 0; i < single_launches; ++i) {
    const auto start = HostClock::now();
    kernel.launch();
    kernel.synchronize();
    seconds.push_back(seconds_since(start));
  }
  return seconds;
}

/// (c) Two events around one launch.
Seconds event_pair(Kernel& kernel) {
  const Event start;
  const Event stop;
  Seconds seconds;
  for (int i = 0; i < single_launches; ++i) {
    start.record(kernel.stream());
    kernel.launch();
    stop.record(kernel.stream());
    stop.synchronize();
    seconds.push_back(seconds_between(start, stop));
  }
  return seconds;
}

/// How often `work`, which takes as long as it does five times in a row, fits into `budget_seconds`
/// of the device: both of Triton's loops find their length so.
template <class Work>
std::size_t repetitions(const Kernel& kernel, double budget_seconds, const Work& work) {
  constexpr int trials = 5;
  const Event start;
  const Event stop;
  start.record(kernel.stream());
  for (int i = 0; i < trials; ++i) {
    work();
  }
  stop.record(kernel.stream());
  stop.synchronize();
  const double fit = budget_seconds * trials / seconds_between(start, stop);
  return static_cast<std::size_t>(std::max(1.0, fit));
}

/// (d) As triton.testing.do_bench: many launches queued, each within an event pair and behind a
/// memset of 256 MiB, which evicts the L2.
Seconds do_bench(Kernel& kernel) {
  constexpr double budget_seconds = 0.1;
  DeviceArray<char> evicting(256 * mebi);
  const auto evict = [&] { evicting.fill_bytes(0, kernel.stream()); };
  const std::size_t count = repetitions(kernel, budget_seconds, [&] {
    evict();
    kernel.launch();
  });
  const std::vector<Event> starts(count);
  const std::vector<Event> stops(count);
  for (std::size_t i = 0; i < count; ++i) {
    evict();
    starts[i].record(kernel.stream());
    kernel.launch();
    stops[i].record(kernel.stream());
  }
  kernel.synchronize();
  Seconds seconds;
  for (std::size_t i = 0; i < count; ++i) {
    seconds.push_back(seconds_between(starts[i], stops[i]));
  }
  return seconds;
}

/// (e) As triton.testing.do_bench_cudagraph: ten replays of a graph of many launches, all on the
/// same buffers and without eviction.
Seconds do_bench_cudagraph(Kernel& kernel) {
  constexpr double budget_seconds = 0.02;
  constexpr int replays = 10;
  const std::size_t count = repetitions(kernel, budget_seconds, [&] { kernel.launch(); });
  const ExecutableGraph graph(Graph::capture(kernel.stream(), [&] {
    for (std::size_t i = 0; i < count; ++i) {
      kernel.launch();
    }
  }));
  const Event start;
  const Event stop;
  Seconds seconds;
  for (int i = 0; i < replays; ++i) {
    start.record(kernel.stream());
    graph.launch(kernel.stream());
    stop.record(kernel.stream());
    stop.synchronize();
    seconds.push_back(seconds_between(start, stop) / static_cast<double>(count));
  }
  return seconds;
}

class NaiveCase : public BenchmarkCase {
 public:
  using BenchmarkCase::BenchmarkCase;

  /// The median of what a timer read of the kernel over `n` elements, on a GPU that was busy for
  /// 25 ms before, so that no timer is blamed for a clock that has yet to come up.
  void measure(Seconds (*timer)(Kernel&), std::size_t n, const Launch& launch) {
    constexpr double warm_up_seconds = 0.025;
    Kernel kernel(n, launch);
    for (const auto start = HostClock::now(); seconds_since(start) < warm_up_seconds;) {
      kernel.launch();
      kernel.synchronize();
    }
    Seconds seconds = timer(kernel);
    std::sort(seconds.begin(), seconds.end());
    const double median = quantile(seconds, 0.5);
    const auto launches = static_cast<std::int64_t>(seconds.size());
    Timing timing;
    timing.samples = {.seconds_per_operation = std::move(seconds), .operations = launches};
    timing.seconds_per_operation = median;
    finish({timing});
  }
};

struct Timer {
  const char* name;
  Seconds (*read)(Kernel&);
};

constexpr Timer timers[] = {
    {"host_unsynchronised", host_unsynchronised},
    {"host_synchronised", host_synchronised},
    {"event_pair", event_pair},
    {"do_bench", do_bench},
    {"do_bench_cudagraph", do_bench_cudagraph},
};

/// Registers what all timers say of a kernel.
std::vector<Registration<NaiveCase>> naive(const std::string& suffix, const Axes& axes,
                                           const std::function<Launch(NaiveCase&)>& make,
                                           std::size_t fixed = 0) {
  std::vector<Registration<NaiveCase>> all;
  for (const Timer& timer : timers) {
    all.push_back({"naive/" + std::string(timer.name) + suffix, axes, [=](NaiveCase& naive) {
                     naive.measure(timer.read, fixed != 0 ? fixed : naive.param("n"), make(naive));
                   }});
  }
  return all;
}

const auto squares =
    naive("/f32", {{"n", {4 << 10, 256 << 10, 2 << 20, 16 << 20, 128 << 20}}},
          [](NaiveCase& naive) -> Launch {  // as fidelity/square
            return [n = naive.param("n")](const float* in, float* out, cudaStream_t stream) {
              kernels::transform_vector<kernels::Square>(in, out, n, stream);
            };
          });

/// As fidelity/early and the like.
auto hard(const std::string& name, void (*kernel)(const float*, float*), bool early) {
  return naive(
      "/" + name, {},
      [=](NaiveCase&) -> Launch {
        return [=](const float* in, float* out, cudaStream_t stream) {
          launch_hard(kernel, early, in, out, stream);
        };
      },
      hard_count);
}

const auto early = hard("early", early_kernel<true>, true);
const auto early_no_wait = hard("early_no_wait", early_kernel<false>, true);
const auto chase = hard("chase", chase_kernel<false>, false);
const auto chase_evict_last = hard("chase_evict_last", chase_kernel<true>, false);

class NaiveSuite : public Suite {
 public:
  std::vector<Benchmark> benchmarks(const AxisValues& instead) override {
    return registered_benchmarks<NaiveCase>(
        instead, [](CaseRequest request, const std::function<void(NaiveCase&)>& measure) {
          NaiveCase fixture(std::move(request));
          measure(fixture);
        });
  }

  Context open(const CommandLine& line) override {
    try {
      const Device device = find_device(line.device);
      WARPGAUGE_CHECK(cudaSetDevice(device.index));
      return {{"gpu_name", device.name}, {"gpu_uuid", device.uuid}};
    } catch (const std::out_of_range& error) {
      throw BadUsage(std::string("--device: ") + error.what());
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  NaiveSuite suite;
  return static_cast<int>(run_suite(suite, argc, argv));
}
