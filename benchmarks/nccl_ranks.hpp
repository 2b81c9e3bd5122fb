// SPDX-License-Identifier: Apache-2.0
// The ranks of the process: a visible device, a communicator and a stream each.
#pragma once

#include <functional>
#include <numeric>
#include <vector>

#include <warpgauge/cuda/current_device.hpp>
#include <warpgauge/cuda/stream.hpp>
#include <warpgauge/gpu/operation.hpp>
#include "benchmarks/nccl_library.hpp"

namespace warpgauge {

/// All visible devices; rank 0 is the current one, and uses the stream of the iteration. One for
/// the process, never given back: to make one takes a second, and at the end of the process CUDA
/// may be gone before it.
class Ranks {
 public:
  struct Rank {
    int device;
    Nccl::Communicator communicator;
    cudaStream_t stream;
  };
  using Issue = std::function<void(std::size_t rank, const Rank&)>;

  /// Throws Unsupported without NCCL, and for fewer than two devices.
  static const Ranks& of_process() {
    static const auto* const ranks = new Ranks(Nccl::loaded());
    return *ranks;
  }

  std::size_t count() const { return others_.size() + 1; }

  const Nccl& nccl() const { return nccl_; }

  /// `issue` for each rank, as one group of NCCL's: every rank takes part when its stream comes to
  /// it, and the iteration's stream goes on when rank 0 has ended.
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

  /// The same between two barriers: all ranks begin behind what is on the iteration's stream, which
  /// goes on when the slowest of them has ended.
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

  /// `work` with each rank's device current, and then waits for all devices.
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
  std::vector<Other> others_;  ///< of ranks 1 and on
  Event begun_{cudaEventDisableTiming};
};

}  // namespace warpgauge
