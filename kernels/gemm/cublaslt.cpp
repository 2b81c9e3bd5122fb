// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/cublaslt.hpp"

#include <cublasLt.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/gemm/arguments.hpp"

namespace warpgauge::kernels {
namespace {

constexpr std::size_t alignment = 16;  // bytes of a row of 8-bit floats, and of every pointer

void check_lt(const char* call, cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(call) + ": " + cublasLtGetStatusName(status) + ": " +
                             cublasLtGetStatusString(status));
  }
}

/// Owns what one of cuBLASLt's create functions made; logs a failure to free it, since destructors
/// must not throw.
template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* object) const noexcept {
    const cublasStatus_t status = destroy(object);
    if (status != CUBLAS_STATUS_SUCCESS) {
      std::fprintf(stderr, "warpgauge: cuBLASLt frees an object: %s\n",
                   cublasLtGetStatusString(status));
    }
  }
};
template <class Handle, auto destroy>
using Owner = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<destroy>>;
using LtHandle = Owner<cublasLtHandle_t, cublasLtDestroy>;
using Operation = Owner<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owner<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owner<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

LtHandle create_handle() {
  cublasLtHandle_t handle = nullptr;
  check_lt("cublasLtCreate", cublasLtCreate(&handle));
  return LtHandle(handle);
}

Operation create_operation() {
  cublasLtMatmulDesc_t created = nullptr;
  check_lt("cublasLtMatmulDescCreate",
           cublasLtMatmulDescCreate(&created, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  Operation operation(created);
  const cublasOperation_t transposed = CUBLAS_OP_T;
  check_lt("cublasLtMatmulDescSetAttribute",
           cublasLtMatmulDescSetAttribute(created, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                          sizeof(transposed)));
  return operation;
}

/// Column by column, as cuBLASLt counts.
Layout create_layout(cudaDataType_t type, std::size_t rows, std::size_t columns) {
  cublasLtMatrixLayout_t created = nullptr;
  check_lt(
      "cublasLtMatrixLayoutCreate",
      cublasLtMatrixLayoutCreate(&created, type, rows, columns, static_cast<std::int64_t>(rows)));
  return Layout(created);
}

Preference create_preference(std::size_t workspace_bytes) {
  cublasLtMatmulPreference_t created = nullptr;
  check_lt("cublasLtMatmulPreferenceCreate", cublasLtMatmulPreferenceCreate(&created));
  Preference preference(created);
  const auto set = [created](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check_lt("cublasLtMatmulPreferenceSetAttribute",
             cublasLtMatmulPreferenceSetAttribute(created, attribute, &value, sizeof(value)));
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace_bytes));
  for (const auto which :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(which, static_cast<std::uint32_t>(alignment));
  }
  return preference;
}

GemmShape checked(GemmShape shape) {
  require_terms("CublasLtFp8Gemm", shape);
  if (shape.k % alignment != 0 || shape.n % alignment != 0) {
    throw std::invalid_argument(describe("CublasLtFp8Gemm", shape) +
                                ": cuBLASLt wants k and n to be multiples of 16 for 8-bit floats");
  }
  return shape;
}

}  // namespace

bool multiplies_fp8() {
  return has_compute_capability(8, 9);
}

/// cuBLASLt reads column by column, so it sees our row-major matrices transposed; it is asked for
/// C^T[n,m] = B^T[n,k] * A^T[k,m]. B^T, which is given as [n,k], it sees as [k,n] and transposes
/// back.
struct CublasLtFp8Gemm::Plan {
  Plan(GemmShape shape, std::size_t workspace_bytes)
      : workspace(require_workspace("CublasLtFp8Gemm", workspace_bytes)),
        handle(create_handle()),
        operation(create_operation()),
        b(create_layout(CUDA_R_8F_E4M3, shape.k, shape.n)),
        a(create_layout(CUDA_R_8F_E4M3, shape.k, shape.m)),
        c(create_layout(CUDA_R_16BF, shape.n, shape.m)) {
    const Preference preference = create_preference(workspace_bytes);
    int found = 0;
    check_lt("cublasLtMatmulAlgoGetHeuristic",
             cublasLtMatmulAlgoGetHeuristic(handle.get(), operation.get(), b.get(), a.get(),
                                            c.get(), c.get(), preference.get(), 1, &best, &found));
    if (found == 0) {
      throw std::runtime_error("CublasLtFp8Gemm: cuBLASLt knows no algorithm for this shape");
    }
  }

  DeviceArray<std::byte> workspace;  // first, and so freed last
  LtHandle handle;
  Operation operation;
  Layout b, a, c;
  cublasLtMatmulHeuristicResult_t best{};
};

CublasLtFp8Gemm::CublasLtFp8Gemm(GemmShape shape, std::size_t workspace_bytes)
    : shape_(checked(shape)) {
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  require_compute_capability("CublasLtFp8Gemm", 8, 9);
  plan_ = std::make_unique<Plan>(shape, workspace_bytes);
}

CublasLtFp8Gemm::~CublasLtFp8Gemm() = default;
CublasLtFp8Gemm::CublasLtFp8Gemm(CublasLtFp8Gemm&&) noexcept = default;
CublasLtFp8Gemm& CublasLtFp8Gemm::operator=(CublasLtFp8Gemm&&) noexcept = default;

void CublasLtFp8Gemm::operator()(const __nv_fp8_e4m3* a, const __nv_fp8_e4m3* b_transposed,
                                 __nv_bfloat16* c, cudaStream_t stream) {
  if (shape_.m == 0 || shape_.n == 0) {
    return;
  }
  require_gemm("CublasLtFp8Gemm", a, b_transposed, alignment, shape_);
  require_pointer("CublasLtFp8Gemm", "c", c, alignment);
  const float one = 1;
  const float zero = 0;
  check_lt("cublasLtMatmul",
           cublasLtMatmul(plan_->handle.get(), plan_->operation.get(), &one, b_transposed,
                          plan_->b.get(), a, plan_->a.get(), &zero, c, plan_->c.get(), c,
                          plan_->c.get(), &plan_->best.algo, plan_->workspace.data(),
                          plan_->workspace.size_bytes(), stream));
}

}  // namespace warpgauge::kernels
