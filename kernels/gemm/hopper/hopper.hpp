// SPDX-License-Identifier: Apache-2.0
// C[m,n] = A[m,k] * B[k,n] with Hopper's wgmma and TMA. All matrices are row-major, contiguous and
// in device memory. (BLAS calls this layout NN. B is contiguous along n; wgmma transposes it while
// reading, which it can do for 16-bit types only.) Each rung changes one thing of the rung before.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <array>

#include "kernels/gemm/gemm.hpp"
#include "kernels/hopper/tensor_map.hpp"

namespace warpgauge::kernels {

// All launchers below: T is __half or __nv_bfloat16. Sums are fp32; each result is rounded once to
// T. a has m*k elements, b has k*n, c has m*n and overlaps neither input. All three are aligned to
// 16 bytes. m is any number; k and n are multiples of 8, because TMA needs rows aligned to 16
// bytes. Launches are asynchronous on stream and can be captured into a graph. m = 0 or n = 0 does
// nothing. Throw std::invalid_argument for k = 0, another k or n, a null or misaligned pointer, an
// extent above 2^31 - 1025, or more than 2^31 - 1 output tiles of the stated size; throw
// std::runtime_error on a device without wgmma and if CUDA refuses the launch.
//
// An output adds its stages (128 bytes of a row of A) in order, with two exceptions.
// gemm_wgmma_serpentine and what builds on it (gemm_wgmma_dependent_launch, _early_loads,
// _staggered_end, _best and _k_major) add those of a block's every other tile in reverse order.
// Where terms are split, the sums of the parts are added in the order of the parts. Which tiles and
// how many parts depends on the shape and the device alone, so one device always gives the same
// bits, and another one may differ in the last.

/// TMA loads a stage, then a warpgroup multiplies it. Tiles of 64 x 128.
template <class T>
void gemm_wgmma(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// Tiles of 128 x 128.
template <class T>
void gemm_wgmma_large_tile(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// A producer warpgroup, a consumer warpgroup, and a ring of stages. Tiles of 128 x 128.
template <class T>
void gemm_wgmma_producer(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// Two consumers. Tiles of 128 x 256.
template <class T>
void gemm_wgmma_two_consumers(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// Persistent blocks. Tiles of 128 x 256.
template <class T>
void gemm_wgmma_persistent(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// Clusters of two blocks that share B. Tiles of 256 x 256 per cluster, as for all rungs below that
/// do not say otherwise.
template <class T>
void gemm_wgmma_multicast(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// TMA stores C.
template <class T>
void gemm_wgmma_tma_store(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// The order of tiles reuses inputs in the L2.
template <class T>
void gemm_wgmma_l2_order(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// stmatrix writes the sums to shared memory.
template <class T>
void gemm_wgmma_stmatrix(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// Every other group of tile rows goes through its columns backwards, and every other tile of a
/// block through its terms, so the L2 still has what it needs first.
template <class T>
void gemm_wgmma_serpentine(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// The kernel may start before the one before it in the stream has ended, and waits for that end
/// before its first load.
template <class T>
void gemm_wgmma_dependent_launch(const T* a, const T* b, T* c, GemmShape shape,
                                 cudaStream_t stream);

/// The first stages are loaded before the cluster synchronises.
template <class T>
void gemm_wgmma_early_loads(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// The consumers of a block's last tile end one after the other.
template <class T>
void gemm_wgmma_staggered_end(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// Alternative to gemm_wgmma_stmatrix: two consumers take turns, each with its own tile. Tiles of
/// 256 x 128.
template <class T>
void gemm_wgmma_ping_pong(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// For few tiles: the blocks of a cluster split the k terms of one tile. Tiles of 64 x 128 or
/// 64 x 256 for up to 64 rows, otherwise of 128 x 256.
template <class T>
void gemm_wgmma_split_k(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// The rung that suits the shape: gemm_wgmma_split_k, gemm_wgmma_staggered_end, or
/// gemm_wgmma_dependent_launch with smaller tiles: 64 x 64 (in clusters of two that share B), 64 x
/// 128 (in such clusters or alone), 64 x 256, 128 x 128 or 128 x 192.
template <class T>
void gemm_wgmma_best(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// Stream-K: clusters share the stages of those tiles that would not fill the last turns of all
/// multiprocessors. Tiles of 64 x 64 to 256 x 256, see tile_choice.cuh. T and the conditions are
/// those of the launchers above. Results do not depend on timing. An object is for one shape, and
/// holds partial sums on the device that is current at construction. A graph of its calls uses them
/// and must not outlive the object. One stream and one thread at a time.
template <class T>
class GemmWgmmaStreamK {
 public:
  /// Throws as the launchers, for the shape.
  explicit GemmWgmmaStreamK(GemmShape shape);

  /// Throws as the launchers.
  void operator()(const T* a, const T* b, T* c, cudaStream_t stream);

 private:
  GemmShape shape_;
  unsigned clusters_ = 0;
  unsigned split_tiles_ = 0;
  DeviceArray<float> partial_sums_;
  DeviceArray<unsigned> ready_;  ///< 0 before and after each launch
};

/// gemm_wgmma_dependent_launch with both inputs contiguous along k ("TN"), the only layout that
/// wgmma accepts for these types: B is stored transposed, row-major [n,k]. In and Out are either
/// float and float, multiplied as TF32 truncated to 11 bits; or __nv_fp8_e4m3 and __nv_bfloat16,
/// summed in the tensor cores alone, which keep about 14 bits (as cuBLASLt's faster, less exact
/// mode). k of In and n of Out are multiples of 16 bytes; otherwise as above. Tiles of 256 x 256.
template <class In, class Out>
void gemm_wgmma_k_major(const In* a, const In* b_transposed, Out* c, GemmShape shape,
                        cudaStream_t stream);

/// One rung of the ladder.
template <class T>
struct WgmmaRung {
  const char* name;
  void (*launch)(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);
};

/// The ladder, about slowest first; then an alternative rung, the kernel for few tiles and the
/// choice by shape.
template <class T>
inline constexpr std::array<WgmmaRung<T>, 16> wgmma_ladder{{
    {"gemm_wgmma", gemm_wgmma},
    {"gemm_wgmma_large_tile", gemm_wgmma_large_tile},
    {"gemm_wgmma_producer", gemm_wgmma_producer},
    {"gemm_wgmma_two_consumers", gemm_wgmma_two_consumers},
    {"gemm_wgmma_persistent", gemm_wgmma_persistent},
    {"gemm_wgmma_multicast", gemm_wgmma_multicast},
    {"gemm_wgmma_tma_store", gemm_wgmma_tma_store},
    {"gemm_wgmma_l2_order", gemm_wgmma_l2_order},
    {"gemm_wgmma_stmatrix", gemm_wgmma_stmatrix},
    {"gemm_wgmma_serpentine", gemm_wgmma_serpentine},
    {"gemm_wgmma_dependent_launch", gemm_wgmma_dependent_launch},
    {"gemm_wgmma_early_loads", gemm_wgmma_early_loads},
    {"gemm_wgmma_staggered_end", gemm_wgmma_staggered_end},
    {"gemm_wgmma_ping_pong", gemm_wgmma_ping_pong},
    {"gemm_wgmma_split_k", gemm_wgmma_split_k},
    {"gemm_wgmma_best", gemm_wgmma_best},
}};

}  // namespace warpgauge::kernels
