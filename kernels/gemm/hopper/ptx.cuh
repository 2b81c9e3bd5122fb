// SPDX-License-Identifier: Apache-2.0
// Hopper's asynchronous instructions as functions: barriers in shared memory, bulk copies of tiles
// by tensor maps (TMA), clusters, registers given from warpgroup to warpgroup. Written from the PTX
// ISA, version 9.0. Addresses in shared memory are 32-bit; a barrier is 8 bytes at a multiple of 8.
#pragma once

#include <cuda.h>

namespace warpgauge::kernels::hopper {

inline constexpr unsigned warpgroup_threads = 128;
inline constexpr unsigned barrier_bytes = 8;

// Barriers. A barrier's phase ends when its arrivals are in and the bytes that they announced have
// been written. Phases are told apart by parity: the first has parity 0, and waiting for parity 1
// of a new barrier returns at once.

/// By one thread, before fence_barriers() and a synchronisation of all who use it.
__device__ inline void init_barrier(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes the barriers that this thread initialised visible to its cluster and to copies (the async
/// proxy).
__device__ inline void fence_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Arrives, and announces bytes that copies will write in this phase.
__device__ inline void arrive_and_expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

__device__ inline void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives at the barrier that lies at the same place in block `rank` of the cluster. For what
/// other blocks do next it orders no ordinary loads or stores of this one, which at the cluster's
/// scope would cost a fence of the whole GPU (by nvcc 13.0).
__device__ inline void arrive_in_cluster(unsigned barrier, unsigned rank) {
  asm volatile(
      "{\n"
      " .reg .b32 remote;\n"
      " mapa.shared::cluster.u32 remote, %0, %1;\n"
      " mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

/// Waits until the phase of this parity has ended.
__device__ inline void wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n"
      " .reg .pred ended;\n"
      "again:\n"
      " mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      " @ended bra done;\n"
      " bra again;\n"
      "done:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Copies by tensor maps. x is the column of the tile's first element and y its row; what is outside
// of the matrix is read as zeros, counts as bytes all the same, and is not written.

__device__ inline void prefetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// Begins to copy a box to shared memory, and tells the barrier its bytes.
__device__ inline void load_box(unsigned to, const CUtensorMap& map, unsigned x, unsigned y,
                                unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

/// The same into every block of the cluster whose bit is set in `blocks`: to the same place in its
/// shared memory, telling the barrier at the same place there.
__device__ inline void load_box_into(unsigned blocks, unsigned to, const CUtensorMap& map,
                                     unsigned x, unsigned y, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(static_cast<unsigned short>(blocks))
      : "memory");
}

/// Begins to copy a box from shared memory.
__device__ inline void store_box(const CUtensorMap& map, unsigned x, unsigned y, unsigned from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
          &map),
      "r"(x), "r"(y), "r"(from)
      : "memory");
}

/// Closes a group of this thread's stores.
__device__ inline void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until all but this thread's latest `Pending` groups of stores have read shared memory.
template <unsigned Pending>
__device__ inline void wait_until_stores_have_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

/// Waits until all stores of this thread are complete.
__device__ inline void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Lets copies and wgmma (the async proxy) read what this thread has stored to shared memory before
/// (through the generic proxy). A barrier then carries that on to the thread that begins the copy.
__device__ inline void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Bar.sync among one warpgroup; `number` is 1 to 15, for 0 is __syncthreads()'s.
__device__ inline void synchronize_warpgroup(unsigned number) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(warpgroup_threads) : "memory");
}

/// The rank of this block in its cluster.
__device__ inline unsigned cluster_rank() {
  unsigned rank = 0;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ inline unsigned cluster_size() {
  unsigned size = 0;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}

/// Waits for all threads of the cluster, whose stores to shared memory all of it then sees.
__device__ inline void exchange_in_cluster() {
  asm volatile("barrier.cluster.arrive.release;\n barrier.cluster.wait.acquire;" ::: "memory");
}

/// Stores two floats to shared memory, at a multiple of 8 bytes.
__device__ inline void store_two(unsigned address, float first, float second) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(first), "f"(second)
               : "memory");
}

/// Two floats that lie at `address` in the shared memory of block `rank` of the cluster.
__device__ inline float2 load_from_cluster(unsigned address, unsigned rank) {
  float2 loaded;
  asm volatile(
      "{\n"
      " .reg .b32 remote;\n"
      " mapa.shared::cluster.u32 remote, %2, %3;\n"
      " ld.shared::cluster.v2.f32 {%0, %1}, [remote];\n"
      "}"
      : "=f"(loaded.x), "=f"(loaded.y)
      : "r"(address), "r"(rank)
      : "memory");
  return loaded;
}

/// Waits for all threads of the cluster. It publishes no ordinary stores, which would cost a fence
/// of the whole GPU; fence_barriers() has published barriers.
__device__ inline void synchronize_cluster() {
  asm volatile("barrier.cluster.arrive.relaxed;\n barrier.cluster.wait;" ::: "memory");
}

/// Lowers, or raises, this warpgroup's registers a thread. All of it executes this, and those to be
/// raised wait until others have let enough go.
template <unsigned Count>
__device__ inline void release_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}
template <unsigned Count>
__device__ inline void claim_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

}  // namespace warpgauge::kernels::hopper
