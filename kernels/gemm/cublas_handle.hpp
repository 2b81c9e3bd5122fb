// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include <warpgauge/cuda/device_array.hpp>

struct cublasContext;  // what cublasHandle_t points to; spares every reader cuBLAS's headers

namespace warpgauge::kernels {

struct DestroyCublas {  // logs a failure to stderr: a destructor must not throw
  void operator()(cublasContext* handle) const noexcept;
};
using CublasHandle = std::unique_ptr<cublasContext, DestroyCublas>;

/// Throws std::runtime_error if cuBLAS fails.
CublasHandle create_cublas();

/// Throws std::runtime_error, beginning with the call, unless this cublasStatus_t is success.
void check_cublas(const char* call, int status);

/// Lets the handle's next calls work on the stream, with this workspace.
void use_cublas(const CublasHandle& handle, DeviceArray<std::byte>& workspace, cudaStream_t stream);

}  // namespace warpgauge::kernels
