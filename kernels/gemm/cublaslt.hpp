// SPDX-License-Identifier: Apache-2.0
// C[m,n] = A[m,k] * B[k,n] of 8-bit floats by cuBLASLt, which alone of NVIDIA's libraries has it.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include <warpgauge/cuda/device_array.hpp>
#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels {

/// Whether the current device multiplies 8-bit floats: compute capability 8.9 or newer.
/// Throws std::runtime_error when CUDA fails.
bool multiplies_fp8();

/// e4m3 times e4m3, sums in fp32 without cuBLASLt's faster and less exact mode, rounded once to
/// bf16. All scale factors are 1. A is row-major [m,k], C row-major [m,n]; B is stored transposed,
/// row-major [n,k], so that both inputs are contiguous along k: Hopper's tensor cores take 8 bits
/// in no other order ("TN", cuBLASLt documentation, "cublasLtMatmul()"). For one shape: the
/// algorithm is chosen once, at construction, by cuBLASLt's heuristic. Holds a workspace on the
/// device that is current then; a graph made from this object's calls uses it and must not outlive
/// it. One stream and one thread at a time.
class CublasLtFp8Gemm {
 public:
  /// Throws std::invalid_argument when k = 0, when k or n is no multiple of 16 (which cuBLASLt asks
  /// of 8-bit rows), or for 0 bytes of workspace; std::runtime_error below compute capability 8.9,
  /// or when cuBLASLt knows no algorithm.
  explicit CublasLtFp8Gemm(GemmShape shape,
                           std::size_t workspace_bytes = CublasGemm::default_workspace_bytes);
  ~CublasLtFp8Gemm();
  CublasLtFp8Gemm(const CublasLtFp8Gemm&) = delete;
  CublasLtFp8Gemm& operator=(const CublasLtFp8Gemm&) = delete;
  CublasLtFp8Gemm(CublasLtFp8Gemm&&) noexcept;
  CublasLtFp8Gemm& operator=(CublasLtFp8Gemm&&) noexcept;

  /// Each pointer is a multiple of 16 bytes. Asynchronous on stream, can be captured. Nothing
  /// happens where m = 0 or n = 0. Throws as the launchers of gemm.hpp.
  void operator()(const __nv_fp8_e4m3* a, const __nv_fp8_e4m3* b_transposed, __nv_bfloat16* c,
                  cudaStream_t stream);

 private:
  struct Plan;  // cuBLASLt's handle, descriptors and algorithm: spares every reader its headers

  GemmShape shape_;
  std::unique_ptr<Plan> plan_;
};

}  // namespace warpgauge::kernels
