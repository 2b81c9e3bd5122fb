// SPDX-License-Identifier: Apache-2.0
// A barrier of all ranks: one meeting of one block. Bound by the latency of a store across the
// link.
#include <warpgauge/cuda/device_array.hpp>
#include "kernels/all_reduce/meeting.cuh"

namespace warpgauge::kernels {

__global__ void all_reduce_barrier_kernel(const __grid_constant__ AllReduce<float> call) {
  Meetings meetings(call);
  meetings.meet();
  meetings.finish(call);
}

void all_reduce_barrier(const AllReduce<float>& call, cudaStream_t stream) {
  require_all_reduce("all_reduce_barrier", call);
  all_reduce_barrier_kernel<<<1, 32, 0, stream>>>(call);
  WARPGAUGE_CHECK(cudaGetLastError());
}

namespace {

/// Each kernel runs once, with one rank.
template <class T>
void load_ways() {
  DeviceArray<std::uint32_t> flags = zeroed<std::uint32_t>(all_reduce_flags);
  DeviceArray<FlaggedWords> inbox = zeroed<FlaggedWords>(all_reduce_inbox);
  DeviceArray<uint4> data = zeroed<uint4>(2);
  const Stream stream;
  AllReduce<T> call{};
  call.inputs[0] = reinterpret_cast<const T*>(data.data());
  call.outputs[0] = reinterpret_cast<T*>(data.data() + 1);
  call.flags[0] = flags.data();
  call.inboxes[0] = inbox.data();
  call.ranks = 1;
  call.count = Pack<T>::values;
  for (const AllReduceWay<T>& way : all_reduce_ways<T>) {
    way.launch(call, stream.get());
  }
  if constexpr (std::is_same_v<T, float>) {
    all_reduce_barrier(call, stream.get());
  }
  stream.synchronize();
}

}  // namespace

void load_all_reduce() {
  load_ways<float>();
  load_ways<__nv_bfloat16>();
}

}  // namespace warpgauge::kernels
