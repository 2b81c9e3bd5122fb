// SPDX-License-Identifier: Apache-2.0
// NCCL's collectives over all visible GPUs. As in nccl-tests, `bytes` is the size and
// bytes_per_second the bus bandwidth (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md). Bound by
// the links between the GPUs; small collectives by the latency of NCCL's protocols. One process
// drives all ranks. In a graph, an operation starts on all ranks after the previous one has ended
// on all of them. Its time is therefore the slowest rank's, and nothing is pipelined
// (github.com/NVIDIA/nccl/issues/1984). `_issued` benchmarks make single calls without these
// barriers, as nccl-tests does. NCCL is loaded at run time.
// Needs 2 GPUs.
#include <memory>
#include <source_location>
#include <vector>

#include <warpgauge/gpu_benchmark.hpp>
#include <warpgauge/program/run_context.hpp>
#include "benchmarks/nccl_buffers.hpp"

namespace {

using namespace warpgauge;

const ContextRegistration version{"nccl_version", Nccl::version};
const ContextRegistration environment{"nccl_environment", Nccl::environment};

enum class How : std::uint8_t { captured, in_place, issued };

template <class T>
auto body(Collective collective, How how) {
  return [=](GpuCase& gpu) {
    const Ranks& ranks = Ranks::of_process();
    const auto shape =
        std::make_shared<const Shape>(collective, ranks.count(), gpu.param("bytes"), sizeof(T));
    const auto buffers = std::make_shared<RankBuffers<T>>(ranks, *shape, how == How::in_place,
                                                          3 * gpu.device().l2_bytes);
    const auto issue = [=, &ranks](const Iteration& at) {
      return issue_of(*shape, *buffers, ranks.nccl(), at.slot);
    };
    // The first call of each kind connects the ranks. It allocates and cannot be captured.
    const Stream first;
    ranks.issue(Iteration{first.get(), 0}, issue(Iteration{first.get(), 0}));
    ranks.synchronize();
    buffers->renew();

    gpu.moves_bytes(static_cast<std::size_t>(shape->bus_bytes()), std::nullopt);
    gpu.verify([=](const Iteration& at) {
      buffers->require_right(at.slot);
      buffers->renew();
    });
    if (how == How::issued) {
      gpu.stream_period([=, &ranks](const Iteration& at) { ranks.issue(at, issue(at)); });
    } else {
      gpu.replay([=, &ranks](const Iteration& at) { ranks.run(at, issue(at)); });
    }
  };
}

constexpr std::size_t ki = std::size_t{1} << 10;
constexpr std::size_t mi = std::size_t{1} << 20;

const Axis sizes{
    "bytes", {8, 64 * ki, 16 * mi, 256 * mi}, {ki, 8 * ki, 512 * ki, 2 * mi, 64 * mi, 1024 * mi}};
const Axis large{"bytes", {256 * mi}, {8, 64 * ki, 16 * mi, 1024 * mi}};
// stream_period() makes about a thousand calls, which would take seconds for larger sizes.
const Axis small{"bytes", {8, 64 * ki}, {ki, 512 * ki, 16 * mi}};

/// The default suite contains most collectives with one type only.
Axes in_suites(const Axis& axis, bool in_default) {
  return in_default ? Axes{axis} : Axes{axis, in_full_suite};
}

template <class T>
GpuBenchmark benchmark(Collective collective, const char* variant, const Axes& axes, How how,
                       std::source_location where = std::source_location::current()) {
  return {"nccl/" + name_of(collective) + variant + "/" + element_name<T>, axes,
          body<T>(collective, how), where};
}

constexpr auto all = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                      Collective::broadcast, Collective::all_to_all};
using Table = std::vector<GpuBenchmark>;

const Table registered = [] {
  Table table;
  for (const Collective one : all) {
    const bool first = one == Collective::all_reduce;
    table.push_back(benchmark<float>(one, "", {sizes}, How::captured));
    table.push_back(benchmark<__nv_bfloat16>(one, "", in_suites(sizes, first), How::captured));
    table.push_back(benchmark<float>(one, "_issued", {small}, How::issued));
    if (one != Collective::all_to_all) {  // not available in place
      table.push_back(benchmark<float>(one, "_in_place", {large}, How::in_place));
      table.push_back(
          benchmark<__nv_bfloat16>(one, "_in_place", in_suites(large, false), How::in_place));
    }
  }
  return table;
}();

}  // namespace
