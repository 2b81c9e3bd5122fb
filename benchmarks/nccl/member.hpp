// SPDX-License-Identifier: Apache-2.0
// A process's membership in a communicator, the same on every rank. For .cu files.
#pragma once

#include "benchmarks/nccl/buffers.hpp"

namespace warpgauge {

/// One rank: its communicator. The destructor leaves it alone, because at process exit CUDA may be
/// gone first; nothing else is held.
class NcclMember {
 public:
  /// Joins; waits for the other ranks.
  NcclMember(const Nccl& nccl, const Nccl::UniqueId& id, std::size_t ranks, std::size_t rank)
      : nccl_(nccl) {
    nccl.require(
        nccl.init_rank(&communicator_, static_cast<int>(ranks), id, static_cast<int>(rank)),
        "ncclCommInitRank");
  }
  ~NcclMember() = default;
  NcclMember(const NcclMember&) = delete;
  NcclMember& operator=(const NcclMember&) = delete;

  void issue(RankOperation& operation, const Iteration& at) const {
    operation.issue(nccl_, communicator_, at);
  }

  /// Enqueues the smallest collective, on one element of the device's memory: later work on
  /// `stream` begins when all ranks have reached it.
  void barrier(float* arrived, cudaStream_t stream) const {
    nccl_.require(nccl_.all_reduce(arrived, arrived, 1, Nccl::Type::float32, Nccl::Reduction::max,
                                   communicator_, stream),
                  "ncclAllReduce");
  }

  /// Makes the calls that wait for a lost rank return, on the device too. It returns when no graph
  /// holds a call of the communicator any more, which is then gone.
  void abort() const { nccl_.require(nccl_.abort(communicator_), "ncclCommAbort"); }

 private:
  const Nccl& nccl_;
  Nccl::Communicator communicator_ = nullptr;
};

}  // namespace warpgauge
