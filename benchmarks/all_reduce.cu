// SPDX-License-Identifier: Apache-2.0
// Sums over all visible GPUs by loads from and stores to peers, in one process; NCCL's rows are
// those of the family nccl. `bytes` is a rank's input, and bytes_per_second NCCL's bus bandwidth,
// 2 (n-1)/n bytes per second. Small sums are bound by the latency of the links, large ones by their
// rate. All ranks pass a barrier, then run a graph of sums that follow each other, and the slowest
// rank's time counts. `_issued` benchmarks make single calls instead.
// Needs 2 GPUs.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <warpgauge/core/units.hpp>
#include <warpgauge/gpu/peer.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include <warpgauge/program/run_context.hpp>
#include "benchmarks/nccl/buffers.hpp"
#include "benchmarks/peer_ranks.hpp"
#include "kernels/all_reduce/all_reduce.hpp"

namespace {

using namespace warpgauge;
using kernels::AllReduceWay;

const ContextRegistration link{"peer_link", peer_link};

/// What a rank owns, on the device that is current at construction.
struct RankMemory {
  explicit RankMemory(const RankedShape& of) : buffers(of) { kernels::load_all_reduce(); }
  RankBuffers buffers;
  DeviceArray<std::uint32_t> flags = zeroed<std::uint32_t>(kernels::all_reduce_flags);
  DeviceArray<kernels::FlaggedWords> inbox =
      zeroed<kernels::FlaggedWords>(kernels::all_reduce_inbox);
};

/// The memory of all ranks, and their calls.
template <class T>
class RankedSum {
 public:
  RankedSum(std::vector<int> devices, std::size_t bytes, std::size_t rotation_bytes)
      : shape_(Collective::all_reduce, devices.size(), bytes, sizeof(T)),
        devices_(std::move(devices)) {
    for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
      const OnDevice on(devices_[rank]);
      ranks_.push_back(
          std::make_unique<RankMemory>(RankedShape{shape_, rank, false, rotation_bytes}));
    }
  }

  const Shape& shape() const { return shape_; }

  void issue(AllReduceWay<T> way, std::size_t rank, const Iteration& at) const {
    kernels::AllReduce<T> call = call_of<T>(rank);
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      call.inputs[i] = static_cast<const T*>(ranks_[i]->buffers.input(at.slot));
      call.inboxes[i] = ranks_[i]->inbox.data();
      call.outputs[i] = static_cast<T*>(ranks_[i]->buffers.output(at.slot));
    }
    way.launch(call, at.stream);
  }

  void barrier(std::size_t rank, cudaStream_t stream) const {
    kernels::all_reduce_barrier(call_of<float>(rank), stream);
  }

  void renew(std::size_t rank) { ranks_[rank]->buffers.renew(seeds_[rank]++); }

  void require_right(std::size_t slot) const {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const OnDevice on(devices_[rank]);
      if (const std::string fault = ranks_[rank]->buffers.fault(slot); !fault.empty()) {
        throw WrongResult(fault);
      }
    }
  }

 private:
  template <class E>
  kernels::AllReduce<E> call_of(std::size_t rank) const {
    kernels::AllReduce<E> call{};
    call.ranks = static_cast<unsigned>(ranks_.size());
    call.rank = static_cast<unsigned>(rank);
    call.count = shape_.block;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      call.flags[i] = ranks_[i]->flags.data();
    }
    return call;
  }

  Shape shape_;
  std::vector<int> devices_;
  std::vector<std::unique_ptr<RankMemory>> ranks_;
  std::vector<std::uint64_t> seeds_ = std::vector<std::uint64_t>(kernels::most_ranks);
};

enum class How : std::uint8_t { captured, issued };

template <class T>
auto sum(AllReduceWay<T> way, How how) {
  return [=](GpuCase& gpu) {
    const std::vector<int> devices = peer_devices(kernels::most_ranks);
    const auto sums =
        std::make_shared<RankedSum<T>>(devices, gpu.param("bytes"), 3 * gpu.device().l2_bytes);
    const auto ranks = std::make_shared<PeerRanks>(
        devices,
        PeerRanks::Calls{
            .issue = [=](std::size_t rank, const Iteration& at) { sums->issue(way, rank, at); },
            .barrier = [=](std::size_t rank, cudaStream_t stream) { sums->barrier(rank, stream); },
            .renew = [=](std::size_t rank) { sums->renew(rank); }});
    ranks->renew();
    gpu.collective(ranks);
    gpu.moves_bytes(static_cast<std::size_t>(sums->shape().bus_bytes()), link_to_peer());
    gpu.verify([=](const Iteration& at) { sums->require_right(at.slot); });
    const auto issue = [=](const Iteration& at) { sums->issue(way, 0, at); };
    if (how == How::issued) {
      gpu.stream_period(issue);
    } else {
      gpu.replay(issue);
    }
  };
}

using bf16 = __nv_bfloat16;

/// In the default suite a way has a row of the size that it is for, in bf16.
const Axis small{"bytes", {8 * kibi}, {64 * kibi}};
const Axis all_sizes{"bytes", {512 * kibi}, {8 * kibi, 64 * kibi, 2 * mebi, 4 * mebi}};
const Axis issued_sizes{"bytes", {}, {8 * kibi}};

template <class T>
std::vector<GpuBenchmark> ways(const Axes& and_suite) {
  std::vector<GpuBenchmark> table;
  for (const AllReduceWay<T>& way : kernels::all_reduce_ways<T>) {
    const std::string name = "all_reduce/" + std::string(way.name).substr(sizeof("all_reduce"));
    Axes axes = and_suite;
    axes.push_back(way.most_bytes < 512 * kibi ? small : all_sizes);
    table.push_back({name + "/" + element_name<T>, axes, sum(way, How::captured)});
    table.push_back({name + "_issued/" + element_name<T>, {issued_sizes}, sum(way, How::issued)});
  }
  return table;
}

const std::vector<GpuBenchmark> of_bf16 = ways<bf16>({});
const std::vector<GpuBenchmark> of_f32 = ways<float>({in_full_suite});

}  // namespace
