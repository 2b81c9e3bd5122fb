// SPDX-License-Identifier: Apache-2.0
// Groups of asynchronous copies to shared memory (cp.async, sm_80 and newer), for every rung of
// GEMM that has them.
#pragma once

namespace warpgauge::kernels {

/// Ends a group of copies: those started since the last call.
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most kLeft groups of this thread's copies are under way. What other threads
/// copied is there after a barrier behind it.
template <unsigned kLeft>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

}  // namespace warpgauge::kernels
