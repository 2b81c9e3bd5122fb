// SPDX-License-Identifier: Apache-2.0
// Hopper's asynchronous instructions as functions: barriers in shared memory, bulk copies with
// tensor maps (TMA), clusters, register reallocation between warpgroups. Source: PTX ISA 9.0.
// Shared memory addresses are 32-bit; a barrier is 8 bytes, aligned to 8.
#pragma once

#include <cuda.h>

namespace warpgauge::kernels::hopper {

inline constexpr unsigned warpgroup_threads = 128;
inline constexpr unsigned barrier_bytes = 8;

// Barriers. A phase of a barrier completes when all arrivals have been made and the bytes that they
// announced have been written. Parity distinguishes phases: the first has parity 0, and waiting for
// parity 1 of a new barrier returns at once.

/// Call from one thread, then call fence_barriers() and synchronise all threads that use it.
__device__ inline void init_barrier(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes the barriers that this thread initialised visible to its cluster and to the async proxy
/// (bulk copies).
__device__ inline void fence_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Arrives and announces how many bytes copies will write in this phase.
__device__ inline void arrive_and_expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

__device__ inline void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives at the barrier at the same address in block `rank` of the cluster. It does not order
/// this block's ordinary loads and stores before later ones of other blocks: release at cluster
/// scope would cost a GPU-wide fence (nvcc 13.0).
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

/// Arrives once this thread's earlier cp.async are complete: one of the arrivals that
/// init_barrier() counts.
__device__ inline void arrive_after_copies(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

/// Waits until the phase of this parity is complete.
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

/// The warp's index in its block. Unlike threadIdx.x / 32, the compiler knows that it is the same
/// in the whole warp.
__device__ inline unsigned warp_index() {
  return __shfl_sync(~0U, threadIdx.x / 32, 0);
}

/// The warpgroup's index, likewise. Where a kernel branches on it, descriptors and addresses stay
/// in uniform registers. It costs a shuffle: the shortest products gain nothing.
__device__ inline unsigned warpgroup_index() {
  return warp_index() / (warpgroup_threads / 32);
}

/// Chooses one thread of a whole warp, the same at each call.
__device__ inline bool elect_one() {
  unsigned elected = 0;
  asm volatile(
      "{\n"
      " .reg .pred one;\n"
      " elect.sync _|one, 0xFFFFFFFF;\n"
      " selp.u32 %0, 1, 0, one;\n"
      "}"
      : "=r"(elected));
  return elected != 0;
}

// Copies with tensor maps. x and y are the column and row of the box's first element. Elements
// outside the matrix read as zero, still count as bytes, and are never written.

__device__ inline void prefetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// Starts copying a box to shared memory; the barrier counts its bytes.
__device__ inline void load_box(unsigned to, const CUtensorMap& map, unsigned x, unsigned y,
                                unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

/// The same from an array of matrices, from matrix z.
__device__ inline void load_box(unsigned to, const CUtensorMap& map, unsigned x, unsigned y,
                                unsigned z, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

/// The same into every block of the cluster whose bit is set in `blocks`, at the same address of
/// its shared memory; the barrier at the same address there counts the bytes.
__device__ inline void load_box_into(unsigned blocks, unsigned to, const CUtensorMap& map,
                                     unsigned x, unsigned y, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(static_cast<unsigned short>(blocks))
      : "memory");
}

/// Starts copying a box from shared memory.
__device__ inline void store_box(const CUtensorMap& map, unsigned x, unsigned y, unsigned from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
          &map),
      "r"(x), "r"(y), "r"(from)
      : "memory");
}

/// Closes this thread's current group of stores.
__device__ inline void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until all groups of this thread's stores but the latest `Pending` have read shared memory.
template <unsigned Pending>
__device__ inline void wait_until_stores_have_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

/// Makes this thread's earlier stores to shared memory (generic proxy) visible to copies and wgmma
/// (async proxy). A barrier must then order them before the thread that starts the copy.
__device__ inline void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// bar.sync for whole warps of a block; `number` is 1 to 15, because __syncthreads() uses 0.
template <unsigned Threads>
__device__ inline void synchronize_threads(unsigned number) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(Threads) : "memory");
}
/// Arrives at that barrier without waiting; the warps that synchronise there count these Threads
/// in.
template <unsigned Threads>
__device__ inline void arrive_for_threads(unsigned number) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "n"(Threads) : "memory");
}
__device__ inline void synchronize_warpgroup(unsigned number) {
  synchronize_threads<warpgroup_threads>(number);
}

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

/// Waits for all threads of the cluster. Their stores to shared memory are then visible to it.
__device__ inline void exchange_in_cluster() {
  asm volatile("barrier.cluster.arrive.release;\n barrier.cluster.wait.acquire;" ::: "memory");
}

/// Stores two floats to shared memory; `address` is aligned to 8 bytes.
__device__ inline void store_two(unsigned address, float first, float second) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(first), "f"(second)
               : "memory");
}

/// Loads four floats from `address`, aligned to 16 bytes, in the shared memory of block `rank` of
/// the cluster.
__device__ inline float4 load_from_cluster(unsigned address, unsigned rank) {
  float4 loaded;
  asm volatile(
      "{\n"
      " .reg .b32 remote;\n"
      " mapa.shared::cluster.u32 remote, %4, %5;\n"
      " ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [remote];\n"
      "}"
      : "=f"(loaded.x), "=f"(loaded.y), "=f"(loaded.z), "=f"(loaded.w)
      : "r"(address), "r"(rank)
      : "memory");
  return loaded;
}

/// Waits for all threads of the cluster. It does not publish ordinary stores, which would cost a
/// GPU-wide fence; fence_barriers() publishes the barriers.
__device__ inline void synchronize_cluster() {
  asm volatile("barrier.cluster.arrive.relaxed;\n barrier.cluster.wait;" ::: "memory");
}

/// Waits until the kernels before this one in the stream have completed and their writes are
/// visible. Returns at once in a kernel that the launch did not allow to start before that.
__device__ inline void wait_for_kernels_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// Lowers or raises this warpgroup's registers per thread. All its threads must execute this. A
/// warpgroup that claims registers waits until others have released enough.
template <unsigned Count>
__device__ inline void release_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}
template <unsigned Count>
__device__ inline void claim_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

}  // namespace warpgauge::kernels::hopper
