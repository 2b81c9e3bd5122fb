// SPDX-License-Identifier: Apache-2.0
// How the upper rungs fetch their tiles: 16 bytes at a time if rows allow it, else 4; zeros past
// the edges; and asynchronously (cp.async, sm_80 and newer).
#pragma once

#include <cstddef>
#include <cstdint>

namespace warpgauge::kernels {

/// Whether every row of a contiguous matrix with this many columns is aligned to 16 bytes.
inline bool rows_are_vectors(const float* matrix, std::size_t columns) {
  return reinterpret_cast<std::uintptr_t>(matrix) % sizeof(float4) == 0 && columns % 4 == 0;
}

/// from[0] to from[3]; only the first `left` exist, the others are zeros. kWide: from is a multiple
/// of 16 bytes, and either all four exist or none.
template <bool kWide>
__device__ inline float4 load_four(const float* from, std::size_t left) {
  if constexpr (kWide) {
    return left > 0 ? *reinterpret_cast<const float4*>(from) : float4{};
  } else {
    return {left > 0 ? from[0] : 0.0F, left > 1 ? from[1] : 0.0F, left > 2 ? from[2] : 0.0F,
            left > 3 ? from[3] : 0.0F};
  }
}

/// The reverse: stores the first `left` of four.
template <bool kWide>
__device__ inline void store_four(float* to, std::size_t left, float4 values) {
  if constexpr (kWide) {
    if (left > 0) {
      *reinterpret_cast<float4*>(to) = values;
    }
  } else {
    const float each[]{values.x, values.y, values.z, values.w};
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      if (i < left) {
        to[i] = each[i];
      }
    }
  }
}

__device__ inline unsigned shared_address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

/// Starts a copy of kBytes, 4 or 16, from device to shared memory. If `exists` is false, it reads
/// nothing and writes zeros. Copies of 16 bytes bypass the L1: every block reads its tiles once.
/// The pointers are typed because with void* nvcc (13.0) orders instructions differently.
template <unsigned kBytes, class To, class From>
__device__ inline void copy_async(To* to, const From* from, bool exists) {
  static_assert(kBytes == 4 || kBytes == 16);
  const unsigned address = shared_address(to);
  const unsigned bytes = exists ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
                 "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(from),
                 "r"(bytes)
                 : "memory");
  }
}

/// Starts a copy of data that exists, or does nothing if `wanted` is false. It has no branch, which
/// would split the multiply-adds around it into parts that the compiler cannot mix.
template <unsigned kBytes>
__device__ inline void copy_async_if(bool wanted, float* to, const float* from) {
  static_assert(kBytes == 4 || kBytes == 16);
  const unsigned address = shared_address(to);
  if constexpr (kBytes == 16) {
    asm volatile(
        "{\n.reg .pred wanted;\nsetp.ne.u32 wanted, %2, 0;\n"
        "@wanted cp.async.cg.shared.global [%0], [%1], 16;\n}" ::"r"(address),
        "l"(from), "r"(static_cast<unsigned>(wanted))
        : "memory");
  } else {
    asm volatile(
        "{\n.reg .pred wanted;\nsetp.ne.u32 wanted, %2, 0;\n"
        "@wanted cp.async.ca.shared.global [%0], [%1], 4;\n}" ::"r"(address),
        "l"(from), "r"(static_cast<unsigned>(wanted))
        : "memory");
  }
}

/// Ends a group of copies: those started since the last call.
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most kLeft groups of this thread's copies are in flight. Other threads' copies
/// have arrived after a subsequent barrier.
template <unsigned kLeft>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

}  // namespace warpgauge::kernels
