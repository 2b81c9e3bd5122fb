// SPDX-License-Identifier: Apache-2.0
// wgmma for TF32 and e4m3. It requires A and B contiguous along k, so B is stored as [n,k]. A row
// of a box is 128 bytes: 32 terms of TF32 or 128 of e4m3. One instruction adds 32 bytes of terms,
// so both matrices have the layout and the steps of A with 16-bit types.
#pragma once

#include <cuda_fp8.h>

#include "kernels/hopper/wgmma.cuh"

namespace warpgauge::kernels::hopper {

/// Stands for element type In with B stored as [n,k].
template <class In>
struct KMajor {};

// These types are always K-major, so the instruction has no immediates for transposing.

/// The tensor cores ignore the 13 lowest bits of a float.
template <>
struct Wgmma<float> {
  static constexpr char k_and_types[] = "k8.f32.tf32.tf32";
  static constexpr char immediates[] = "1, 1";
};
template <>
struct Wgmma<__nv_fp8_e4m3> {
  static constexpr char k_and_types[] = "k32.f32.e4m3.e4m3";
  static constexpr char immediates[] = "1, 1";
};

/// 16-bit types may be K-major, too: B is then not transposed.
template <>
struct Wgmma<KMajor<__nv_bfloat16>> {
  static constexpr char k_and_types[] = "k16.f32.bf16.bf16";
  static constexpr char immediates[] = "1, 1, 0, 0";
};

/// Overload of multiply_stage() in wgmma.cuh.
template <class In, unsigned Blocks, unsigned Sums>
__device__ inline void multiply_stage(KMajor<In>, float (&sums)[Blocks][Sums], unsigned a,
                                      unsigned b, bool add) {
  const std::uint64_t first_a = descriptor_a(a);
  const std::uint64_t first_b = descriptor_a(b);  // 8 columns further lies a pattern further
  begin_products();
#pragma unroll
  for (unsigned step = 0; step < box_row_bytes / 32; ++step) {
#pragma unroll
    for (unsigned block = 0; block < Blocks; ++block) {
      multiply_async<In>(sums[block], first_a + step * a_step + block * a_block,
                         first_b + step * a_step, add || step > 0);
    }
  }
  commit_products();
}

}  // namespace warpgauge::kernels::hopper
