// SPDX-License-Identifier: Apache-2.0
// C[m,n] = A[m,k] * B[k,n], all row-major, contiguous, on the device: 2mnk flops.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include <warpgauge/cuda/device_array.hpp>
#include "kernels/gemm/cublas_handle.hpp"

namespace warpgauge::kernels {

/// Rows of A and C, columns of B and C, terms of each sum.
struct GemmShape {
  std::size_t m, n, k;
};

// All launchers below: a has m*k elements, b k*n, c m*n (expected: count doubles); c overlaps
// neither input. Asynchronous on stream; can be captured into a graph. m = 0 or n = 0 does nothing.
// Throw std::invalid_argument for k = 0, a null or misaligned pointer, or a shape above the stated
// limit; std::runtime_error for a refused launch.

/// The first rung of the ladder, not a fast kernel: one output per thread. Neighbouring threads
/// compute different rows, so that every load of A fetches a cache line for 4 bytes. At most
/// 2^31 - 1 output tiles of 32 x 32.
void gemm_naive(const float* a, const float* b, float* c, GemmShape shape, cudaStream_t stream);

/// One output per thread. Blocks share 32 x 32 tiles of A and B through shared memory, so that each
/// input is read from L2 once per 32 outputs. At most 2^31 - 1 output tiles of 32 x 32.
void gemm_tiled(const float* a, const float* b, float* c, GemmShape shape, cudaStream_t stream);

/// How cuBLAS multiplies floats.
enum class FloatProducts : std::uint8_t {
  fp32,  ///< as they are, without tensor cores
  tf32,  ///< reduced to 11 bits of significand, on tensor cores (CUBLAS_COMPUTE_32F_FAST_TF32)
};

/// cuBLAS, with sums in fp32. Floats are multiplied as FloatProducts says. f16 and bf16 run on
/// tensor cores and are rounded to the type once at the end, even if a sum was split
/// (CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION). Holds a handle and a workspace on the device
/// that is current at construction. The workspace is explicit because cuBLAS otherwise allocates
/// during capture. A graph of this object's calls uses the workspace and must not outlive the
/// object. One stream and one thread at a time.
class CublasGemm {
 public:
  /// What cuBLAS itself recommends for Hopper; older devices need less (cuBLAS documentation,
  /// "cublasSetWorkspace").
  static constexpr std::size_t default_workspace_bytes = std::size_t{32} << 20;

  /// Throws std::invalid_argument for 0 bytes, std::runtime_error if CUDA or cuBLAS fails.
  explicit CublasGemm(std::size_t workspace_bytes = default_workspace_bytes,
                      FloatProducts floats = FloatProducts::fp32);

  /// T: float, __half or __nv_bfloat16. m, n and k are at most 2^31 - 1 (cuBLAS counts in int).
  /// Throws as the launchers above.
  template <class T>
  void operator()(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
    batched(a, b, c, shape, 1, stream);
  }

  /// `batch` products of one shape, whose matrices follow each other in memory. batch, too, is at
  /// most 2^31 - 1; 0 does nothing.
  template <class T>
  void batched(const T* a, const T* b, T* c, GemmShape shape, std::size_t batch,
               cudaStream_t stream);

 private:
  FloatProducts floats_;
  DeviceArray<std::byte> workspace_;  // before handle_: freed after it
  CublasHandle handle_;
};

/// How B lies in memory.
enum class GemmB : std::uint8_t {
  row_major,   ///< [k,n]
  transposed,  ///< [n,k]: each column of B is contiguous
};

/// expected[i] = element first + i of the flattened C for i < count, summed in double precision in
/// order of k; products of two T are exact in double. T: float, __half, __nv_bfloat16 or
/// __nv_fp8_e4m3. A window of C is enough to verify a large one. count = 0 does nothing. Also
/// throws std::invalid_argument if first + count > m*n, and for more than 2^31 - 1 blocks of 16
/// rows x 256 columns.
template <class T>
void gemm_reference(const T* a, const T* b, double* expected, GemmShape shape, std::size_t first,
                    std::size_t count, cudaStream_t stream, GemmB layout = GemmB::row_major);

/// GEMM of one row, as in decoding, without a library: C[1,n] = A[1,k] * B[k,n], 2 k n flops. T:
/// __half or __nv_bfloat16; sums are in fp32 and rounded to T once. b is aligned to 16 bytes. If n
/// is not a multiple of 8, the rows of b are not, and are read element by element.
/// n <= 32 * (2^31 - 1).
template <class T>
void gemv(const T* a, const T* b, T* c, std::size_t n, std::size_t k, cudaStream_t stream);

/// Version of the cuBLAS in use, which may differ from the one compiled against: "13.1.0". Throws
/// std::runtime_error if cuBLAS fails.
std::string cublas_version();

}  // namespace warpgauge::kernels
