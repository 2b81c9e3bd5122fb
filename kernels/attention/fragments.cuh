// SPDX-License-Identifier: Apache-2.0
// mma.sync m16n8k16 for bf16, and its inputs from rows of a head in shared memory.
#pragma once

namespace warpgauge::kernels {

/// Byte offset of 8 elements of a row. Rows permute them, so that eight rows of one column, as
/// ldmatrix reads them, lie in different banks.
template <unsigned D>
__device__ inline unsigned chunk_of(unsigned row, unsigned chunk) {
  return (row * (D / 8) + (chunk ^ row % 8)) * 16;
}

__device__ inline void load_fragments(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

__device__ inline void load_fragments_transposed(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

/// sums[4] += A[16, 16] B[16, 8]
__device__ inline void multiply_fragments(float* sums, const unsigned (&a)[4], unsigned b0,
                                          unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace warpgauge::kernels
