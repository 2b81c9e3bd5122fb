// SPDX-License-Identifier: Apache-2.0
// Warp-level products of 16-bit types on tensor cores, their inputs from shared memory, and results
// rounded in pairs. Source:
// PTX ISA 9.0, "ldmatrix" and "mma".
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <type_traits>

namespace warpgauge::kernels {

/// Loads four 8 x 8 matrices of 16-bit elements (or 8 x 4 of 32 bits) from shared memory. Lane i
/// gives the address of row i % 8 of matrix i / 8.
__device__ inline void load_matrices(unsigned (&to)[4], unsigned row_address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row_address)
               : "memory");
}

/// The same for 16-bit elements, with each matrix transposed.
__device__ inline void load_matrices_transposed(unsigned (&to)[4], unsigned row_address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row_address)
               : "memory");
}

/// sums[4] += A[16, 16] B[16, 8]. T: __half or __nv_bfloat16.
template <class T>
__device__ inline void multiply_matrices(float* sums, const unsigned (&a)[4], unsigned b0,
                                         unsigned b1) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

/// Two 32-bit results, each rounded to T, in one word: the first in the lower half.
template <class T>
__device__ inline unsigned round_two(float low, float high) {
  unsigned packed = 0;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
    std::memcpy(&packed, &two, sizeof(packed));
  } else {
    const __half2 two = __floats2half2_rn(low, high);
    std::memcpy(&packed, &two, sizeof(packed));
  }
  return packed;
}

}  // namespace warpgauge::kernels
