// SPDX-License-Identifier: Apache-2.0
// Grouped GEMM by cuBLAS, which needs to know on the host how many rows each expert has.
#pragma once

#include <cublas_v2.h>

#include <vector>

#include <warpgauge/cuda/device_array.hpp>
#include "kernels/gemm/cublas_handle.hpp"
#include "kernels/grouped/grouped.hpp"

namespace warpgauge::kernels {

/// cublasGemmGroupedBatchedEx in bf16, a group per expert with rows. A kernel before it writes the
/// matrices' addresses to device memory. Holds a workspace on the device that is current at
/// construction; a graph of its calls uses it and must not outlive the object. One stream and one
/// thread at a time.
class CublasGrouped {
 public:
  /// `offsets`: those of GroupedInputs, on the host. Throws std::invalid_argument unless they are
  /// experts + 1 that rise from 0 to rows, std::runtime_error if CUDA or cuBLAS fails.
  CublasGrouped(GroupedShape shape, std::vector<std::int32_t> offsets);

  /// Uses inputs.offsets too. Throws as the launchers of grouped.hpp, and if cuBLAS fails.
  void operator()(GroupedInputs<__nv_bfloat16> inputs, __nv_bfloat16* c, cudaStream_t stream);

 private:
  GroupedShape shape_;
  std::vector<std::int32_t> experts_;  ///< those with rows
  std::vector<int> rows_;              ///< of each of them
  // What cuBLAS reads on the host, the same for each group. A graph may read it again.
  std::vector<cublasOperation_t> as_is_;
  std::vector<int> n_, k_, sizes_;
  std::vector<float> factors_, no_factors_;
  DeviceArray<std::int32_t> experts_on_device_;
  DeviceArray<const void*> a_, b_;
  DeviceArray<void*> c_;
  DeviceArray<std::byte> workspace_;  // before handle_: freed after it
  CublasHandle handle_;
};

}  // namespace warpgauge::kernels
