// SPDX-License-Identifier: Apache-2.0
// One shot: each GPU reads the inputs of all others and adds them up itself. Bound, where small, by
// two barriers and a load across the link; else by the link, which carries all but its own input
// to each GPU.
#include "kernels/all_reduce/meeting.cuh"

namespace warpgauge::kernels {

/// The first meeting: all inputs are there. The second: all have been read.
template <class T>
__global__ __launch_bounds__(all_reduce_threads) void all_reduce_one_shot_kernel(
    const __grid_constant__ AllReduce<T> call) {
  Meetings meetings(call);
  auto* const output = reinterpret_cast<uint4*>(call.outputs[call.rank]);
  const std::size_t packs = call.count / Pack<T>::values;
  meetings.meet();
  for (std::size_t i = std::size_t{blockIdx.x} * all_reduce_threads + threadIdx.x; i < packs;
       i += std::size_t{gridDim.x} * all_reduce_threads) {
    output[i] = sum_of(call, i);
  }
  meetings.meet();
  meetings.finish(call);
}

template <class T>
void all_reduce_one_shot(const AllReduce<T>& call, cudaStream_t stream) {
  launch_all_reduce("all_reduce_one_shot", all_reduce_one_shot_kernel<T>, call, {}, stream);
}

template void all_reduce_one_shot(const AllReduce<float>&, cudaStream_t);
template void all_reduce_one_shot(const AllReduce<__nv_bfloat16>&, cudaStream_t);

}  // namespace warpgauge::kernels
