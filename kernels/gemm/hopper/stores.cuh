// SPDX-License-Identifier: Apache-2.0
// Ways to store a warpgroup's sums from wgmma's register layout to C, 64 rows at a time.
#pragma once

#include "kernels/gemm/hopper/tiles.cuh"
#include "kernels/gemm/tensor_tiles.cuh"

namespace warpgauge::kernels::hopper {

/// Stores from registers, two neighbouring elements at once: four lanes cover 16 contiguous bytes
/// of a row. n is a multiple of 8, so both neighbours are inside or outside.
struct DirectStore {
  static constexpr unsigned bytes = 0;  ///< shared memory per warpgroup

  template <class T, unsigned Sums>
  static __device__ void store(const float (&sums)[Sums], const WgmmaArguments& arguments,
                               unsigned first_row, unsigned first_column, unsigned, unsigned) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x % warpgroup_threads / 32;
    const unsigned row = first_row + warp * 16 + lane / 4;
    const unsigned column = first_column + lane % 4 * 2;
    T* const to = static_cast<T*>(arguments.c) + (std::size_t{row} * arguments.n + column);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      if (row + half * 8 < arguments.m) {
        T* const to_row = to + std::size_t{half} * 8 * arguments.n;
#pragma unroll
        for (unsigned j = 0; j < Sums / 4; ++j) {
          if (column + j * 8 < arguments.n) {
            *reinterpret_cast<unsigned*>(to_row + j * 8) =
                round_two<T>(sums[j * 4 + half * 2], sums[j * 4 + half * 2 + 1]);
          }
        }
      }
    }
  }

  static __device__ void finish() {}
};

/// Writes 64 rows x 64 columns, sums `first` to `first` + 31 of each thread, to a box in shared
/// memory with TMA's swizzle, 32 bits at a time. The eight rows that a warp stores at once lie in
/// different 16-byte chunks, so they use different banks.
struct WordWriter {
  template <class T, unsigned Sums>
  static __device__ void write(const float (&sums)[Sums], unsigned first, unsigned box) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned row = threadIdx.x % warpgroup_threads / 32 * 16 + lane / 4;
#pragma unroll
    for (unsigned j = 0; j < 8; ++j) {
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned sum = first + j * 4 + half * 2;
        const unsigned to =
            box + (row + half * 8) * box_row_bytes + (j ^ row % 8) * 16 + lane % 4 * 4;
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(to),
                     "r"(round_two<T>(sums[sum], sums[sum + 1]))
                     : "memory");
      }
    }
  }
};

/// The same with stmatrix: a warp stores four 8 x 8 matrices at once, which are 16 rows x 16
/// columns. Lane i addresses row i % 16: its left chunk, or from lane 16 on its right chunk.
struct MatrixWriter {
  template <class T, unsigned Sums>
  static __device__ void write(const float (&sums)[Sums], unsigned first, unsigned box) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned row = threadIdx.x % warpgroup_threads / 32 * 16 + lane % 16;
#pragma unroll
    for (unsigned j = 0; j < 8; j += 2) {
      const unsigned sum = first + j * 4;
      const unsigned to = box + row * box_row_bytes + ((j + lane / 16) ^ row % 8) * 16;
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                   "r"(round_two<T>(sums[sum], sums[sum + 1])),
                   "r"(round_two<T>(sums[sum + 2], sums[sum + 3])),
                   "r"(round_two<T>(sums[sum + 4], sums[sum + 5])),
                   "r"(round_two<T>(sums[sum + 6], sums[sum + 7]))
                   : "memory");
    }
  }
};

/// The same for floats, 64 bits at a time; a box has 32 columns.
struct FloatWriter {
  template <class T, unsigned Sums>
  static __device__ void write(const float (&sums)[Sums], unsigned first, unsigned box) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned row = threadIdx.x % warpgroup_threads / 32 * 16 + lane / 4;
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) {
      const unsigned chunk = (j * 2 + lane % 4 / 2) ^ row % 8;
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned sum = first + j * 4 + half * 2;
        const unsigned to = box + (row + half * 8) * box_row_bytes + chunk * 16 + lane % 2 * 8;
        store_two(to, sums[sum], sums[sum + 1]);
      }
    }
  }
};

/// Stores through shared memory and TMA in boxes of 128 bytes per row: TMA writes whole lines,
/// clips them to the matrix, and no thread waits for the writes. Boxes rotate through `Buffers`
/// buffers, which must divide the number of boxes in a row.
///
/// Hand-over from threads to copies: each thread writes its share of the box, makes it visible with
/// fence.proxy.async, and arrives at the warpgroup's barrier; then one thread starts the copy.
/// Hand-over back: that thread waits until the copy that last used the buffer has read it (at most
/// Buffers - 1 later copies may still be reading), then the barrier releases all threads.
template <class Writer, unsigned Buffers>
struct BoxStore {
  static constexpr unsigned box_bytes = wgmma_m * box_row_bytes;
  static constexpr unsigned bytes = Buffers * box_bytes;

  template <class T, unsigned Sums>
  static __device__ void store(const float (&sums)[Sums], const WgmmaArguments& arguments,
                               unsigned row, unsigned column, unsigned memory, unsigned barrier) {
    constexpr unsigned columns = box_row_bytes / sizeof(T);
    constexpr unsigned boxes = Sums * 2 / columns;
    static_assert(boxes % Buffers == 0, "each tile begins with the first buffer");
    const bool begins_copies = threadIdx.x % warpgroup_threads == 0;
#pragma unroll
    for (unsigned i = 0; i < boxes; ++i) {
      const unsigned box = memory + i % Buffers * box_bytes;
      if (begins_copies) {
        wait_until_stores_have_read<Buffers - 1>();
      }
      synchronize_warpgroup(barrier);
      Writer::template write<T>(sums, i * columns / 2, box);
      fence_proxy_async();
      synchronize_warpgroup(barrier);
      if (begins_copies) {
        store_box(arguments.c_map, column + i * columns, row, box);
        commit_stores();
      }
    }
  }

  /// Call before the block exits, because copies still read its shared memory. The end of the
  /// kernel completes their writes.
  static __device__ void finish() {
    if (threadIdx.x % warpgroup_threads == 0) {
      wait_until_stores_have_read<0>();
    }
  }
};

}  // namespace warpgauge::kernels::hopper
