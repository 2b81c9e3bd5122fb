// SPDX-License-Identifier: Apache-2.0
// A counter behind each 4 bytes (NCCL calls it LL): each GPU writes its input to all others, and
// whoever sees the counter has the bytes. No barriers, no fences, one way across the link, and
// twice the bytes. Bound, where it is used, by the latency of a store across the link.
#include "kernels/all_reduce/meeting.cuh"

namespace warpgauge::kernels {

__device__ inline void store_words(FlaggedWords* to, uint2 words, std::uint32_t count) {
  const auto flagged = [=](unsigned word) { return std::uint64_t{count} << 32U | word; };
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(flagged(words.x)),
               "l"(flagged(words.y))
               : "memory");
}

/// Whether both counters are there; the words if so.
__device__ inline bool load_words(const FlaggedWords* from, std::uint32_t count, uint2& words) {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
               : "=l"(first), "=l"(second)
               : "l"(from)
               : "memory");
  words = {static_cast<unsigned>(first), static_cast<unsigned>(second)};
  return first >> 32U == count && second >> 32U == count;
}

/// A thread has 8 bytes of each input. Each call of a block has a higher count, and uses the other
/// half of the inboxes than its call before, or a meeting of all ranks lies between. Nothing reads
/// that half any more: a rank writes to it after it has seen the words of the call before from all
/// ranks, which each of them sent when its call before that had ended.
template <class T>
__global__ __launch_bounds__(all_reduce_threads) void all_reduce_flagged_kernel(
    const __grid_constant__ AllReduce<T> call) {
  constexpr std::size_t of_rank = most_flagged_bytes / 8;
  Meetings meetings(call);
  const std::uint32_t count = meetings.next();
  const std::size_t i = std::size_t{blockIdx.x} * all_reduce_threads + threadIdx.x;
  if (i < call.count * sizeof(T) / 8) {
    const std::size_t half = count % 2 * most_ranks * of_rank + i;
    const uint2 own = reinterpret_cast<const uint2*>(call.inputs[call.rank])[i];
#pragma unroll
    for (unsigned rank = 0; rank < most_ranks; ++rank) {
      if (rank < call.ranks) {
        store_words(call.inboxes[rank] + half + call.rank * of_rank, own, count);
      }
    }
    uint2 words[most_ranks]{};
    poll_until([&] {
      bool complete = true;
#pragma unroll
      for (unsigned rank = 0; rank < most_ranks; ++rank) {
        if (rank < call.ranks) {
          const FlaggedWords* const from = call.inboxes[call.rank] + half + rank * of_rank;
          complete = load_words(from, count, words[rank]) && complete;
        }
      }
      return complete;
    });
    float sums[Pack<T>::values]{};
#pragma unroll
    for (unsigned rank = 0; rank < most_ranks; ++rank) {
      if (rank < call.ranks) {
        add_pack(sums, {words[rank].x, words[rank].y, 0, 0}, T{});
      }
    }
    const uint4 sum = rounded(sums, T{});
    reinterpret_cast<uint2*>(call.outputs[call.rank])[i] = {sum.x, sum.y};
  }
  __syncthreads();
  meetings.finish(call);
}

template <class T>
void all_reduce_flagged(const AllReduce<T>& call, cudaStream_t stream) {
  constexpr const char* launcher = "all_reduce_flagged";
  constexpr std::size_t most = most_flagged_bytes / sizeof(T);
  if (call.count > most) {
    throw std::invalid_argument(std::string(launcher) + ": count is " + std::to_string(call.count) +
                                ": takes at most " + std::to_string(most));
  }
  launch_all_reduce(launcher, all_reduce_flagged_kernel<T>, call,
                    {.threads_per_pack = 2, .inboxes = true}, stream);
}

template void all_reduce_flagged(const AllReduce<float>&, cudaStream_t);
template void all_reduce_flagged(const AllReduce<__nv_bfloat16>&, cudaStream_t);

}  // namespace warpgauge::kernels
