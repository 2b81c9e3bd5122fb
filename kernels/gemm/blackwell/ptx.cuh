// SPDX-License-Identifier: Apache-2.0
// Blackwell's fifth-generation tensor cores as functions, for pairs of blocks (cta_group::2):
// tensor memory, products, commits to barriers. Source: PTX ISA 9.0, "TensorCore 5th Generation
// Family Instructions". The blocks of a pair are those of a cluster of two; block 0 issues the
// products.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace warpgauge::kernels::blackwell {

inline constexpr unsigned both_blocks = 0b11;

/// Allocates `Columns` columns (a power of two from 32) of 128 lanes of 32 bits in the tensor
/// memory of both blocks, and writes their address to shared memory. Call from one warp of each
/// block, the same of both and after both have started, and release them as well.
template <unsigned Columns>
__device__ inline void allocate_tensor_memory(unsigned to) {
  asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(to),
               "n"(Columns)
               : "memory");
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;");
}
template <unsigned Columns>
__device__ inline void release_tensor_memory(unsigned address) {
  asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address),
               "n"(Columns));
}

/// Order tcgen05 instructions against those of other threads: before a barrier, and behind it.
__device__ inline void fence_before_barrier() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
__device__ inline void fence_after_barrier() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

/// A matrix descriptor. Bits 0-13: address; 16-29: leading byte offset; 32-45: stride byte offset;
/// each without its lowest 4 bits. Bits 46-48: always 1. Bits 61-63: swizzle, 2 for 128 bytes.
__device__ inline std::uint64_t descriptor(unsigned address, unsigned leading, unsigned stride) {
  constexpr auto field = [](unsigned bytes) { return std::uint64_t{(bytes & 0x3FFFFU) >> 4}; };
  return field(address) | field(leading) << 16 | field(stride) << 32 | std::uint64_t{1} << 46 |
         std::uint64_t{2} << 61;
}

/// The instruction descriptor of kind::f16 for sums in fp32, A contiguous along k and B along n.
/// Bits 4-5: type of the sums, 1 for fp32; 7-9 and 10-12: types of A and B, 0 for f16 and 1 for
/// bf16; 16: B is MN-major; 17-22: n / 8; 24-28: m / 16.
__device__ constexpr std::uint32_t instruction(unsigned m, unsigned n, bool bf16) {
  const std::uint32_t type = bf16 ? 1 : 0;
  return 1U << 4 | type << 7 | type << 10 | 1U << 16 | n / 8 << 17 | m / 16 << 24;
}

/// Starts d = A B, plus d if `add`, for 16 terms; A and B in the shared memory of both blocks, d in
/// the tensor memory of both. Call from one thread of block 0.
__device__ inline void multiply_async(unsigned d, std::uint64_t a, std::uint64_t b,
                                      std::uint32_t instruction, bool add) {
  asm volatile(
      "{\n"
      " .reg .pred add;\n"
      " setp.ne.b32 add, %4, 0;\n"
      " tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, add;\n"
      "}" ::"r"(d),
      "l"(a), "l"(b), "r"(instruction), "r"(static_cast<int>(add))
      : "memory");
}

/// Has the barrier at this address in both blocks arrived at once when all products that this
/// thread has started are complete.
__device__ inline void commit_products_to(unsigned barrier) {
  asm volatile(
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
      "[%0], %1;" ::"r"(barrier),
      "h"(static_cast<unsigned short>(both_blocks))
      : "memory");
}

/// The address, in the cluster's shared memory, of what lies at `address` in block 0.
__device__ inline unsigned in_block_0(unsigned address) {
  unsigned mapped = 0;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(mapped) : "r"(address));
  return mapped;
}

/// Starts copying a box to this block's shared memory. `barrier` counts its bytes; it may belong to
/// the other block, see in_block_0().
__device__ inline void load_box_of_pair(unsigned to, const CUtensorMap& map, unsigned x, unsigned y,
                                        unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".cta_group::2 [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

/// Loads 32 columns of 32 lanes of tensor memory, a lane for each thread of the warp. A warp may
/// access the lanes from 32 times its index in its warpgroup on; those are bits 16-31 of `address`.
__device__ inline void load_sums(float (&sums)[32], unsigned address) {
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x32.b32 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31"
      "}, [%32];\n"
      "tcgen05.wait::ld.sync.aligned;"
      : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3]), "=f"(sums[4]), "=f"(sums[5]),
        "=f"(sums[6]), "=f"(sums[7]), "=f"(sums[8]), "=f"(sums[9]), "=f"(sums[10]), "=f"(sums[11]),
        "=f"(sums[12]), "=f"(sums[13]), "=f"(sums[14]), "=f"(sums[15]), "=f"(sums[16]),
        "=f"(sums[17]), "=f"(sums[18]), "=f"(sums[19]), "=f"(sums[20]), "=f"(sums[21]),
        "=f"(sums[22]), "=f"(sums[23]), "=f"(sums[24]), "=f"(sums[25]), "=f"(sums[26]),
        "=f"(sums[27]), "=f"(sums[28]), "=f"(sums[29]), "=f"(sums[30]), "=f"(sums[31])
      : "r"(address)
      : "memory");
}

}  // namespace warpgauge::kernels::blackwell
