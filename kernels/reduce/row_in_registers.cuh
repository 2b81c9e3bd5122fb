// SPDX-License-Identifier: Apache-2.0
// Shared by softmax and layer norm: a row is read once with 16-byte loads, stays in the registers
// of a warp, a block or a cluster while these reduce it, and is written once.
#pragma once

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>

namespace warpgauge::kernels {

/// The threads that hold a row: `blocks` blocks (a cluster if more than one) of `threads` threads,
/// each with `vectors` times 16 bytes. In `runs`, all vectors of a warp are contiguous; otherwise
/// the first ones of all threads are, then the second ones.
template <unsigned threads_, unsigned vectors_, unsigned blocks_ = 1, bool runs_ = false>
struct RowShape {
  static constexpr unsigned threads = threads_;
  static constexpr unsigned vectors = vectors_;
  static constexpr unsigned blocks = blocks_;
  static constexpr bool runs = runs_;
  using InRuns = RowShape<threads, vectors, blocks, true>;
  static constexpr unsigned warps = threads / 32;
  /// From one vector of a thread to its next.
  static constexpr unsigned step = runs ? 32 : threads * blocks;
  /// 16-byte vectors that a row may have.
  static constexpr unsigned most_vectors = vectors * threads * blocks;
  // Limits a thread to 64 registers: half of an SM's threads then fit at once.
  static constexpr unsigned least_blocks_per_sm = 1024 / threads;
};

template <class T>
inline constexpr unsigned vector_elements = sizeof(uint4) / sizeof(T);

/// Makes the compiler unpack bf16 again. Otherwise the values that it unpacked from `bits` before
/// stay in registers, twice as many. `zero` is 0, but the compiler must not know that.
template <class T>
__device__ void forget_unpacked(uint4& bits, unsigned zero) {
  if constexpr (sizeof(T) < sizeof(float)) {
    bits = make_uint4(bits.x + zero, bits.y + zero, bits.z + zero, bits.w + zero);
  }
}

__device__ inline void unpack(uint4 bits, float (&x)[4]) {
  x[0] = __uint_as_float(bits.x);
  x[1] = __uint_as_float(bits.y);
  x[2] = __uint_as_float(bits.z);
  x[3] = __uint_as_float(bits.w);
}

// A bf16 is the upper half of the float with the same value.
__device__ inline void unpack(uint4 bits, float (&x)[8]) {
  const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) {
    x[2 * j] = __uint_as_float(words[j] << 16);
    x[2 * j + 1] = __uint_as_float(words[j] & 0xffff0000U);
  }
}

/// e^x for x <= 0, by one multiplication and the hardware's power of two, which errs by at most
/// 2^-22 of its result (PTX ISA, "ex2"). Results below 2^-126 become 0.
__device__ inline float power_of_e(float x) {
  float power = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504F));
  return power;
}

/// 16 bytes of -infinity: never the largest of a row, and its power is 0.
template <class T>
__device__ uint4 nothing() {
  const unsigned word = sizeof(T) == 4 ? 0xff80'0000U : 0xff80'ff80U;
  return make_uint4(word, word, word, word);
}

/// Reads this thread's vectors of a row, `from` and at steps of Shape::step; those past the row's
/// end become `past`. A `full` row has Shape::most_vectors. Nothing reads a row twice, so it does
/// not stay in the caches.
template <class Shape, bool full = false>
__device__ void hold_row(uint4 (&held)[Shape::vectors], const uint4* from, unsigned first,
                         unsigned row_vectors, uint4 past = make_uint4(0, 0, 0, 0)) {
#pragma unroll
  for (unsigned j = 0; j < Shape::vectors; ++j) {
    held[j] = full || first + j * Shape::step < row_vectors ? __ldcs(from + j * Shape::step) : past;
  }
}

__device__ inline uint4 pack(const float (&x)[4]) {
  return make_uint4(__float_as_uint(x[0]), __float_as_uint(x[1]), __float_as_uint(x[2]),
                    __float_as_uint(x[3]));
}

__device__ inline uint4 pack(const float (&x)[8]) {
  unsigned words[4];
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(x[2 * j], x[2 * j + 1]);
    words[j] = *reinterpret_cast<const unsigned*>(&pair);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

/// Combines the elements of one vector in pairs: in a chain they would wait for one another.
template <unsigned n, class Combine>
__device__ float fold(const float (&x)[n], Combine combine) {
  if constexpr (n == 4) {
    return combine(combine(x[0], x[1]), combine(x[2], x[3]));
  } else {
    return combine(combine(combine(x[0], x[1]), combine(x[2], x[3])),
                   combine(combine(x[4], x[5]), combine(x[6], x[7])));
  }
}

struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// The threads that hold one row. All of them call every member together. They combine up to
/// `most_values` values of each thread at once.
template <class Shape, unsigned most_values = 1>
class RowGroup {
 public:
  /// Shared memory of a block. It has two sets, so that a reduction does not overwrite what slower
  /// threads still read of the previous one.
  struct Storage {
    float partials[2][most_values][Shape::blocks * Shape::warps];
  };

  __device__ explicit RowGroup(Storage& storage) : storage_(storage) {
#if __CUDA_ARCH__ >= 900
    if constexpr (Shape::blocks > 1) {
      // No block may write to another's shared memory before that runs; reduce() waits for it.
      cooperative_groups::this_cluster().barrier_arrive();
    }
#endif
  }

  /// The first 16-byte vector of the row that this thread holds; the others follow at steps of
  /// Shape::step.
  __device__ unsigned first() const {
    const unsigned thread = rank() * Shape::threads + threadIdx.x;
    return Shape::runs ? thread / 32 * Shape::vectors * 32 + thread % 32 : thread;
  }

  /// Combines all values of the group, always in the same order; every thread has the result.
  template <class Combine>
  __device__ float reduce(float value, float identity, Combine combine) {
    float values[1] = {value};
    reduce(values, identity, combine);
    return values[0];
  }

  /// The same for each of several values of a thread, in the time of one.
  template <unsigned count, class Combine>
  __device__ void reduce(float (&values)[count], float identity, Combine combine) {
    static_assert(count <= most_values);
#pragma unroll
    for (unsigned v = 0; v < count; ++v) {
      values[v] = reduce_warp(values[v], combine);
    }
    if constexpr (Shape::blocks * Shape::warps > 1) {
      constexpr unsigned partials = Shape::blocks * Shape::warps;
      float(&mine)[most_values][partials] = storage_.partials[set_];
      set_ ^= 1;
      const unsigned lane = threadIdx.x % 32;
      const unsigned warp = threadIdx.x / 32;
      if constexpr (Shape::blocks > 1) {
#if __CUDA_ARCH__ >= 900
        const auto cluster = cooperative_groups::this_cluster();
        if (!all_run_) {
          cooperative_groups::this_cluster().barrier_wait();
          all_run_ = true;
        }
        if (lane < Shape::blocks) {
#pragma unroll
          for (unsigned v = 0; v < count; ++v) {
            *cluster.map_shared_rank(mine[v] + rank() * Shape::warps + warp, lane) = values[v];
          }
        }
        cluster.sync();
#endif
      } else {
        if (lane == 0) {
#pragma unroll
          for (unsigned v = 0; v < count; ++v) {
            mine[v][warp] = values[v];
          }
        }
        __syncthreads();
      }
#pragma unroll
      for (unsigned v = 0; v < count; ++v) {
        values[v] = identity;
#pragma unroll
        for (unsigned i = 0; i < partials; i += 32) {
          values[v] = combine(values[v], i + lane < partials ? mine[v][i + lane] : identity);
        }
        values[v] = reduce_warp(values[v], combine);
      }
    }
  }

 private:
  __device__ static unsigned rank() {
#if __CUDA_ARCH__ >= 900
    if constexpr (Shape::blocks > 1) {
      return cooperative_groups::this_cluster().block_rank();
    }
#endif
    return 0;
  }

  // A butterfly: every lane ends with the same bits, because each adds the same pairs.
  template <class Combine>
  __device__ static float reduce_warp(float value, Combine combine) {
#pragma unroll
    for (unsigned distance = 16; distance > 0; distance /= 2) {
      value = combine(value, __shfl_xor_sync(~0U, value, distance));
    }
    return value;
  }

  Storage& storage_;
  unsigned set_ = 0;
  bool all_run_ = false;
};

}  // namespace warpgauge::kernels
