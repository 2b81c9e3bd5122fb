// SPDX-License-Identifier: Apache-2.0
// The other ranks of a collective as GPUs of this process, which access each other's memory.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <warpgauge/cuda/current_device.hpp>
#include <warpgauge/cuda/device.hpp>
#include <warpgauge/cuda/evict.hpp>
#include <warpgauge/cuda/graph.hpp>
#include <warpgauge/cuda/memory.hpp>
#include <warpgauge/cuda/sm_clock.hpp>
#include <warpgauge/cuda/stream.hpp>
#include <warpgauge/gpu/operation.hpp>
#include <warpgauge/gpu/other_ranks.hpp>

namespace warpgauge {

/// The current device, which is rank 0, and the other visible ones, at most `most`. Enables access
/// from each to each. Throws Unsupported for one device, and where CUDA gives no access.
inline std::vector<int> peer_devices(int most) {
  int visible = 0;
  WARPGAUGE_CHECK(cudaGetDeviceCount(&visible));
  if (visible < 2) {
    throw Unsupported("needs two GPUs, and one is visible");
  }
  std::vector<int> devices{current_device()};
  for (int device = 0; device < visible; ++device) {
    if (device != devices.front() && static_cast<int>(devices.size()) < most) {
      devices.push_back(device);
    }
  }
  for (const int device : devices) {
    const OnDevice on(device);
    for (const int other : devices) {
      int possible = 1;
      if (other != device) {
        WARPGAUGE_CHECK(cudaDeviceCanAccessPeer(&possible, device, other));
      }
      if (possible == 0) {
        throw Unsupported("needs GPUs with peer access, which CUDA does not give to all of them");
      }
      if (other != device) {
        const cudaError_t code = cudaDeviceEnablePeerAccess(other, 0);
        static_cast<void>(cudaGetLastError());
        if (code != cudaErrorPeerAccessAlreadyEnabled) {
          WARPGAUGE_CHECK(code);
        }
      }
    }
  }
  return devices;
}

/// Each rank after the first has a stream and a graph of its own, so that operations follow each
/// other on each device as fast as they would in a process a rank. The host enqueues a region of
/// all other ranks before that of rank 0, which opens the barrier: so none of them waits for the
/// host inside. Their clocks are brought up, but not sampled.
class PeerRanks final : public OtherRanks {
 public:
  /// Functions of a rank, called with its device current.
  struct Calls {
    /// Enqueues its operation.
    std::function<void(std::size_t rank, const Iteration& at)> issue;
    /// Enqueues its side of the barrier.
    std::function<void(std::size_t rank, cudaStream_t stream)> barrier;
    /// New inputs, and poisoned outputs; waits for them.
    std::function<void(std::size_t rank)> renew;
  };

  PeerRanks(const std::vector<int>& devices, Calls calls) : calls_(std::move(calls)) {
    for (const int device : devices) {
      const OnDevice on(device);
      ranks_.push_back(std::make_unique<Rank>(device));
    }
  }
  ~PeerRanks() override {
    for (const auto& rank : ranks_) {
      report_cuda_error(cudaStreamSynchronize(rank->stream.get()), "cudaStreamSynchronize");
    }
  }
  PeerRanks(const PeerRanks&) = delete;
  PeerRanks& operator=(const PeerRanks&) = delete;

  void prepare(const RankWork& work, const std::function<void()>& here) override {
    work_ = work;
    for_each_other([&](std::size_t rank, Rank& its) {
      its.graph.reset();
      if (work.captured) {
        const cudaStream_t stream = its.stream.get();
        const Graph graph = Graph::capture_copies(
            stream, work.operations, [&](std::size_t operation) { issue(rank, its, operation); });
        its.graph.emplace(graph, stream);
        its.stream.synchronize();
      }
    });
    here();
  }

  void renew() override {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const OnDevice on(ranks_[rank]->device);
      calls_.renew(rank);
    }
  }

  void begin(std::uint64_t, bool evicts) override {
    for_each_other([&](std::size_t rank, Rank& its) {
      const cudaStream_t stream = its.stream.get();
      if (evicts) {
        its.evict();
      }
      calls_.barrier(rank, stream);
      its.start.record(stream);
      if (its.graph) {
        its.graph->launch(stream);
      } else {
        for (std::size_t i = 0; i < work_.operations; ++i) {
          issue(rank, its, i);
        }
      }
      its.stop.record(stream);
    });
  }

  void barrier(cudaStream_t stream) override { calls_.barrier(0, stream); }

  Region end() override {
    Region worst;
    for_each_other([&](std::size_t, Rank& its) {
      its.stop.synchronize();
      worst.seconds = std::max(worst.seconds, seconds_between(its.start, its.stop));
    });
    return worst;
  }

 private:
  struct Rank {
    explicit Rank(int on)
        : device(on),
          eviction_bytes(3 * find_device(on).l2_bytes),  // as in QuietGpu
          eviction(allocate_device(eviction_bytes)) {
      using std::chrono::steady_clock;
      constexpr std::chrono::milliseconds as_quiet_gpu{60};
      WARPGAUGE_CHECK(cudaMemsetAsync(eviction.get(), 0, eviction_bytes, stream.get()));
      for (const auto end = steady_clock::now() + as_quiet_gpu; steady_clock::now() < end;) {
        evict();
        stream.synchronize();
      }
    }
    void evict() const { detail::evict_l2(eviction.get(), eviction_bytes, stream.get()); }

    int device;
    std::size_t eviction_bytes;
    DeviceMemory eviction;
    Stream stream;
    Event start, stop;
    std::optional<ExecutableGraph> graph;
  };

  template <class Use>
  void for_each_other(const Use& use) {
    for (std::size_t rank = 1; rank < ranks_.size(); ++rank) {
      const OnDevice on(ranks_[rank]->device);
      use(rank, *ranks_[rank]);
    }
  }

  void issue(std::size_t rank, const Rank& its, std::size_t operation) const {
    calls_.issue(rank, Iteration(its.stream.get(), work_.first + operation));
  }

  Calls calls_;
  RankWork work_;
  std::vector<std::unique_ptr<Rank>> ranks_;  ///< of rank 0 only the device
};

}  // namespace warpgauge
