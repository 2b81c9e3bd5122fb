// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/cublaslt.hpp"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include <warpgauge/cuda/seeded_data.hpp>
#include <warpgauge/cuda/stream.hpp>
#include "kernels/gemm/arguments.hpp"

namespace warpgauge::kernels {
namespace {

constexpr const char* owner = "CublasLtGemm";
constexpr std::size_t alignment = chunk_bytes;  // of rows and of every pointer

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
template <>
constexpr cudaDataType_t cuda_type<__nv_fp8_e4m3>() {
  return CUDA_R_8F_E4M3;
}

#if CUDART_VERSION >= 12080
constexpr bool knows_blocks = true;
template <>
constexpr cudaDataType_t cuda_type<E2m1Pair>() {
  return CUDA_R_4F_E2M1;
}
constexpr auto scale_mode_of_16 = CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
constexpr auto scale_mode_of_32 = CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
constexpr auto b_scale_mode = CUBLASLT_MATMUL_DESC_B_SCALE_MODE;
constexpr auto a_scale_mode = CUBLASLT_MATMUL_DESC_A_SCALE_MODE;
#else  // every object is refused before it uses these
constexpr bool knows_blocks = false;
template <>
constexpr cudaDataType_t cuda_type<E2m1Pair>() {
  return CUDA_R_8F_E4M3;
}
constexpr int scale_mode_of_16 = 0;
constexpr int scale_mode_of_32 = 0;
constexpr auto b_scale_mode = CUBLASLT_MATMUL_DESC_B_SCALE_POINTER;
constexpr auto a_scale_mode = CUBLASLT_MATMUL_DESC_A_SCALE_POINTER;
#endif
template <>
constexpr cudaDataType_t cuda_type<ScaledE4m3>() {
  return CUDA_R_8F_E4M3;
}

/// The numbers of an element, the type whose seeded values it takes, and its scale factors.
template <class T>
struct Numbers {
  using Seeded = T;
  static constexpr std::size_t count = 1;
  static constexpr std::size_t block = 0;  ///< terms per scale factor; 0 without
};
template <>
struct Numbers<ScaledE4m3> {
  using Seeded = __nv_fp8_e4m3;
  static constexpr std::size_t count = 1;
  static constexpr std::size_t block = 32;
  static constexpr unsigned char one = 0x7F;
  static constexpr auto scale_mode = scale_mode_of_32;
};
template <>
struct Numbers<E2m1Pair> {
  using Seeded = std::uint8_t;
  static constexpr std::size_t count = 2;
  static constexpr std::size_t block = 16;
  static constexpr unsigned char one = 0x38;
  static constexpr auto scale_mode = scale_mode_of_16;
};

void check_lt(const char* call, cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(call) + ": " + cublasLtGetStatusName(status) + ": " +
                             cublasLtGetStatusString(status));
  }
}

/// Owns what a create function of cuBLASLt returned. It logs a failure to free it, since
/// destructors must not throw.
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

template <class Value>
void set_attribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
                   const Value& value) {
  check_lt("cublasLtMatmulDescSetAttribute",
           cublasLtMatmulDescSetAttribute(operation, attribute,
                                          reinterpret_cast<const void*>(&value), sizeof(value)));
}

/// cuBLASLt's A is our B.
void scale_by_blocks(cublasLtMatmulDesc_t operation) {
#if CUBLAS_VERSION >= 120900
  const std::int32_t tiles = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  const std::int32_t rows = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
  set_attribute(operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, tiles);
  set_attribute(operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, rows);
#else
  static_cast<void>(operation);
  throw std::runtime_error(std::string(owner) + ": scales per block need cuBLAS 12.9");
#endif
}

void set_scales(cublasLtMatmulDesc_t operation, const float* a_scales, const float* b_scales) {
  set_attribute(operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, b_scales);
  set_attribute(operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, a_scales);
}

Operation create_operation(cublasComputeType_t compute, GemmB layout, Fp8Sums sums) {
  cublasLtMatmulDesc_t created = nullptr;
  check_lt("cublasLtMatmulDescCreate", cublasLtMatmulDescCreate(&created, compute, CUDA_R_32F));
  Operation operation(created);
  set_attribute(created, CUBLASLT_MATMUL_DESC_TRANSA,
                layout == GemmB::transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (sums == Fp8Sums::tensor_cores) {
    set_attribute(created, CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  } else if (sums == Fp8Sums::fp32_scaled) {
    scale_by_blocks(created);
  }
  return operation;
}

/// Column-major, as in cuBLASLt.
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

constexpr std::size_t scaled_terms = 128;
/// cuBLASLt pads the scales of a column of tiles to four; ours are not padded.
constexpr std::size_t terms_of_four_scales = 4 * scaled_terms;

GemmShape checked(GemmShape shape, std::size_t numbers, Fp8Sums sums) {
  require_terms(owner, shape);
  if (shape.k % numbers != 0 || shape.n % numbers != 0) {
    throw std::invalid_argument(describe(owner, shape) +
                                ": k and n must be multiples of 16 bytes' numbers, " +
                                std::to_string(numbers));
  }
  if (sums == Fp8Sums::fp32_scaled && shape.k % terms_of_four_scales != 0) {
    throw std::invalid_argument(describe(owner, shape) +
                                ": with scales, k must be a multiple of 512");
  }
  return shape;
}

}  // namespace

bool multiplies_fp8() {
  return has_compute_capability(8, 9);
}

bool multiplies_blocks() {
  return knows_blocks && has_compute_capability(10);
}

/// cuBLASLt is column-major and sees our row-major matrices transposed. It computes C^T[n,m] =
/// B^T[n,k] * A^T[k,m]. A B given as [n,k] looks like [k,n] to it; it transposes that back.
template <class In, class Out>
struct CublasLtGemm<In, Out>::Plan {
  Plan(GemmShape shape, GemmB b_layout, LtChoice choice, Fp8Sums sums, std::size_t workspace_bytes)
      : workspace(require_workspace(owner, workspace_bytes)),
        handle(create_handle()),
        operation(create_operation(
            std::is_same_v<In, float> ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, b_layout,
            sums)),
        b(b_layout == GemmB::transposed ? create_layout(cuda_type<In>(), shape.k, shape.n)
                                        : create_layout(cuda_type<In>(), shape.n, shape.k)),
        a(create_layout(cuda_type<In>(), shape.k, shape.m)),
        c(create_layout(cuda_type<Out>(), shape.n, shape.m)) {
    scale_by_one(shape);
    if (sums == Fp8Sums::fp32_scaled) {
      some_scales = DeviceArray<float>(std::max(shape.m, shape.n) * (shape.k / scaled_terms));
      set_scales(operation.get(), some_scales.data(), some_scales.data());
    }
    const Preference preference = create_preference(workspace_bytes);
    constexpr int most = 16;
    std::array<cublasLtMatmulHeuristicResult_t, most> candidates{};
    int found = 0;
    check_lt("cublasLtMatmulAlgoGetHeuristic",
             cublasLtMatmulAlgoGetHeuristic(handle.get(), operation.get(), b.get(), a.get(),
                                            c.get(), c.get(), preference.get(),
                                            choice == LtChoice::fastest ? most : 1,
                                            candidates.data(), &found));
    if (found == 0) {
      throw std::runtime_error(std::string(owner) + ": cuBLASLt knows no algorithm for this shape");
    }
    algorithm = candidates[0].algo;
    if (found > 1) {
      algorithm = fastest(shape, {candidates.data(), static_cast<std::size_t>(found)});
    }
  }

  /// Sets the factors of blocks, if In has any. They lie in tiles of 128 rows x 4 blocks. All are
  /// 1, so A and B share them.
  void scale_by_one(GemmShape shape) {
    if constexpr (Numbers<In>::block > 0) {
      const auto whole = [](std::size_t count, std::size_t of) {
        return (count + of - 1) / of * of;
      };
      const std::size_t blocks = whole(shape.k, Numbers<In>::block) / Numbers<In>::block;
      factors =
          DeviceArray<unsigned char>(whole(std::max(shape.m, shape.n), 128) * whole(blocks, 4));
      const Stream stream;
      factors.fill_bytes(Numbers<In>::one, stream.get());
      stream.synchronize();
      const void* const first = factors.data();
      set_attribute(operation.get(), a_scale_mode, Numbers<In>::scale_mode);
      set_attribute(operation.get(), b_scale_mode, Numbers<In>::scale_mode);
      set_attribute(operation.get(), CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, first);
      set_attribute(operation.get(), CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, first);
    }
  }

  void multiply(const In* a_data, const In* b_data, Out* c_data, const cublasLtMatmulAlgo_t& by,
                cudaStream_t stream) {
    const float one = 1;
    const float zero = 0;
    check_lt("cublasLtMatmul",
             cublasLtMatmul(handle.get(), operation.get(), &one, b_data, b.get(), a_data, a.get(),
                            &zero, c_data, c.get(), c_data, c.get(), &by, workspace.data(),
                            workspace.size_bytes(), stream));
  }

  /// Compares the shortest of five times, with a rest of three times their length between products,
  /// which gives the clock at which a benchmark runs.
  cublasLtMatmulAlgo_t fastest(GemmShape shape,
                               std::span<const cublasLtMatmulHeuristicResult_t> candidates) {
    using Seeded = typename Numbers<In>::Seeded;
    DeviceArray<Seeded> some_a(shape.m * shape.k / Numbers<In>::count);
    DeviceArray<Seeded> some_b(shape.k * shape.n / Numbers<In>::count);
    DeviceArray<Out> some_c(shape.m * shape.n);
    const Stream stream;
    if (some_scales.size() > 0) {
      warpgauge::detail::fill_seeded(some_scales.data(), some_scales.size(), 3, 0, stream.get());
    }
    warpgauge::detail::fill_seeded(some_a.data(), some_a.size(), 1, 0, stream.get());
    warpgauge::detail::fill_seeded(some_b.data(), some_b.size(), 2, 0, stream.get());
    const auto seconds = [&](const cublasLtMatmulAlgo_t& by) {
      const Event start;
      const Event stop;
      start.record(stream.get());
      multiply(reinterpret_cast<const In*>(some_a.data()),
               reinterpret_cast<const In*>(some_b.data()), some_c.data(), by, stream.get());
      stop.record(stream.get());
      stop.synchronize();
      return seconds_between(start, stop);
    };
    std::vector<double> best(candidates.size(), std::numeric_limits<double>::infinity());
    for (const auto& candidate : candidates) {
      seconds(candidate.algo);  // loads its kernel
    }
    for (int round = 0; round < 5; ++round) {
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        const double took = seconds(candidates[i].algo);
        best[i] = std::min(best[i], took);
        std::this_thread::sleep_for(std::chrono::duration<double>(3 * took));
      }
    }
    return candidates[static_cast<std::size_t>(std::ranges::min_element(best) - best.begin())].algo;
  }

  DeviceArray<std::byte> workspace;    // first, and so freed last
  DeviceArray<unsigned char> factors;  // of blocks: see scale_by_one()
  DeviceArray<float> some_scales;      // for the choice of an algorithm
  LtHandle handle;
  Operation operation;
  Layout b, a, c;
  cublasLtMatmulAlgo_t algorithm{};
};

template <class In, class Out>
CublasLtGemm<In, Out>::CublasLtGemm(GemmShape shape, GemmB layout, LtChoice choice, Fp8Sums sums,
                                    std::size_t workspace_bytes)
    : shape_(checked(shape, alignment / sizeof(In) * Numbers<In>::count, sums)) {
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  if constexpr (Numbers<In>::block > 0) {
    require_compute_capability(owner, 10);
    if (!knows_blocks) {
      throw std::runtime_error(std::string(owner) +
                               ": compiled by a CUDA before 12.8, whose "
                               "cuBLASLt knows no scale factors of blocks");
    }
  } else if constexpr (sizeof(In) == 1) {
    require_compute_capability(owner, 8, 9);
  } else {
    require_compute_capability(owner, 8);
  }
  plan_ = std::make_unique<Plan>(shape, layout, choice, sums, workspace_bytes);
}

template <class In, class Out>
CublasLtGemm<In, Out>::~CublasLtGemm() = default;
template <class In, class Out>
CublasLtGemm<In, Out>::CublasLtGemm(CublasLtGemm&&) noexcept = default;
template <class In, class Out>
CublasLtGemm<In, Out>& CublasLtGemm<In, Out>::operator=(CublasLtGemm&&) noexcept = default;

template <class In, class Out>
void CublasLtGemm<In, Out>::operator()(const In* a, const In* b, Out* c, cudaStream_t stream) {
  if (shape_.m == 0 || shape_.n == 0) {
    return;
  }
  require_gemm(owner, a, b, alignment, shape_);
  require_pointer(owner, "c", c, alignment);
  plan_->multiply(a, b, c, plan_->algorithm, stream);
}

template <class In, class Out>
void CublasLtGemm<In, Out>::operator()(const In* a, const float* a_scales, const In* b,
                                       const float* b_scales, Out* c, cudaStream_t stream) {
  if (shape_.m == 0 || shape_.n == 0) {
    return;
  }
  if (plan_->some_scales.size() == 0) {
    throw std::invalid_argument(std::string(owner) + ": made for products without scales");
  }
  require_pointer(owner, "a_scales", a_scales, alignment);
  require_pointer(owner, "b_scales", b_scales, alignment);
  set_scales(plan_->operation.get(), a_scales, b_scales);
  (*this)(a, b, c, stream);
}

template class CublasLtGemm<__half, __half>;
template class CublasLtGemm<__nv_bfloat16, __nv_bfloat16>;
template class CublasLtGemm<float, float>;
template class CublasLtGemm<__nv_fp8_e4m3, __nv_bfloat16>;
template class CublasLtGemm<ScaledE4m3, __nv_bfloat16>;
template class CublasLtGemm<E2m1Pair, __nv_bfloat16>;

}  // namespace warpgauge::kernels
