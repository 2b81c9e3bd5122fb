// SPDX-License-Identifier: Apache-2.0
#include <cublas_v2.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/arguments.hpp"
#include "kernels/gemm_arguments.hpp"
#include "kernels/launch_check.hpp"

namespace warpgauge::kernels {
namespace {

void check_cublas(const char* call, cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(call) + ": " + cublasGetStatusName(status) + ": " +
                             cublasGetStatusString(status));
  }
}

void* allocate_workspace(std::size_t bytes) {
  if (bytes == 0) {
    throw std::invalid_argument("CublasGemm: a workspace of 0 bytes, at least 1 is needed");
  }
  void* memory = nullptr;
  const std::string what = "CublasGemm: cudaMalloc of " + std::to_string(bytes) + " bytes";
  check_status(what.c_str(), cudaMalloc(&memory, bytes));
  return memory;
}

cublasHandle_t create_handle() {
  cublasHandle_t handle = nullptr;
  check_cublas("cublasCreate", cublasCreate(&handle));
  return handle;
}

}  // namespace

void CublasGemm::DestroyHandle::operator()(cublasContext* handle) const noexcept {
  const cublasStatus_t status = cublasDestroy(handle);
  if (status != CUBLAS_STATUS_SUCCESS) {
    std::fprintf(stderr, "warpgauge: cublasDestroy: %s\n", cublasGetStatusString(status));
  }
}

void CublasGemm::FreeDevice::operator()(void* memory) const noexcept {
  const cudaError_t status = cudaFree(memory);
  if (status != cudaSuccess) {
    std::fprintf(stderr, "warpgauge: cudaFree of cuBLAS's workspace: %s\n",
                 cudaGetErrorString(status));
  }
}

CublasGemm::CublasGemm(std::size_t workspace_bytes)
    : workspace_bytes_(workspace_bytes),
      workspace_(allocate_workspace(workspace_bytes)),
      handle_(create_handle()) {
  check_cublas("cublasSetMathMode", cublasSetMathMode(handle_.get(), CUBLAS_DEFAULT_MATH));
}

void CublasGemm::operator()(const float* a, const float* b, float* c, GemmShape shape,
                            cudaStream_t stream) {
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  require_gemm("CublasGemm", a, b, shape);
  require_pointer("CublasGemm", "c", c, alignof(float));
  constexpr int most = std::numeric_limits<int>::max();
  const std::size_t largest = std::max({shape.m, shape.n, shape.k});
  if (largest > static_cast<std::size_t>(most)) {
    throw std::invalid_argument("CublasGemm: a dimension of " + std::to_string(largest) +
                                " is more than cuBLAS's " + std::to_string(most));
  }
  const int m = static_cast<int>(shape.m);
  const int n = static_cast<int>(shape.n);
  const int k = static_cast<int>(shape.k);
  // The workspace goes second: cublasSetStream puts cuBLAS's own pool back.
  check_cublas("cublasSetStream", cublasSetStream(handle_.get(), stream));
  check_cublas("cublasSetWorkspace",
               cublasSetWorkspace(handle_.get(), workspace_.get(), workspace_bytes_));
  const float one = 1;
  const float zero = 0;
  // cuBLAS reads column by column, so it sees our row-major matrices transposed; it is asked for
  // C^T[n,m] = B^T[n,k] * A^T[k,m], which is our C.
  check_cublas("cublasGemmEx",
               cublasGemmEx(handle_.get(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, CUDA_R_32F,
                            n, a, CUDA_R_32F, k, &zero, c, CUDA_R_32F, n, CUBLAS_COMPUTE_32F,
                            CUBLAS_GEMM_DEFAULT));
}

std::string cublas_version() {
  const auto part = [](libraryPropertyType which) {
    int value = 0;
    check_cublas("cublasGetProperty", cublasGetProperty(which, &value));
    return std::to_string(value);
  };
  return part(MAJOR_VERSION) + '.' + part(MINOR_VERSION) + '.' + part(PATCH_LEVEL);
}

}  // namespace warpgauge::kernels
