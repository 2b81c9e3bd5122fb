// SPDX-License-Identifier: Apache-2.0
// Rank 0 and the processes of all others: both sides of the messages between them.
//   open DEVICE                       answered by "nccl" and its version
//   join RANKS RANK and 16 numbers, ncclUniqueId's bytes
//   operation COLLECTIVE BYTES ELEMENT_BYTES IN_PLACE ROTATION_BYTES    the buffers of a benchmark
//   connect                           the first call, which allocates and cannot be captured
//   renew SEED, check SLOT            answered by "right", or "wrong" and what is
//   prepare CAPTURED FIRST OPERATIONS the work of the runs that follow
//   run LEAD_NANOSECONDS EVICTS       answered by "ran", picoseconds, at full clock, waited
//   leave                             the end of a benchmark
// The answer is "done" where none is named.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <warpgauge/gpu/other_ranks.hpp>
#include <warpgauge/peer/rank_processes.hpp>
#include "benchmarks/nccl/buffers.hpp"

namespace warpgauge {

/// The ranks of this process's communicator: rank 0 is this process and its current device; each
/// other visible device has a process. They live as long as this process, because starting them
/// takes seconds, or until one fails.
class Ranks {
 public:
  /// The other ranks run `PROGRAM --role=nccl_rank`. Starts nothing before it is needed.
  explicit Ranks(std::string program = "/proc/self/exe", double patience_seconds = 30);
  ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  static Ranks& of_process();

  /// Starts the other ranks unless they run. Throws Unsupported without NCCL or with fewer than two
  /// devices, and RankFailed.
  void start();

  /// Ends the ranks; start() begins with new ones. Call it when no graph and no work is left.
  void stop() noexcept;

  std::size_t count() const { return others().count() + 1; }
  RankProcesses& others() const { return *others_; }  ///< which run

  /// Calls it. If it throws because a rank failed, throws RankFailed, and releases this process's
  /// calls that wait for that rank. After that nothing can be asked, and the caller has to stop()
  /// when it holds no graph.
  void guarded(const std::function<void()>& call);

  /// Calls `here`, guarded, while the other ranks do what the message says, each its own or all the
  /// same, and answer "done".
  void together_each(const std::vector<Message>& messages, const std::function<void()>& here);
  void together(const Message& message, const std::function<void()>& here);

  /// Enqueue this rank's side of the collective, and of a barrier: later work on the stream begins
  /// when all ranks have reached it.
  void issue(RankBuffers& buffers, const Iteration& at);
  void barrier(float* arrived, cudaStream_t stream);

 private:
  void join();
  void release() noexcept;

  std::string program_;
  double patience_seconds_;
  Clock clock_;
  std::unique_ptr<RankProcesses> others_;
  // The destructor leaves it alone, because at process exit CUDA may be gone first.
  Nccl::Communicator communicator_ = nullptr;
  DeviceArray<float> arrived_;  ///< of the first barrier; on failure freed after the abort
  std::thread abort_;
};

/// A collective on all ranks, for one benchmark.
class RankedCollective final : public OtherRanks {
 public:
  /// `ranks` must outlive this and have been started.
  RankedCollective(Ranks& ranks, const RankedShape& of);
  ~RankedCollective() override { leave(); }
  RankedCollective(const RankedCollective&) = delete;
  RankedCollective& operator=(const RankedCollective&) = delete;

  RankBuffers& buffers() { return *buffers_; }

  /// Enqueues this rank's call.
  void issue(const Iteration& at) { ranks_.issue(*buffers_, at); }

  /// Throws WrongResult unless every rank's output in this slot is right.
  void require_right(std::size_t slot);

  void renew() override;
  void prepare(const RankWork& work, const std::function<void()>& here) override;
  void begin(std::uint64_t lead_nanoseconds, bool evicts) override;
  void barrier(cudaStream_t stream) override;
  Region end() override;

 private:
  void leave() noexcept;

  Ranks& ranks_;
  std::unique_ptr<RankBuffers> buffers_;
  std::uint64_t seed_ = 0;
};

/// The role of a rank's process; its argument is as serve_rank() takes it. Does not return.
[[noreturn]] void serve_as_nccl_rank(const std::string& descriptor);

}  // namespace warpgauge
