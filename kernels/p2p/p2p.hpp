// SPDX-License-Identifier: Apache-2.0
// Access of one GPU to the memory of another, besides copies: signals and atomic additions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace warpgauge::kernels {

// Both launchers: pointers are to memory that the current device can access, its own or, with peer
// access, a peer's. Launches are asynchronous on stream and can be captured into a graph. Throw
// std::invalid_argument for a null or misaligned pointer or a value above its limit, and
// std::runtime_error if CUDA refuses the launch.

/// One side of a signal that goes back and forth `rounds` times between two devices. One thread per
/// device polls its own memory and writes to the other's. The two calls run at the same time; the
/// inbox of one is the outbox of the other, and the one that `serves` writes first. Sets *done to
/// the number of completed rounds, which is below `rounds` if no signal came for about a second, so
/// that a device without a partner stops. Both inboxes must be 0 and are 0 again after all rounds.
/// rounds <= 2^31 - 1.
void ping_pong(std::uint32_t* inbox, std::uint32_t* outbox, std::size_t rounds, bool serves,
               std::int32_t* done, cudaStream_t stream);

/// The additions of atomic_add: each of `threads` threads adds `adds` times to its own integer.
struct AddShape {
  std::size_t threads, adds;
};

/// For i < threads, adds values[i] `adds` times to counters[i], modulo 2^32 and atomically across
/// devices; out[i] is the increase of counters[i]. With `returning` each addition returns the
/// previous value and the next one waits for it. Otherwise nothing waits, and the link's bandwidth
/// is the bound. Does nothing for 0 threads. threads <= 256 * (2^31 - 1), adds <= 2^31 - 1.
void atomic_add(const std::int32_t* values, std::uint32_t* counters, std::int32_t* out,
                AddShape shape, bool returning, cudaStream_t stream);

}  // namespace warpgauge::kernels
