// SPDX-License-Identifier: Apache-2.0
// Each flag lies in the memory of the device that waits for it, so only the writes cross the link.
// Bound by the latency of two writes, there and back.
#include <cuda/atomic>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/p2p/p2p.hpp"

namespace warpgauge::kernels {

using SharedFlag = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>;

/// Whether the flag becomes `value`. One poll takes about 0.3 us on an H200, all polls a second.
__device__ inline bool arrives(const SharedFlag& flag, std::uint32_t value) {
  constexpr unsigned most_looks = 1U << 22U;
  for (unsigned look = 0; look < most_looks; ++look) {
    if (flag.load(cuda::memory_order_relaxed) == value) {
      return true;
    }
  }
  return false;
}

__global__ void ping_pong_kernel(std::uint32_t* inbox, std::uint32_t* outbox, std::uint32_t rounds,
                                 bool serves, std::int32_t* done) {
  const SharedFlag in(*inbox);
  const SharedFlag out(*outbox);
  std::uint32_t round = 0;
  while (round < rounds) {
    if (serves) {
      out.store(round + 1, cuda::memory_order_relaxed);
    }
    if (!arrives(in, round + 1)) {
      break;
    }
    ++round;
    if (!serves) {
      out.store(round, cuda::memory_order_relaxed);
    }
  }
  // The other side has sent its last value, so nothing overwrites this reset.
  in.store(0, cuda::memory_order_relaxed);
  *done = static_cast<std::int32_t>(round);
}

void ping_pong(std::uint32_t* inbox, std::uint32_t* outbox, std::size_t rounds, bool serves,
               std::int32_t* done, cudaStream_t stream) {
  require_pointer("ping_pong", "inbox", inbox, alignof(std::uint32_t));
  require_pointer("ping_pong", "outbox", outbox, alignof(std::uint32_t));
  require_pointer("ping_pong", "done", done, alignof(std::int32_t));
  require_at_most("ping_pong", rounds, 0x7fffffff);
  ping_pong_kernel<<<1, 1, 0, stream>>>(inbox, outbox, static_cast<std::uint32_t>(rounds), serves,
                                        done);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
