// SPDX-License-Identifier: Apache-2.0
// A flag in the memory of the one that waits for it, so that only the write crosses the link: bound
// by the latency of a write, there and back.
#include <cuda/atomic>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/p2p/p2p.hpp"

namespace warpgauge::kernels {

using SharedFlag = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>;

/// Whether the flag becomes `value`. A look takes an H200 about 0.3 us, and all of them a second.
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
  // The other side has seen the last value sent, and sends none any more.
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
