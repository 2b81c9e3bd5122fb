// SPDX-License-Identifier: Apache-2.0
// C[m,n] = A[m,k] * B[k,n] by cuBLASLt, NVIDIA's only library with 8-bit floats. Its caller can
// choose among its algorithms.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include <warpgauge/cuda/device_array.hpp>
#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels {

/// Whether the current device multiplies 8-bit floats: compute capability 8.9 or newer.
/// Throws std::runtime_error if CUDA fails.
bool multiplies_fp8();

/// Whether the current device and this CUDA multiply numbers with a scale factor for each block of
/// terms: compute capability 10.0 and CUDA 12.8 or newer. Throws std::runtime_error if CUDA fails.
bool multiplies_blocks();

/// Two numbers of 4 bits, the first in the lower half: a sign and 0, 0.5, 1, 1.5, 2, 3, 4 or 6
/// (e2m1). With a scale factor in e4m3 for each 16 terms this is NVFP4.
struct E2m1Pair {
  std::uint8_t bits;
};

/// With a scale factor in e8m0, a power of two, for each 32 terms: MXFP8.
struct ScaledE4m3 {
  __nv_fp8_e4m3 number;
};

/// numbers[2 i] and numbers[2 i + 1] are those of pairs[i], exactly. Asynchronous on stream. Does
/// nothing for 0 pairs.
void unpack(const E2m1Pair* pairs, __nv_fp8_e4m3* numbers, std::size_t pairs_count,
            cudaStream_t stream);

/// Which of the algorithms that cuBLASLt's heuristic ranks.
enum class LtChoice : std::uint8_t {
  first,   ///< the heuristic's own choice
  fastest  ///< of its first 16, as timed on the current device at construction
};

/// What adds up the products of 8-bit floats.
enum class Fp8Sums : std::uint8_t {
  fp32,          ///< fp32 units, which add partial sums of the tensor cores
  tensor_cores,  ///< the tensor cores alone, with about 14 bits (CUBLASLT_MATMUL_DESC_FAST_ACCUM)
  /// fp32 units, which multiply the sums of 128 terms by the scales of their blocks first: see
  /// kernels/quantized/scaled.hpp. Compute capability 9.0 alone, cuBLAS 12.9.
  fp32_scaled,
};

/// Sums are in fp32; each result is rounded once to Out. In and Out: both __half, both
/// __nv_bfloat16 or both float, multiplied as TF32; or __nv_bfloat16 from __nv_fp8_e4m3, summed as
/// Fp8Sums says, from ScaledE4m3 or from E2m1Pair, all with scale factors 1. A is row-major [m,k],
/// C row-major [m,n], B as GemmB says. Tensor cores take 8 bits and less only if both inputs are
/// contiguous along k, so these need GemmB::transposed ("TN", cuBLASLt documentation,
/// "cublasLtMatmul()"). An object is for one shape: the algorithm is chosen at construction. It
/// holds a workspace on the device that is current then. A graph of its calls uses the workspace
/// and must not outlive the object. One stream and one thread at a time.
template <class In, class Out>
class CublasLtGemm {
 public:
  /// Throws std::invalid_argument if k = 0, if k or n numbers of In are not a multiple of 16 bytes,
  /// if scaled k is not a multiple of 512, or for 0 bytes of workspace; std::runtime_error if the
  /// device does not multiply In on tensor cores or cuBLASLt knows no algorithm.
  /// LtChoice::fastest waits for the device.
  explicit CublasLtGemm(GemmShape shape, GemmB layout, LtChoice choice = LtChoice::first,
                        Fp8Sums sums = Fp8Sums::fp32,
                        std::size_t workspace_bytes = CublasGemm::default_workspace_bytes);
  ~CublasLtGemm();
  CublasLtGemm(const CublasLtGemm&) = delete;
  CublasLtGemm& operator=(const CublasLtGemm&) = delete;
  CublasLtGemm(CublasLtGemm&&) noexcept;
  CublasLtGemm& operator=(CublasLtGemm&&) noexcept;

  /// Each pointer is aligned to 16 bytes. Asynchronous on stream; can be captured. Does nothing if
  /// m = 0 or n = 0. Throws like the launchers of gemm.hpp.
  void operator()(const In* a, const In* b, Out* c, cudaStream_t stream);

  /// The same, of an object with Fp8Sums::fp32_scaled. `a_scales` and `b_scales`: see ScaledRows
  /// and ScaledTiles.
  void operator()(const In* a, const float* a_scales, const In* b, const float* b_scales, Out* c,
                  cudaStream_t stream);

 private:
  struct Plan;  // cuBLASLt's handle, descriptors and algorithm: spares every reader its headers

  GemmShape shape_;
  std::unique_ptr<Plan> plan_;
};

}  // namespace warpgauge::kernels
