// SPDX-License-Identifier: Apache-2.0
// Reductions that return their result to the caller.
#pragma once

#include <cstddef>

#include <warpgauge/gpu_benchmark.hpp>

namespace warpgauge {

/// As many floats as the benchmark's n.
inline Buffer<float> floats(GpuCase& gpu) {
  return gpu.input<float>(gpu.param("n"));
}

/// Measures call(in..., n, stream), which waits and returns what reference(in..., expected, n,
/// stream) writes: time of the host, launch to answer. Bound by the call for a small n, for a large
/// one by reading device memory once.
template <class Reference, class Call, class... Input>
void answer(GpuCase& gpu, Tolerance tolerance, const Reference& reference, const Call& call,
            const Input&... in) {
  const std::size_t n = gpu.param("n");
  const auto out = gpu.output<float>(1, Memory::pinned);
  gpu.moves_bytes(sizeof...(in) * n * sizeof(float), Traffic::device_read);
  gpu.verify(out, tolerance, [=](const Iteration& at, Window /*whole*/, double* expected) {
    reference(in[at]..., expected, n, at.stream);
  });
  gpu.host_calls([=](const Iteration& at) { *out[at] = call(in[at]..., n, at.stream); });
}

}  // namespace warpgauge
