// SPDX-License-Identifier: Apache-2.0
// Sums over the GPUs of one host, by loads from and stores to the memory of peers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace warpgauge::kernels {

inline constexpr unsigned most_ranks = 8;
inline constexpr unsigned all_reduce_blocks = 128;  ///< at most, of a launch

/// Counters per rank: for each block those that the ranks write, and the block's own.
inline constexpr std::size_t all_reduce_flags = std::size_t{all_reduce_blocks} * (most_ranks + 1);

/// Bytes of an input, at most, that all_reduce_flagged takes.
inline constexpr std::size_t most_flagged_bytes = std::size_t{1} << 17U;

/// 8 bytes of an input, each half with a counter behind it.
struct FlaggedWords {
  std::uint64_t first, second;
};

/// Per rank: those of two calls, of each rank.
inline constexpr std::size_t all_reduce_inbox = most_flagged_bytes / 8 * 2 * most_ranks;

/// The call of one rank. The arrays have an element for each rank, in memory that all ranks can
/// access: their own or, with peer access, a peer's.
template <class T>
struct AllReduce {
  const T* inputs[most_ranks];
  T* outputs[most_ranks];
  /// all_reduce_flags integers each, which are 0 before the first call and then belong to the calls
  /// below. They only grow, so a captured call can be replayed.
  std::uint32_t* flags[most_ranks];
  /// all_reduce_inbox words each, which are 0 before the first call: of all_reduce_flagged alone.
  FlaggedWords* inboxes[most_ranks];
  unsigned ranks, rank;
  std::size_t count;  ///< elements of each input and of each output
};

// For i < count, each rank's outputs[rank][i] is the sum of inputs[r][i] over all ranks r: added in
// fp32 in the order of the ranks, and rounded once, so all ranks get the same bits. T is float or
// __nv_bfloat16.
//
// All ranks make the same calls in the same order, each on one stream of its device. A call waits
// on the device for those of the other ranks. A wait gives up after some seconds: this call, and
// all later work of the process on its device, then fails with a CUDA error. When a call has ended,
// its output is complete, and all ranks have read its input. The kernels have to be loaded before,
// see load_all_reduce(). `count` is a multiple of 16 bytes; inputs and outputs are aligned to 16
// bytes and do not overlap. Launches are asynchronous on stream and can be captured into a graph.
// Nothing happens for count 0. Throw std::invalid_argument for 0 or more than 8 ranks, a rank that
// is not below them, another count, and a null or misaligned pointer; std::runtime_error if CUDA
// refuses the launch.

/// Each rank reads all inputs.
template <class T>
void all_reduce_one_shot(const AllReduce<T>& call, cudaStream_t stream);

/// Each rank adds up its share of the elements and writes it to all outputs.
template <class T>
void all_reduce_two_shot(const AllReduce<T>& call, cudaStream_t stream);

/// Each rank writes its input to all others, with a counter behind each 4 bytes: whoever sees the
/// counter has the bytes. Also throws std::invalid_argument for inputs above most_flagged_bytes.
template <class T>
void all_reduce_flagged(const AllReduce<T>& call, cudaStream_t stream);

/// Later work on the streams of all ranks begins when each has reached this call. Only `flags`,
/// `ranks` and `rank` count.
void all_reduce_barrier(const AllReduce<float>& call, cudaStream_t stream);

/// Loads the kernels above on the current device, and waits. CUDA would load one at its first
/// launch, and wait for running kernels before: those of other ranks, which wait for it.
void load_all_reduce();

/// A way to add up, for tests and benchmarks.
template <class T>
struct AllReduceWay {
  const char* name;
  void (*launch)(const AllReduce<T>& call, cudaStream_t stream);
  std::size_t most_bytes;  ///< of an input
};

template <class T>
inline constexpr AllReduceWay<T> all_reduce_ways[] = {
    {"all_reduce_one_shot", all_reduce_one_shot<T>, ~std::size_t{0}},
    {"all_reduce_two_shot", all_reduce_two_shot<T>, ~std::size_t{0}},
    {"all_reduce_flagged", all_reduce_flagged<T>, most_flagged_bytes},
};

}  // namespace warpgauge::kernels
