// SPDX-License-Identifier: Apache-2.0
// Two shots: each GPU adds up one share of the elements (reduce-scatter) and stores the sums to all
// outputs (all-gather). The link carries 2 (n-1)/n inputs instead of n-1, in two directions one
// after the other. Bound, where small, by two barriers, a load and a store across the link.
#include "kernels/all_reduce/meeting.cuh"

namespace warpgauge::kernels {

/// The first meeting: all inputs are there. The second: all outputs are written, and all inputs
/// read. A block writes what the same block of the others waits for.
template <class T>
__global__ __launch_bounds__(all_reduce_threads) void all_reduce_two_shot_kernel(
    const __grid_constant__ AllReduce<T> call) {
  Meetings meetings(call);
  const std::size_t packs = call.count / Pack<T>::values;
  const std::size_t share = share_of(packs, call.ranks);
  const std::size_t first = call.rank * share;
  const std::size_t end = first + share < packs ? first + share : packs;
  meetings.meet();
  for (std::size_t i = first + std::size_t{blockIdx.x} * all_reduce_threads + threadIdx.x; i < end;
       i += std::size_t{gridDim.x} * all_reduce_threads) {
    const uint4 sum = sum_of(call, i);
#pragma unroll
    for (unsigned rank = 0; rank < most_ranks; ++rank) {
      if (rank < call.ranks) {
        reinterpret_cast<uint4*>(call.outputs[rank])[i] = sum;
      }
    }
  }
  meetings.meet();
  meetings.finish(call);
}

template <class T>
void all_reduce_two_shot(const AllReduce<T>& call, cudaStream_t stream) {
  launch_all_reduce("all_reduce_two_shot", all_reduce_two_shot_kernel<T>, call,
                    {.shares = call.ranks}, stream);
}

template void all_reduce_two_shot(const AllReduce<float>&, cudaStream_t);
template void all_reduce_two_shot(const AllReduce<__nv_bfloat16>&, cudaStream_t);

}  // namespace warpgauge::kernels
