// SPDX-License-Identifier: Apache-2.0
// The ranks of the process. Each has a visible device, a communicator and a stream.
#pragma once

#include <functional>
#include <numeric>
#include <vector>

#include <warpgauge/cuda/current_device.hpp>
#include <warpgauge/cuda/stream.hpp>
#include <warpgauge/gpu/operation.hpp>
#include "benchmarks/nccl_library.hpp"

namespace warpgauge {

/// All visible devices. Rank 0 is the current device and uses the iteration's stream. There is one
/// object per process, because creating it takes a second. It is never destroyed, because at
/// process exit CUDA may be gone first.
class Ranks {
 public:
  struct Rank {
    int device;
    Nccl::Communicator communicator;
    cudaStream_t stream;
  };
  using Issue = std::function<void(std::size_t rank, const Rank&)>;

  /// Throws Unsupported without NCCL or with fewer than two devices.
  static const Ranks& of_process() {
    static const auto* const ranks = new Ranks(Nccl::loaded());
    return *ranks;
  }

  std::size_t count() const { return others_.size() + 1; }

  const Nccl& nccl() const { return nccl_; }

  /// Calls `issue` for each rank, as one NCCL group. Each rank takes part when its stream reaches
  /// the operation; the iteration's stream continues when rank 0 has ended.
  void issue(const Iteration& at, const Issue& issue) const {
    nccl_.require(nccl_.group_start(), "ncclGroupStart");
    try {
      for (std::size_t rank = 0; rank < count(); ++rank) {
        issue(rank, {devices_[rank], communicators_[rank],
                     rank == 0 ? at.stream : others_[rank - 1].stream.get()});
      }
    } catch (...) {
      static_cast<void>(nccl_.group_end());
      throw;
    }
    nccl_.require(nccl_.group_end(), "ncclGroupEnd");
  }

  /// The same between two barriers: all ranks wait for earlier work on the iteration's stream,
  /// which continues when the slowest rank has ended.
  void run(const Iteration& at, const Issue& issue_rank) const {
    begun_.record(at.stream);
    for (const Other& other : others_) {
      WARPGAUGE_CHECK(cudaStreamWaitEvent(other.stream.get(), begun_.get()));
    }
    issue(at, issue_rank);
    for (const Other& other : others_) {
      other.ended.record(other.stream.get());
      WARPGAUGE_CHECK(cudaStreamWaitEvent(at.stream, other.ended.get()));
    }
  }

  /// Calls `work` with each rank's device current, then waits for all devices.
  void on_each(const std::function<void(std::size_t rank)>& work) const {
    for (std::size_t rank = 0; rank < count(); ++rank) {
      const OnDevice on(devices_[rank]);
      work(rank);
    }
    synchronize();
  }

  void synchronize() const {
    for (const int device : devices_) {
      const OnDevice on(device);
      WARPGAUGE_CHECK(cudaDeviceSynchronize());
    }
  }

 private:
  struct Other {
    Stream stream;
    Event ended{cudaEventDisableTiming};
  };

  explicit Ranks(const Nccl& nccl) : nccl_(nccl) {
    int visible = 0;
    WARPGAUGE_CHECK(cudaGetDeviceCount(&visible));
    if (visible < 2) {
      throw Unsupported("needs two GPUs, and one is visible");
    }
    devices_.resize(static_cast<std::size_t>(visible));
    std::iota(devices_.begin(), devices_.end(), 0);
    std::swap(devices_.front(), devices_[static_cast<std::size_t>(current_device())]);
    for (std::size_t rank = 1; rank < devices_.size(); ++rank) {
      const OnDevice on(devices_[rank]);
      others_.emplace_back();
    }
    const OnDevice stays(devices_.front());
    communicators_.resize(devices_.size());
    nccl.require(nccl.init_all(communicators_.data(), visible, devices_.data()), "ncclCommInitAll");
  }

  const Nccl& nccl_;
  std::vector<int> devices_;
  std::vector<Nccl::Communicator> communicators_;
  std::vector<Other> others_;  ///< ranks 1 and up
  Event begun_{cudaEventDisableTiming};
};

}  // namespace warpgauge
