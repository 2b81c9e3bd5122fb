// SPDX-License-Identifier: Apache-2.0
// Blackwell's tcgen05: one thread of a pair of blocks starts products of 256 x 256 x 16, whose sums
// lie in tensor memory. Each block loads its own 128 rows of A and half of the columns of B; the
// tensor cores read the other half from the peer, so nothing is loaded twice. Bound, by prediction,
// by the ends of tiles, when no product runs: a block makes one tile.
#include <type_traits>

#include <warpgauge/cuda/check.hpp>
#include "kernels/gemm/arguments.hpp"
#include "kernels/gemm/blackwell/blackwell.hpp"
#include "kernels/gemm/blackwell/ptx.cuh"
#include "kernels/gemm/copies.cuh"
#include "kernels/gemm/hopper/launch.hpp"
#include "kernels/gemm/tensor_tiles.cuh"
#include "kernels/hopper/ptx.cuh"
#include "kernels/hopper/tensor_map.hpp"

namespace warpgauge::kernels {
namespace blackwell {

// All boxes have rows of 128 bytes (64 elements) in TMA's 128-byte swizzle, whose pattern repeats
// every 8 rows. A is K-major: a row of a box is 64 terms of a row of A. B is MN-major: a row of a
// box is 64 columns of one term.
inline constexpr unsigned row_bytes = 128;
inline constexpr unsigned pattern_bytes = 8 * row_bytes;
inline constexpr unsigned stage_terms = 64;
inline constexpr unsigned instruction_terms = 16;
inline constexpr unsigned box_columns = 64;

inline constexpr unsigned block_m = 128;         ///< rows of A and of sums, per block
inline constexpr unsigned tile_m = 2 * block_m;  ///< of the pair
inline constexpr unsigned tile_n = 256;          ///< of the pair, and columns of sums per block
inline constexpr unsigned block_b_columns = tile_n / 2;
inline constexpr unsigned a_bytes = block_m * row_bytes;
inline constexpr unsigned b_box_bytes = stage_terms * row_bytes;
inline constexpr unsigned b_boxes = block_b_columns / box_columns;
inline constexpr unsigned stage_bytes = a_bytes + b_boxes * b_box_bytes;
inline constexpr unsigned stages = 6;
inline constexpr unsigned barriers = 2 * stages + 1;
inline constexpr unsigned shared_bytes = stages * stage_bytes + (barriers + 1) * 8;
inline constexpr unsigned threads = 128;
inline constexpr unsigned c_box_rows = 64;
inline constexpr unsigned c_box_bytes = c_box_rows * row_bytes;
static_assert(tile_n / box_columns * 2 * c_box_bytes <= stages * stage_bytes, "C takes the ring");
static_assert(shared_bytes <= 232'448, "of compute capability 10.0");

struct Arguments {
  CUtensorMap a_map, b_map, c_map;
  unsigned k, tile_rows;
};

/// Warp 0 of each block loads, warp 1 of block 0 multiplies; then all warps store C.
///
/// Hand-over from copies to products: barrier `full` of block 0 expects one arrival, by its warp 0,
/// which announces the bytes of both blocks. Those of block 1 may come before; they still belong to
/// this phase, because block 1 loads only after the stage's last products are complete.
/// Hand-over back: a commit arrives at `empty` of both blocks when the products that read the stage
/// are complete. The last commit arrives at `done` of both: the sums are there, and nothing
/// accesses the ring any more, so it takes C.
template <class T>
__global__ __cluster_dims__(2, 1, 1)
    __launch_bounds__(threads,
                      1) void gemm_tcgen05_kernel(const __grid_constant__ Arguments arguments) {
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
  using namespace hopper;
  extern __shared__ __align__(1024) unsigned char tcgen05_memory[];
  const unsigned memory = shared_address(tcgen05_memory);
  const auto full = [=](unsigned stage) { return memory + stages * stage_bytes + stage * 8; };
  const auto empty = [=](unsigned stage) { return full(stages + stage); };
  const unsigned done = full(2 * stages);
  const unsigned allocated = full(barriers);
  const unsigned warp = warp_index();
  const unsigned rank = cluster_rank();
  const unsigned tile = blockIdx.x / 2;
  const unsigned row = tile % arguments.tile_rows * tile_m + rank * block_m;
  const unsigned column = tile / arguments.tile_rows * tile_n;
  const unsigned all = (arguments.k + stage_terms - 1) / stage_terms;
  if (threadIdx.x == 0) {
    for (unsigned i = 0; i < barriers; ++i) {
      init_barrier(full(i), 1);
    }
    fence_barriers();
    prefetch_map(arguments.a_map);
    prefetch_map(arguments.b_map);
    prefetch_map(arguments.c_map);
  }
  exchange_in_cluster();  // both blocks run, as allocating in both requires
  if (warp == 2) {
    allocate_tensor_memory<tile_n>(allocated);
  }
  fence_before_barrier();
  exchange_in_cluster();
  fence_after_barrier();
  unsigned sums_address = 0;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(sums_address) : "r"(allocated) : "memory");
  if (warp == 0) {
    unsigned stage = 0, parity = 0;
    for (unsigned i = 0; i < all; ++i) {
      wait(empty(stage), parity ^ 1);
      if (elect_one()) {
        const unsigned a = memory + stage * stage_bytes;
        const unsigned counts = in_block_0(full(stage));
        if (rank == 0) {
          arrive_and_expect(full(stage), 2 * stage_bytes);
        }
        load_box_of_pair(a, arguments.a_map, i * stage_terms, row, counts);
#pragma unroll
        for (unsigned box = 0; box < b_boxes; ++box) {
          load_box_of_pair(a + a_bytes + box * b_box_bytes, arguments.b_map,
                           column + rank * block_b_columns + box * box_columns, i * stage_terms,
                           counts);
        }
      }
      __syncwarp();
      stage = stage + 1 == stages ? 0 : stage + 1;
      parity ^= stage == 0 ? 1 : 0;
    }
  } else if (warp == 1 && rank == 0) {
    constexpr std::uint32_t kind = instruction(tile_m, tile_n, std::is_same_v<T, __nv_bfloat16>);
    constexpr unsigned a_step = instruction_terms * sizeof(T) / 16;
    constexpr unsigned b_step = instruction_terms * row_bytes / 16;
    unsigned stage = 0, parity = 0;
    for (unsigned i = 0; i < all; ++i) {
      wait(full(stage), parity);
      fence_after_barrier();
      if (elect_one()) {
        const unsigned a = memory + stage * stage_bytes;
        // A: the next 8 rows are one pattern further. B: the next 8 terms are one pattern further,
        // the next 64 columns one box.
        const std::uint64_t first_a = descriptor(a, 16, pattern_bytes);
        const std::uint64_t first_b = descriptor(a + a_bytes, b_box_bytes, pattern_bytes);
#pragma unroll
        for (unsigned step = 0; step < stage_terms / instruction_terms; ++step) {
          multiply_async(sums_address, first_a + step * a_step, first_b + step * b_step, kind,
                         i > 0 || step > 0);
        }
        commit_products_to(empty(stage));
        if (i + 1 == all) {
          commit_products_to(done);
        }
      }
      __syncwarp();
      stage = stage + 1 == stages ? 0 : stage + 1;
      parity ^= stage == 0 ? 1 : 0;
    }
  }
  wait(done, 0);
  fence_after_barrier();
  // A thread has a row of the block's sums: 256 columns, written as rows of four boxes, eight
  // chunks of 16 bytes each. Lanes of eight neighbouring rows write to different chunks.
  const unsigned own_row = threadIdx.x;
#pragma unroll 1
  for (unsigned part = 0; part < tile_n / 32; ++part) {
    float sums[32];
    load_sums(sums, sums_address + (warp * 32 << 16) + part * 32);
    const unsigned to = memory + part / 2 * 2 * c_box_bytes + own_row * row_bytes;
#pragma unroll
    for (unsigned chunk = 0; chunk < 4; ++chunk) {
      const float* const from = sums + chunk * 8;
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(
                       to + ((part % 2 * 4 + chunk) ^ own_row % 8) * 16),
                   "r"(round_two<T>(from[0], from[1])), "r"(round_two<T>(from[2], from[3])),
                   "r"(round_two<T>(from[4], from[5])), "r"(round_two<T>(from[6], from[7]))
                   : "memory");
    }
  }
  fence_proxy_async();
  fence_before_barrier();
  exchange_in_cluster();  // both blocks have read their sums, and written C
  fence_after_barrier();
  if (threadIdx.x == 0) {
    for (unsigned box = 0; box < 2 * tile_n / box_columns; ++box) {
      store_box(arguments.c_map, column + box / 2 * box_columns, row + box % 2 * c_box_rows,
                memory + box * c_box_bytes);
    }
    commit_stores();
    wait_until_stores_have_read<0>();
  }
  if (warp == 2) {
    release_tensor_memory<tile_n>(sums_address);
  }
#endif
}

}  // namespace blackwell

template <class T>
void gemm_tcgen05(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using namespace blackwell;
  constexpr const char* launcher = "gemm_tcgen05";
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  require_gemm(launcher, a, b, chunk_bytes, shape);
  require_pointer(launcher, "c", c, chunk_bytes);
  const Tiles tiles = hopper::require_wgmma_shape(
      {.launcher = launcher, .tile_rows = block_m, .tile_columns = tile_n, .cluster = 2}, shape);
  const unsigned blocks = blocks_for(launcher, std::size_t{tiles.blocks()} * 2, 1);
  if (!has_tcgen05()) {
    require_compute_capability(launcher, 10);
    throw std::runtime_error(std::string(launcher) + ": needs compute capability 10.0 exactly");
  }
  const Arguments arguments{
      .a_map = hopper::tensor_map(launcher, a, shape.m, shape.k, block_m, sizeof(T)),
      .b_map = hopper::tensor_map(launcher, b, shape.k, shape.n, stage_terms, sizeof(T)),
      .c_map = hopper::tensor_map(launcher, c, shape.m, shape.n, c_box_rows, sizeof(T)),
      .k = static_cast<unsigned>(shape.k),
      .tile_rows = tiles.rows};
  WARPGAUGE_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(gemm_tcgen05_kernel<T>),
                                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(shared_bytes)));
  gemm_tcgen05_kernel<T><<<blocks, threads, shared_bytes, stream>>>(arguments);
  WARPGAUGE_CHECK(cudaGetLastError());
}

template void gemm_tcgen05(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_tcgen05(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*, GemmShape,
                           cudaStream_t);

}  // namespace warpgauge::kernels
