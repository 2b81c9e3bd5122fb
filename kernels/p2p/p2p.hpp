// SPDX-License-Identifier: Apache-2.0
// What one GPU does in the memory of another, besides copies: signals and atomic additions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace warpgauge::kernels {

// Both below: pointers are to memory that the current device reaches, its own or a peer's with peer
// access. Asynchronous on stream, can be captured into a graph. Throw std::invalid_argument for a
// null or misaligned pointer and for what is more than the limit named, std::runtime_error for a
// refused launch.

/// One side of a signal that goes to and fro `rounds` times between two devices, by one thread on
/// each: it looks into its own memory and writes into the other's. Of the two calls, which run at
/// the same time, one `serves`, and writes first; the inbox of the one is the outbox of the other.
/// *done = the rounds that were completed: fewer than `rounds` where nothing came for about a
/// second, so that a device which waits alone comes to an end. Both inboxes are 0 before and, after
/// all rounds, again. rounds <= 2^31 - 1.
void ping_pong(std::uint32_t* inbox, std::uint32_t* outbox, std::size_t rounds, bool serves,
               std::int32_t* done, cudaStream_t stream);

/// The additions of atomic_add: `adds` by each of `threads` threads, to an integer of its own.
struct AddShape {
  std::size_t threads, adds;
};

/// Adds values[i], adds times, to counters[i], for i < threads, modulo 2^32, atomically for all
/// devices; out[i] = the difference between counters[i] after and before. `returning`: each
/// addition returns the value before, and the next waits for it; else nothing waits, and the
/// additions are bound by what the link carries. No threads: nothing happens. threads <= 256 *
/// (2^31 - 1), adds <= 2^31 - 1.
void atomic_add(const std::int32_t* values, std::uint32_t* counters, std::int32_t* out,
                AddShape shape, bool returning, cudaStream_t stream);

}  // namespace warpgauge::kernels
