// SPDX-License-Identifier: Apache-2.0
// What the ways of an all-reduce share: barriers between the same block of all ranks, sums of 16
// bytes, checks and launches.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/all_reduce/all_reduce.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned all_reduce_threads = 512;

/// Before a wait gives up. A poll takes about 0.5 us, so all of them some seconds.
inline constexpr unsigned most_polls = 1U << 23U;

/// Polls until arrived(). Gives up by a trap, which ends all work of the process on this GPU: no
/// later call can take what a late rank left behind for its own, and a late rank still finds the
/// input as it was.
template <class Arrived>
__device__ inline void poll_until(const Arrived& arrived) {
  for (unsigned poll = 0; !arrived(); ++poll) {
    if (poll == most_polls) {
      __trap();
    }
  }
}

/// 16 bytes of T, as they are loaded and stored.
template <class T>
struct Pack {
  static constexpr unsigned values = 16 / sizeof(T);
};

/// The meetings of a block with the same block of all other ranks. Before a meeting each has
/// counted the same number of them, so the count is the value of all flags.
///
/// Hand-over: the block's barrier orders all its threads' loads and stores before the release of
/// the flags at system scope; each thread that waits for a flag acquires it, and the block's
/// barrier orders that before all later loads and stores. A flag lies in the memory of the rank
/// that waits for it. A fast rank may have counted on already, so a larger value will do.
class Meetings {
 public:
  template <class T>
  __device__ explicit Meetings(const AllReduce<T>& call)
      : ranks_(call.ranks), count_(*own_count(call)) {
    if (threadIdx.x < ranks_) {
      constexpr unsigned per_block = most_ranks;
      theirs_ = call.flags[threadIdx.x] + blockIdx.x * per_block + call.rank;
      ours_ = call.flags[call.rank] + blockIdx.x * per_block + threadIdx.x;
    }
  }

  /// Call from all threads of the block.
  __device__ void meet() {
    next();
    __syncthreads();
    if (threadIdx.x < ranks_) {
      asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(theirs_), "r"(count_) : "memory");
      poll_until([&] {
        std::uint32_t seen = 0;
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(ours_) : "memory");
        return static_cast<std::int32_t>(seen - count_) >= 0;
      });
    }
    __syncthreads();
  }

  /// Counts, without a meeting.
  __device__ std::uint32_t next() { return ++count_; }

  /// Call last, from all threads: the next call counts on from here.
  template <class T>
  __device__ void finish(const AllReduce<T>& call) const {
    if (threadIdx.x == 0) {
      *own_count(call) = count_;
    }
  }

 private:
  template <class T>
  static __device__ std::uint32_t* own_count(const AllReduce<T>& call) {
    return call.flags[call.rank] + all_reduce_blocks * most_ranks + blockIdx.x;
  }

  unsigned ranks_;
  std::uint32_t count_;
  std::uint32_t* theirs_ = nullptr;  ///< our flag in the memory of the rank of this thread's index
  std::uint32_t* ours_ = nullptr;    ///< that rank's flag in our memory
};

__device__ inline void add_pack(float (&sums)[4], const uint4& pack, float) {
  sums[0] += __uint_as_float(pack.x);
  sums[1] += __uint_as_float(pack.y);
  sums[2] += __uint_as_float(pack.z);
  sums[3] += __uint_as_float(pack.w);
}
__device__ inline void add_pack(float (&sums)[8], const uint4& pack, __nv_bfloat16) {
  const unsigned words[4]{pack.x, pack.y, pack.z, pack.w};
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    // A bf16 is the upper half of a float.
    sums[2 * i] += __uint_as_float(words[i] << 16U);
    sums[2 * i + 1] += __uint_as_float(words[i] & 0xFFFF0000U);
  }
}

__device__ inline uint4 rounded(const float (&sums)[4], float) {
  return {__float_as_uint(sums[0]), __float_as_uint(sums[1]), __float_as_uint(sums[2]),
          __float_as_uint(sums[3])};
}
__device__ inline uint4 rounded(const float (&sums)[8], __nv_bfloat16) {
  unsigned words[4];
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const __nv_bfloat162 two = __floats2bfloat162_rn(sums[2 * i], sums[2 * i + 1]);
    words[i] = reinterpret_cast<const unsigned&>(two);
  }
  return {words[0], words[1], words[2], words[3]};
}

/// The sum of pack i of all inputs. All loads begin before the first addition waits.
template <class T>
__device__ inline uint4 sum_of(const AllReduce<T>& call, std::size_t i) {
  uint4 packs[most_ranks];
#pragma unroll
  for (unsigned rank = 0; rank < most_ranks; ++rank) {
    if (rank < call.ranks) {
      packs[rank] = reinterpret_cast<const uint4*>(call.inputs[rank])[i];
    }
  }
  float sums[Pack<T>::values]{};
#pragma unroll
  for (unsigned rank = 0; rank < most_ranks; ++rank) {
    if (rank < call.ranks) {
      add_pack(sums, packs[rank], T{});
    }
  }
  return rounded(sums, T{});
}

/// The packs of all outputs, or of a rank's share, which is empty for the last ranks of few packs.
inline __host__ __device__ std::size_t share_of(std::size_t packs, unsigned ranks) {
  return (packs + ranks - 1) / ranks;
}

template <class T>
void require_all_reduce(const char* launcher, const AllReduce<T>& call) {
  if (call.ranks > most_ranks || call.rank >= call.ranks) {
    throw std::invalid_argument(std::string(launcher) + ": rank " + std::to_string(call.rank) +
                                " of " + std::to_string(call.ranks) + ": takes 1 to " +
                                std::to_string(most_ranks) + " ranks, numbered from 0");
  }
  for (unsigned rank = 0; rank < call.ranks; ++rank) {
    require_pointer(launcher, "flags", call.flags[rank], alignof(std::uint32_t));
  }
}

/// What a way needs: threads, up to the most blocks, and inboxes.
struct Needs {
  unsigned shares = 1;  ///< of the packs, of which the launch works on one
  unsigned threads_per_pack = 1;
  bool inboxes = false;
};

/// Launches kernel(call).
template <class T>
void launch_all_reduce(const char* launcher, void (*kernel)(AllReduce<T>), const AllReduce<T>& call,
                       Needs needs, cudaStream_t stream) {
  if (call.count == 0) {
    return;
  }
  require_all_reduce(launcher, call);
  if (call.count % Pack<T>::values != 0) {
    throw std::invalid_argument(std::string(launcher) + ": count is " + std::to_string(call.count) +
                                ": must be a multiple of " + std::to_string(Pack<T>::values) +
                                ", which are 16 bytes");
  }
  for (unsigned rank = 0; rank < call.ranks; ++rank) {
    require_pointer(launcher, "inputs", call.inputs[rank], sizeof(uint4));
    require_pointer(launcher, "outputs", call.outputs[rank], sizeof(uint4));
    if (needs.inboxes) {
      require_pointer(launcher, "inboxes", call.inboxes[rank], sizeof(FlaggedWords));
    }
  }
  const std::size_t threads =
      share_of(call.count / Pack<T>::values, needs.shares) * needs.threads_per_pack;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(
      (threads + all_reduce_threads - 1) / all_reduce_threads, all_reduce_blocks));
  kernel<<<blocks, all_reduce_threads, 0, stream>>>(call);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
