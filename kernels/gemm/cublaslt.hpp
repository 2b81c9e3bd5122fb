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
/// __nv_bfloat16 or both float, multiplied as TF32; or __nv_fp8_e4m3 and __nv_bfloat16, summed as
/// Fp8Sums says, with all scale factors 1. A is row-major [m,k], C row-major [m,n], B as GemmB
/// says. Hopper's tensor cores take 8 bits only if both inputs are contiguous along k, so e4m3
/// needs GemmB::transposed ("TN", cuBLASLt documentation, "cublasLtMatmul()"). An object is for one
/// shape: the algorithm is chosen at construction. It holds a workspace on the device that is
/// current then. A graph of its calls uses the workspace and must not outlive the object. One
/// stream and one thread at a time.
template <class In, class Out>
class CublasLtGemm {
 public:
  /// Throws std::invalid_argument if k = 0, if k or n elements of In are not a multiple of 16
  /// bytes, if scaled k is not a multiple of 512, or for 0 bytes of workspace; std::runtime_error
  /// if the device does not multiply In on tensor cores or cuBLASLt knows no algorithm.
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
