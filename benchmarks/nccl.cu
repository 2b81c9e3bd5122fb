// SPDX-License-Identifier: Apache-2.0
// NCCL's collectives over all visible GPUs, as nccl-tests counts them: `bytes` are its size, and
// bytes_per_second is its bus bandwidth (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md). Bound
// by the links between the GPUs; small ones by the latency of NCCL's protocols. One process drives
// all ranks. In a graph, an operation begins on all ranks when the one before has ended on all, so
// that its time is the slowest rank's, and a replay pipelines nothing
// (github.com/NVIDIA/nccl/issues/1984).
// `_issued` is call by call without these barriers, as nccl-tests does. NCCL is loaded at run time.
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
    // NCCL connects ranks at the first call of a kind, which allocates and cannot be captured.
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
// A stream takes about a thousand calls, and those of large operations fill seconds.
const Axis small{"bytes", {8, 64 * ki}, {ki, 512 * ki, 16 * mi}};

/// The default suite has one type of most collectives.
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
    if (one != Collective::all_to_all) {  // which NCCL has not in place
      table.push_back(benchmark<float>(one, "_in_place", {large}, How::in_place));
      table.push_back(
          benchmark<__nv_bfloat16>(one, "_in_place", in_suites(large, false), How::in_place));
    }
  }
  return table;
}();

}  // namespace
