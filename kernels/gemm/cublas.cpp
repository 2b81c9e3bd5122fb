// SPDX-License-Identifier: Apache-2.0
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/gemm/arguments.hpp"

namespace warpgauge::kernels {
namespace {

template <class T>
constexpr cudaDataType_t cuda_type() = delete;
template <>
constexpr cudaDataType_t cuda_type<float>() {
  return CUDA_R_32F;
}
template <>
constexpr cudaDataType_t cuda_type<__half>() {
  return CUDA_R_16F;
}
template <>
constexpr cudaDataType_t cuda_type<__nv_bfloat16>() {
  return CUDA_R_16BF;
}

}  // namespace

void DestroyCublas::operator()(cublasContext* handle) const noexcept {
  const cublasStatus_t status = cublasDestroy(handle);
  if (status != CUBLAS_STATUS_SUCCESS) {
    std::fprintf(stderr, "warpgauge: cublasDestroy: %s\n", cublasGetStatusString(status));
  }
}

CublasHandle create_cublas() {
  cublasHandle_t handle = nullptr;
  check_cublas("cublasCreate", cublasCreate(&handle));
  return CublasHandle(handle);
}

void check_cublas(const char* call, int status) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    const auto reported = static_cast<cublasStatus_t>(status);
    throw std::runtime_error(std::string(call) + ": " + cublasGetStatusName(reported) + ": " +
                             cublasGetStatusString(reported));
  }
}

void use_cublas(const CublasHandle& handle, DeviceArray<std::byte>& workspace,
                cudaStream_t stream) {
  // The workspace comes second, because cublasSetStream restores cuBLAS's own pool.
  check_cublas("cublasSetStream", cublasSetStream(handle.get(), stream));
  check_cublas("cublasSetWorkspace",
               cublasSetWorkspace(handle.get(), workspace.data(), workspace.size_bytes()));
}

CublasGemm::CublasGemm(std::size_t workspace_bytes, FloatProducts floats)
    : floats_(floats),
      workspace_(require_workspace("CublasGemm", workspace_bytes)),
      handle_(create_cublas()) {
  // Leaves float at its default. Split sums of 16-bit types would otherwise be added in 16 bits.
  check_cublas("cublasSetMathMode",
               cublasSetMathMode(handle_.get(), CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
}

template <class T>
void CublasGemm::batched(const T* a, const T* b, T* c, GemmShape shape, std::size_t batch,
                         cudaStream_t stream) {
  if (shape.m == 0 || shape.n == 0 || batch == 0) {
    return;
  }
  require_gemm("CublasGemm", a, b, alignof(T), shape);
  require_pointer("CublasGemm", "c", c, alignof(T));
  constexpr int most = std::numeric_limits<int>::max();
  const std::size_t largest = std::max({shape.m, shape.n, shape.k, batch});
  if (largest > static_cast<std::size_t>(most)) {
    throw std::invalid_argument("CublasGemm: a dimension of " + std::to_string(largest) +
                                " is more than cuBLAS's " + std::to_string(most));
  }
  const int m = static_cast<int>(shape.m);
  const int n = static_cast<int>(shape.n);
  const int k = static_cast<int>(shape.k);
  const auto elements = [](int rows, int columns) {
    return static_cast<long long>(rows) * static_cast<long long>(columns);
  };
  use_cublas(handle_, workspace_, stream);
  const float one = 1;
  const float zero = 0;
  constexpr cudaDataType_t type = cuda_type<T>();
  const cublasComputeType_t compute = std::is_same_v<T, float> && floats_ == FloatProducts::tf32
                                          ? CUBLAS_COMPUTE_32F_FAST_TF32
                                          : CUBLAS_COMPUTE_32F;
  // cuBLAS is column-major and sees our row-major matrices transposed. It computes C^T[n,m] =
  // B^T[n,k] * A^T[k,m], which is our C.
  if (batch == 1) {
    check_cublas("cublasGemmEx",
                 cublasGemmEx(handle_.get(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, type, n, a,
                              type, k, &zero, c, type, n, compute, CUBLAS_GEMM_DEFAULT));
  } else {
    check_cublas("cublasGemmStridedBatchedEx",
                 cublasGemmStridedBatchedEx(handle_.get(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one,
                                            b, type, n, elements(k, n), a, type, k, elements(m, k),
                                            &zero, c, type, n, elements(m, n),
                                            static_cast<int>(batch), compute, CUBLAS_GEMM_DEFAULT));
  }
}

template void CublasGemm::batched(const float*, const float*, float*, GemmShape, std::size_t,
                                  cudaStream_t);
template void CublasGemm::batched(const __half*, const __half*, __half*, GemmShape, std::size_t,
                                  cudaStream_t);
template void CublasGemm::batched(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*,
                                  GemmShape, std::size_t, cudaStream_t);

std::string cublas_version() {
  const auto number = [](libraryPropertyType which) {
    int value = 0;
    check_cublas("cublasGetProperty", cublasGetProperty(which, &value));
    return std::to_string(value);
  };
  return number(MAJOR_VERSION) + '.' + number(MINOR_VERSION) + '.' + number(PATCH_LEVEL);
}

}  // namespace warpgauge::kernels
