// SPDX-License-Identifier: Apache-2.0
// Shared by sum, dot and max: the grid reduces in one launch. Every block reduces a stride of the
// input and publishes its aggregate. The block that began last waits for all and combines them.
// Bound by reading device memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/reduce/reduce.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned most_reduce_blocks_per_sm = 2;
inline constexpr unsigned warp_threads = 32;
inline constexpr unsigned float4_floats = sizeof(float4) / sizeof(float);

/// `vectors` float4 loads in flight per thread and input. With eight vectors of one input or four
/// of two, this shape is within 1 % of the fastest tried on an H200, from 64 MiB to 1 GiB.
template <unsigned vectors_>
struct ReduceShape {
  static constexpr unsigned threads = 512;
  static constexpr unsigned vectors = vectors_;
  static constexpr unsigned blocks_per_sm = 2;
};

/// The input of a reduction of one array. Op: identity(), add(sum, x), combine(sum, sum).
struct OneInput {
  const float* in;
  using Vector = float4;
  __device__ Vector load(std::size_t i) const {
    return __ldcs(reinterpret_cast<const float4*>(in) + i);  // read once
  }
  template <class Op>
  __device__ static void add(float (&sums)[4], Vector v) {
    sums[0] = Op::add(sums[0], v.x);
    sums[1] = Op::add(sums[1], v.y);
    sums[2] = Op::add(sums[2], v.z);
    sums[3] = Op::add(sums[3], v.w);
  }
  template <class Op>
  __device__ float add_one(float sum, std::size_t i) const {
    return Op::add(sum, in[i]);
  }
};

/// The inputs of a reduction of pairs. Op: identity(), add(sum, x, y), combine(sum, sum).
struct TwoInputs {
  const float* a;
  const float* b;
  struct Vector {
    float4 a, b;
  };
  __device__ Vector load(std::size_t i) const {
    return {__ldcs(reinterpret_cast<const float4*>(a) + i),
            __ldcs(reinterpret_cast<const float4*>(b) + i)};
  }
  template <class Op>
  __device__ static void add(float (&sums)[4], const Vector& v) {
    sums[0] = Op::add(sums[0], v.a.x, v.b.x);
    sums[1] = Op::add(sums[1], v.a.y, v.b.y);
    sums[2] = Op::add(sums[2], v.a.z, v.b.z);
    sums[3] = Op::add(sums[3], v.a.w, v.b.w);
  }
  template <class Op>
  __device__ float add_one(float sum, std::size_t i) const {
    return Op::add(sum, a[i], b[i]);
  }
};

/// Combines the block's values, always in the same order; thread 0 has the result.
template <class Op, unsigned threads>
__device__ float combine_block(float value) {
  constexpr unsigned warps = threads / warp_threads;
  __shared__ float of_warp[warps];
  const unsigned lane = threadIdx.x % warp_threads;
  for (unsigned half = warp_threads / 2; half > 0; half /= 2) {
    value = Op::combine(value, __shfl_down_sync(~0U, value, half));
  }
  if constexpr (warps > 1) {
    __syncthreads();  // an earlier call may still read of_warp
    if (lane == 0) {
      of_warp[threadIdx.x / warp_threads] = value;
    }
    __syncthreads();
    if (threadIdx.x < warp_threads) {
      value = lane < warps ? of_warp[lane] : Op::identity();
      for (unsigned half = warp_threads / 2; half > 0; half /= 2) {
        value = Op::combine(value, __shfl_down_sync(~0U, value, half));
      }
    }
  }
  return value;
}

/// The aggregate of this thread's share of the input: the block's runs of `vectors * threads`
/// vectors, and in block 0 the last n % 4 elements.
template <class Op, class Shape, class Inputs>
__device__ float reduce_stride(Inputs inputs, std::size_t n) {
  constexpr std::size_t run = std::size_t{Shape::threads} * Shape::vectors;
  const std::size_t vectors = n / float4_floats;
  float sums[float4_floats] = {Op::identity(), Op::identity(), Op::identity(), Op::identity()};
  for (std::size_t first = blockIdx.x * run; first < vectors; first += gridDim.x * run) {
    const std::size_t i = first + threadIdx.x;
    if (first + run <= vectors) {
      typename Inputs::Vector loaded[Shape::vectors];
#pragma unroll
      for (unsigned j = 0; j < Shape::vectors; ++j) {
        loaded[j] = inputs.load(i + j * Shape::threads);
      }
#pragma unroll
      for (unsigned j = 0; j < Shape::vectors; ++j) {
        Inputs::template add<Op>(sums, loaded[j]);
      }
    } else {
      for (std::size_t k = i; k < vectors; k += Shape::threads) {
        Inputs::template add<Op>(sums, inputs.load(k));
      }
    }
  }
  if (blockIdx.x == 0 && threadIdx.x < n % float4_floats) {
    sums[0] = inputs.template add_one<Op>(sums[0], vectors * float4_floats + threadIdx.x);
  }
  return Op::combine(Op::combine(sums[0], sums[1]), Op::combine(sums[2], sums[3]));
}

/// State shared by the blocks of a launch. All zero before the first launch; each launch leaves it
/// ready for the next, so that a graph can be replayed.
struct ReduceProgress {
  unsigned launches;  ///< completed; that plus one, modulo 2^32, marks what this launch publishes
  unsigned begun;     ///< blocks
};

/// Publishes a block's aggregate in the same word as a mark, which needs neither a fence nor a
/// count.
__device__ inline void publish(unsigned long long* place, unsigned mark, float value) {
  const unsigned long long word =
      static_cast<unsigned long long>(mark) << 32 | __float_as_uint(value);
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(place), "l"(word) : "memory");
}

/// Waits until a block has published its aggregate under this mark.
__device__ inline float observe(const unsigned long long* place, unsigned mark) {
  unsigned long long word = 0;
  do {
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(place) : "memory");
  } while (static_cast<unsigned>(word >> 32) != mark);
  return __uint_as_float(static_cast<unsigned>(word));
}

/// published: one word per block.
template <class Op, class Shape, class Inputs>
__global__ __launch_bounds__(Shape::threads, Shape::blocks_per_sm) void reduce_kernel(
    Inputs inputs, float* __restrict__ out, std::size_t n, ReduceProgress* progress,
    unsigned long long* published) {
  __shared__ unsigned shared_mark;
  __shared__ bool begun_last;
  // Requested before the loads, needed only after them.
  unsigned before = 0;
  unsigned mark = 0;
  if (threadIdx.x == 0 && gridDim.x > 1) {
    before = atomicAdd(&progress->begun, 1U);
    mark = __ldcg(&progress->launches) + 1;
  }
  const float of_thread = reduce_stride<Op, Shape>(inputs, n);
  if (threadIdx.x == 0) {
    begun_last = before == gridDim.x - 1;
    shared_mark = mark;
  }
  const float of_block = combine_block<Op, Shape::threads>(of_thread);
  if (gridDim.x == 1) {
    if (threadIdx.x == 0) {
      *out = of_block;
    }
    return;
  }
  if (threadIdx.x == 0) {
    publish(published + blockIdx.x, mark, of_block);
  }
  // All other blocks began before this one, so they end without it.
  if (!begun_last) {
    return;
  }
  float value = Op::identity();
  for (unsigned i = threadIdx.x; i < gridDim.x; i += Shape::threads) {
    value = Op::combine(value, observe(published + i, shared_mark));
  }
  value = combine_block<Op, Shape::threads>(value);
  if (threadIdx.x == 0) {
    *out = value;
    progress->begun = 0;
    progress->launches = mark;
  }
}

/// Blocks that n elements keep busy, at most as many as run at once. At least one, which writes the
/// neutral element if n = 0.
template <class Shape>
unsigned reduce_blocks(std::size_t n, unsigned sms) {
  constexpr std::size_t run = std::size_t{Shape::threads} * Shape::vectors * float4_floats;
  return static_cast<unsigned>(
      std::clamp<std::size_t>(n / run + (n % run != 0), 1, sms * Shape::blocks_per_sm));
}

/// Elements whose bytes a signed 64-bit difference counts.
inline constexpr std::size_t most_floats =
    std::numeric_limits<std::ptrdiff_t>::max() / sizeof(float);

inline void require_reduction_input(const char* launcher, const char* name, const float* in,
                                    std::size_t n) {
  require_at_most(launcher, n, most_floats);
  if (n > 0) {
    require_pointer(launcher, name, in, sizeof(float4));
  }
}

/// The offset of the published words in a GridReduction's storage: they have their own cache lines.
inline constexpr std::size_t published_offset = 128 / sizeof(unsigned long long);

template <class Op, class Shape, class Inputs>
void GridReduction::launch(const char* launcher, Inputs inputs, float* out, std::size_t n,
                           cudaStream_t stream) {
  static_assert(Shape::blocks_per_sm <= most_reduce_blocks_per_sm);
  require_pointer(launcher, "out", out, alignof(float));
  auto* const progress = reinterpret_cast<ReduceProgress*>(storage_.data());
  unsigned long long* const published = storage_.data() + published_offset;
  const unsigned blocks = reduce_blocks<Shape>(n, sms_);
  reduce_kernel<Op, Shape>
      <<<blocks, Shape::threads, 0, stream>>>(inputs, out, n, progress, published);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
