// SPDX-License-Identifier: Apache-2.0
// NCCL's collectives over all visible GPUs. As in nccl-tests, `bytes` is the size and
// bytes_per_second the bus bandwidth (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md). Bound by
// the links between the GPUs; small collectives by the latency of NCCL's protocols. Each rank is a
// process with a GPU of its own; this process is rank 0 and starts the others (nccl/ranks.hpp). All
// ranks pass a barrier, then run a graph of calls that follow each other, and the slowest rank's
// time counts. `_issued` benchmarks make single calls instead, as nccl-tests does. NCCL is loaded
// at run time.
// Needs 2 GPUs.
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include <warpgauge/gpu_benchmark.hpp>
#include <warpgauge/program/role.hpp>
#include <warpgauge/program/run_context.hpp>
#include "benchmarks/nccl/ranks.hpp"

namespace {

using namespace warpgauge;

const ContextRegistration version{"nccl_version", Nccl::version};
const ContextRegistration environment{"nccl_environment", Nccl::environment};

const RoleRegistration rank{"nccl_rank",
                            [](const std::string& channel) -> int { serve_as_nccl_rank(channel); }};

enum class How : std::uint8_t { captured, in_place, issued };

template <class T>
auto body(Collective collective, How how) {
  return [=](GpuCase& gpu) {
    Ranks& ranks = Ranks::of_process();
    ranks.start();
    const Shape shape(collective, ranks.count(), gpu.param("bytes"), sizeof(T));
    const auto all = std::make_shared<RankedCollective>(
        ranks, RankedShape{shape, 0, how == How::in_place, 3 * gpu.device().l2_bytes});
    gpu.collective(all);
    gpu.moves_bytes(static_cast<std::size_t>(shape.bus_bytes()), std::nullopt);
    gpu.verify([=](const Iteration& at) { all->require_right(at.slot); });
    const auto issue = [=](const Iteration& at) { all->issue(at); };
    if (how == How::issued) {
      gpu.stream_period(issue);
    } else {
      gpu.replay(issue);
    }
  };
}

constexpr std::size_t ki = std::size_t{1} << 10;
constexpr std::size_t mi = std::size_t{1} << 20;

const Axis of_all_reduce{
    "bytes", {8, 64 * ki, 16 * mi, 256 * mi}, {ki, 8 * ki, 512 * ki, 2 * mi, 64 * mi, 1024 * mi}};
// Their small sizes cost what those of all_reduce do.
const Axis sizes{
    "bytes", {64 * ki, 256 * mi}, {8, ki, 8 * ki, 512 * ki, 2 * mi, 16 * mi, 64 * mi, 1024 * mi}};
const Axis large{"bytes", {}, {8, 64 * ki, 16 * mi, 256 * mi, 1024 * mi}};
// stream_period() makes about a thousand calls, which would take seconds for larger sizes.
const Axis issued_all_reduce{"bytes", {8}, {ki, 64 * ki, 512 * ki, 16 * mi}};
const Axis issued{"bytes", {}, {8, ki, 64 * ki, 512 * ki, 16 * mi}};

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
    const Axis& own = first ? of_all_reduce : sizes;
    table.push_back(benchmark<float>(one, "", {own}, How::captured));
    table.push_back(benchmark<__nv_bfloat16>(one, "", {own, in_full_suite}, How::captured));
    table.push_back(
        benchmark<float>(one, "_issued", {first ? issued_all_reduce : issued}, How::issued));
    if (one != Collective::all_to_all) {  // not available in place
      table.push_back(benchmark<float>(one, "_in_place", {large}, How::in_place));
      table.push_back(benchmark<__nv_bfloat16>(one, "_in_place", {large}, How::in_place));
    }
  }
  return table;
}();

}  // namespace
