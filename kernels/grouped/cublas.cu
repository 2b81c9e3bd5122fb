// SPDX-License-Identifier: Apache-2.0
#include "kernels/grouped/cublas.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <warpgauge/cuda/check.hpp>
#include "kernels/gemm/gemm.hpp"
#include "kernels/grouped/arguments.hpp"

namespace warpgauge::kernels {
namespace {

constexpr const char* owner = "CublasGrouped";

std::vector<std::int32_t> with_rows(GroupedShape shape, const std::vector<std::int32_t>& offsets) {
  if (offsets.size() != shape.experts + 1) {
    throw std::invalid_argument(std::string(owner) + ": " + std::to_string(offsets.size()) +
                                " offsets, " + std::to_string(shape.experts + 1) + " are needed");
  }
  if (offsets.front() != 0 || static_cast<std::size_t>(offsets.back()) != shape.rows ||
      !std::ranges::is_sorted(offsets)) {
    throw std::invalid_argument(std::string(owner) +
                                ": offsets must rise from 0 to rows=" + std::to_string(shape.rows));
  }
  std::vector<std::int32_t> experts;
  for (std::size_t expert = 0; expert < shape.experts; ++expert) {
    if (offsets[expert] < offsets[expert + 1]) {
      experts.push_back(static_cast<std::int32_t>(expert));
    }
  }
  return experts;
}

std::vector<int> rows_of(const std::vector<std::int32_t>& experts,
                         const std::vector<std::int32_t>& offsets) {
  std::vector<int> rows;
  for (const std::int32_t expert : experts) {
    const auto at = static_cast<std::size_t>(expert);
    rows.push_back(offsets[at + 1] - offsets[at]);
  }
  return rows;
}

}  // namespace

/// Writes the addresses of the matrices of experts[0, count).
__global__ void grouped_addresses_kernel(GroupedInputs<__nv_bfloat16> inputs, __nv_bfloat16* c,
                                         GroupedShape shape, const std::int32_t* experts,
                                         std::size_t count, const void** a_at, const void** b_at,
                                         void** c_at) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) {
    const auto expert = static_cast<std::size_t>(experts[i]);
    const auto row = static_cast<std::size_t>(inputs.offsets[expert]);
    a_at[i] = inputs.a + row * shape.k;
    b_at[i] = inputs.b + expert * shape.k * shape.n;
    c_at[i] = c + row * shape.n;
  }
}

CublasGrouped::CublasGrouped(GroupedShape shape, std::vector<std::int32_t> offsets)
    : shape_(shape),
      experts_(with_rows(shape, offsets)),
      rows_(rows_of(experts_, offsets)),
      as_is_(experts_.size(), CUBLAS_OP_N),
      n_(experts_.size(), static_cast<int>(shape.n)),
      k_(experts_.size(), static_cast<int>(shape.k)),
      sizes_(experts_.size(), 1),
      factors_(experts_.size(), 1),
      no_factors_(experts_.size(), 0),
      experts_on_device_(experts_),
      a_(experts_.size()),
      b_(experts_.size()),
      c_(experts_.size()),
      workspace_(CublasGemm::default_workspace_bytes),
      handle_(create_cublas()) {}

void CublasGrouped::operator()(GroupedInputs<__nv_bfloat16> inputs, __nv_bfloat16* c,
                               cudaStream_t stream) {
  if (shape_.rows == 0 || shape_.n == 0) {
    return;
  }
  require_grouped(owner, inputs, c, shape_, 128, 256);
  constexpr unsigned threads = 128;
  const std::size_t count = experts_.size();
  grouped_addresses_kernel<<<blocks_for(owner, count, threads), threads, 0, stream>>>(
      inputs, c, shape_, experts_on_device_.data(), count, a_.data(), b_.data(), c_.data());
  WARPGAUGE_CHECK(cudaGetLastError());
  use_cublas(handle_, workspace_, stream);
  // cuBLAS is column-major: it computes C^T[n,rows] = B^T[n,k] * A^T[k,rows] of each expert.
  check_cublas("cublasGemmGroupedBatchedEx",
               cublasGemmGroupedBatchedEx(
                   handle_.get(), as_is_.data(), as_is_.data(), n_.data(), rows_.data(), k_.data(),
                   factors_.data(), b_.data(), CUDA_R_16BF, n_.data(), a_.data(), CUDA_R_16BF,
                   k_.data(), no_factors_.data(), c_.data(), CUDA_R_16BF, n_.data(),
                   static_cast<int>(count), sizes_.data(), CUBLAS_COMPUTE_32F));
}

}  // namespace warpgauge::kernels
