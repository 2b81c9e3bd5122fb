// SPDX-License-Identifier: Apache-2.0
// Rows on their way into shared memory while their threads work on an earlier one.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "kernels/reduce/row_in_registers.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned backward_stages = 3;  // a row that is used, and two on their way

/// Vectors of x and dy, each read by the thread that has copied it.
template <class Shape>
class RowRing {
 public:
  static constexpr unsigned stage_vectors = 2 * Shape::vectors * Shape::threads;
  static constexpr unsigned bytes = backward_stages * stage_vectors * sizeof(uint4);

  /// Zeroes what lies past the row; copies never write there.
  __device__ RowRing(uint4* memory, unsigned first, unsigned row_vectors)
      : memory_(memory + threadIdx.x), first_(first), row_vectors_(row_vectors) {
    for (unsigned i = 0; i < backward_stages * 2 * Shape::vectors; ++i) {
      if (first + i / 2 % Shape::vectors * Shape::step >= row_vectors) {
        memory_[i * Shape::threads] = make_uint4(0, 0, 0, 0);
      }
    }
  }

  /// Begins to copy a row; `real` is whether there is one. Either way counts as a copy.
  __device__ void fetch(const uint4* x, const uint4* dy, bool real) {
    uint4* const to = memory_ + filling_ * stage_vectors;
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      if (real && first_ + j * Shape::step < row_vectors_) {
        __pipeline_memcpy_async(to + 2 * j * Shape::threads, x + j * Shape::step, sizeof(uint4));
        __pipeline_memcpy_async(to + (2 * j + 1) * Shape::threads, dy + j * Shape::step,
                                sizeof(uint4));
      }
    }
    __pipeline_commit();
    filling_ = filling_ + 1 == backward_stages ? 0 : filling_ + 1;
  }

  /// Waits for the oldest row that was not used yet.
  __device__ void next() {
    __pipeline_wait_prior(backward_stages - 1);
    using_ = using_ + 1 == backward_stages ? 0 : using_ + 1;
  }
  __device__ uint4 x(unsigned j) const {
    return memory_[using_ * stage_vectors + 2 * j * Shape::threads];
  }
  __device__ uint4 dy(unsigned j) const {
    return memory_[using_ * stage_vectors + (2 * j + 1) * Shape::threads];
  }

 private:
  uint4* memory_;
  unsigned first_, row_vectors_;
  unsigned filling_ = 0;
  unsigned using_ = backward_stages - 1;
};

}  // namespace warpgauge::kernels
