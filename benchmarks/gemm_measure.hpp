// SPDX-License-Identifier: Apache-2.0
// Measurement of matrix products, with cuBLAS as their ceiling.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>

#include <warpgauge/core/units.hpp>
#include <warpgauge/cuda/device_array.hpp>
#include <warpgauge/cuda/seeded_data.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "benchmarks/gemm_arithmetic.hpp"
#include "kernels/gemm/gemm.hpp"

namespace warpgauge {

/// What bounds a product: arithmetic at the ceiling's rate, or memory traffic.
struct Limits {
  std::optional<ComputeCeiling> arithmetic;
  std::optional<Traffic> memory = Traffic::device_copy;
};

/// Reads the shape from the axes of a case.
using ShapeOf = kernels::GemmShape (*)(const GpuCase&);

inline kernels::GemmShape square(const GpuCase& gpu) {
  const std::size_t n = gpu.param("n");
  return {n, n, n};
}

/// A has m rows, few or many; B is square.
inline kernels::GemmShape rows_times_square(const GpuCase& gpu) {
  const std::size_t n = gpu.param("n");
  return {gpu.param("m"), n, n};
}

/// One of the two large products of a transformer layer (4096 features, 14336 hidden) for m tokens.
/// n is one of these numbers, and k is the other.
inline kernels::GemmShape feed_forward(const GpuCase& gpu) {
  const std::size_t n = gpu.param("n");
  return {gpu.param("m"), n, std::size_t{4096} * 14'336 / n};
}

/// The product before or after attention in such a layer: m tokens, n features out of 4096, or the
/// queries, keys and values of 6144.
inline kernels::GemmShape projection(const GpuCase& gpu) {
  return {gpu.param("m"), gpu.param("n"), 4096};
}

/// The bounds of a product of this shape: arithmetic at the ceiling's rate, and memory traffic:
/// reading B if A and C are small, otherwise copying. Without a ceiling there are no bounds.
inline Limits limits_of(kernels::GemmShape shape, const std::optional<ComputeCeiling>& ceiling) {
  if (!ceiling) {
    return {std::nullopt, std::nullopt};
  }
  return {ceiling, shape.m * 16 < shape.n ? Traffic::device_read : Traffic::device_copy};
}

/// Measures operation(a, b, c, stream), which computes `batch` products of one shape; each C has
/// elements of type Out.
template <class In, class Out, class Operation>
void measure(GpuCase& gpu, kernels::GemmShape shape, std::size_t batch, Tolerance tolerance,
             const Limits& limits, const Operation& operation,
             kernels::GemmB layout = kernels::GemmB::row_major,
             CacheState cache_state = CacheState::cold) {
  const std::size_t a_count = product({shape.m, shape.k});
  const std::size_t b_count = product({shape.k, shape.n});
  const std::size_t c_count = product({shape.m, shape.n});
  const auto a = gpu.input<In>(product({batch, a_count}));
  const auto b = gpu.input<In>(product({batch, b_count}));
  const auto c = gpu.output<Out>(product({batch, c_count}));
  gpu.moves_bytes(batch * ((a_count + b_count) * sizeof(In) + c_count * sizeof(Out)),
                  limits.memory);
  gpu.computes_flops(static_cast<double>(batch) * flops(shape), limits.arithmetic);
  gpu.verify(c, tolerance, [=](const Iteration& at, Window window, double* expected) {
    const std::size_t end = window.first + window.count;
    for (std::size_t i = window.first; i < end;) {  // one product of the batch per pass
      const std::size_t of_batch = i / c_count;
      const std::size_t count = std::min(end, (of_batch + 1) * c_count) - i;
      kernels::gemm_reference(a[at] + of_batch * a_count, b[at] + of_batch * b_count,
                              expected + (i - window.first), shape, i % c_count, count, at.stream,
                              layout);
      i += count;
    }
  });
  gpu.replay([=](const Iteration& at) { operation(a[at], b[at], c[at], at.stream); }, cache_state);
}

template <class T>
auto seeded(std::size_t count, std::uint64_t seed, cudaStream_t stream) {
  const auto values = std::make_shared<DeviceArray<T>>(count);
  detail::fill_seeded(values->data(), count, seed, 0, stream);
  return values;
}

/// cuBLAS as an operation for measure().
template <class T>
auto cublas(kernels::GemmShape shape, const Arithmetic& arithmetic, std::size_t batch = 1) {
  const auto gemm = std::make_shared<kernels::CublasGemm>(
      kernels::CublasGemm::default_workspace_bytes,
      arithmetic.tf32 ? kernels::FloatProducts::tf32 : kernels::FloatProducts::fp32);
  return [=](const T* a, const T* b, T* c, cudaStream_t stream) {
    gemm->batched(a, b, c, shape, batch, stream);
  };
}

/// The rate of cuBLAS, with floats at n = 4096 and with 16-bit types at 8192. That takes a
/// millisecond or more, because the clock is not steady in shorter operations. Tensor cores
/// multiply f16 and bf16 at the same rate, so bf16 stands for both.
template <class T>
ComputeCeiling cublas_ceiling(const Arithmetic& arithmetic) {
  if constexpr (std::is_same_v<T, __half>) {
    return cublas_ceiling<__nv_bfloat16>(of_elements<__nv_bfloat16>());
  } else {
    constexpr std::size_t n = std::is_same_v<T, float> ? 4096 : 8192;
    const kernels::GemmShape shape{n, n, n};
    // One product in TF32 takes only a third of a millisecond.
    const int times = arithmetic.tf32 ? 4 : 1;
    return {"cuBLAS " + arithmetic.name, times * flops(shape),
            [=](cudaStream_t stream) -> Operation {
              const auto gemm = cublas<T>(shape, arithmetic);
              return [=, a = seeded<T>(n * n, 1, stream), b = seeded<T>(n * n, 2, stream),
                      c = seeded<T>(n * n, 3, stream)](const Iteration& at) {
                for (int i = 0; i < times; ++i) {
                  gemm(a->data(), b->data(), c->data(), at.stream);
                }
              };
            }};
  }
}

}  // namespace warpgauge
