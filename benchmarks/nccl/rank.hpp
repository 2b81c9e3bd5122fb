// SPDX-License-Identifier: Apache-2.0
// What the process of a rank other than 0 does: it is told by messages. For .cu files.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <warpgauge/core/units.hpp>
#include <warpgauge/cuda/graph.hpp>
#include <warpgauge/gpu/graph_inspection.hpp>
#include <warpgauge/gpu/session.hpp>
#include "benchmarks/nccl/member.hpp"
#include "benchmarks/nccl/processes.hpp"

namespace warpgauge {

/// A rank and its GPU. Messages, in the order in which they come:
///   open DEVICE                         answered by its NCCL's version
///   join RANKS RANK ID
///   operation COLLECTIVE BYTES ELEMENT_BYTES IN_PLACE ROTATION_BYTES    the buffers of a benchmark
///   connect                             the first call, which allocates and cannot be captured
///   renew SEED, check SLOT              answered by "right", or "wrong" and what is
///   prepare CAPTURED FIRST OPERATIONS   the work of the runs that follow
///   run LEAD_NANOSECONDS EVICTS         answered by "ran", seconds, at full clock, waited
///   leave                               the end of a benchmark
class RankServer {
 public:
  /// The answer to a message; `done` if it has none of its own.
  std::string answer(const Words& words) {
    if (words.is("open", 1)) {
      gpu_.emplace(words.number<int>(1, most_devices));
      static_cast<void>(Nccl::loaded());
      return RankProcesses::version_word + Nccl::version();
    }
    if (words.is("join", 3)) {
      ranks_ = words.number<std::size_t>(1, most_devices);
      rank_ = words.number<std::size_t>(2, ranks_);
      const Nccl::UniqueId id{bytes_in<decltype(Nccl::UniqueId::bytes)>(words.text(3))};
      member_.emplace(Nccl::loaded(), id, ranks_, rank_);
      DeviceArray<float> arrived = zeroed<float>(1);
      member_->barrier(arrived.data(), gpu_->stream());
      gpu_->synchronize();
    } else if (words.is("operation", 5)) {
      region_.emplace(gpu_->quiet, CacheState::cold);
      operation_ = rank_operation(operation_in(words, ranks_, rank_));
    } else if (words.is("connect", 0)) {
      member_->issue(*operation_, Iteration(gpu_->stream(), 0));
      gpu_->synchronize();
    } else if (words.is("renew", 1)) {
      operation_->renew(words.number(1, most_seeds));
    } else if (words.is("check", 1)) {
      const std::string fault = operation_->fault(words.number<std::size_t>(1, most_operations));
      return fault.empty() ? "right" : "wrong " + fault;
    } else if (words.is("prepare", 3)) {
      prepare({words.flag(1), words.number<std::size_t>(2, most_operations),
               words.number<std::size_t>(3, most_operations)});
    } else if (words.is("run", 2)) {
      return run(words.number(1, longest_lead), words.flag(2));
    } else if (words.is("leave", 0)) {
      graph_.reset();
      operation_.reset();
    } else {
      throw BadMessage("it got a message that has no meaning");
    }
    return "done";
  }

 private:
  static constexpr int most_devices = 1024;
  static constexpr std::uint64_t most_seeds = 1 << 30;
  static constexpr std::size_t most_operations = 1 << 20;
  static constexpr std::uint64_t longest_lead = 1'000'000'000;

  void issue(std::size_t operation) const {
    member_->issue(*operation_, Iteration(gpu_->stream(), work_.first + operation));
  }

  void prepare(const RankWork& work) {
    work_ = work;
    graph_.reset();
    if (work.captured) {
      const Graph graph = Graph::capture_copies(
          gpu_->stream(), work_.operations, [this](std::size_t operation) { issue(operation); });
      require_copies_apart(graph);
      graph_.emplace(graph, gpu_->stream());
    }
    gpu_->synchronize();
  }

  std::string run(std::uint64_t lead_nanoseconds, bool evicts) {
    const auto done = region_->attempt(
        lead_nanoseconds, evicts,
        [this] { member_->barrier(operation_->arrived(), gpu_->stream()); },
        [this] {
          if (graph_) {
            graph_->launch(gpu_->stream());
          } else {
            for (std::size_t i = 0; i < work_.operations; ++i) {
              issue(i);
            }
          }
        },
        nullptr);
    return "ran " + formatted("%.9g", done.region.seconds) +
           (done.region.at_full_clock ? " 1" : " 0") + (done.waited ? " 1" : " 0");
  }

  std::optional<GpuSession> gpu_;
  std::size_t ranks_ = 0;
  std::size_t rank_ = 0;
  std::optional<NcclMember> member_;
  std::unique_ptr<RankOperation> operation_;
  std::optional<QuietRegion> region_;
  RankWork work_;
  std::optional<ExecutableGraph> graph_;
};

/// The role of a rank's process: answers until rank 0 hangs up. Does not return.
[[noreturn]] inline void serve_as_rank() {
  die_with_parent();
  if (std::getenv("WARPGAUGE_TRACE") != nullptr) {  // the trace is rank 0's
    unsetenv("CUDA_INJECTION64_PATH");
    unsetenv("NVTX_INJECTION64_PATH");
  }
  const Channel channel(rank_descriptor);
  const auto send = [&](std::string answer) {
    std::replace(answer.begin(), answer.end(), '\n', ' ');
    constexpr std::chrono::minutes to_be_taken{1};
    channel.send(answer, Channel::Clock::now() + to_be_taken);
  };
  RankServer server;
  while (const std::optional<std::string> received = channel.receive()) {
    try {
      send(server.answer(Words(*received)));
    } catch (const std::exception& error) {
      send(std::string(failed_word) + error.what());
    }
  }
  std::_Exit(0);  // CUDA and NCCL may wait for ranks that have gone
}

}  // namespace warpgauge
