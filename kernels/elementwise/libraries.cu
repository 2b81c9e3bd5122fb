// SPDX-License-Identifier: Apache-2.0
// Thrust and CUB as their users call them: bound by device memory. They share one file, apart from
// the kernels, because their headers multiply the compile time.
#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include <cstddef>
#include <limits>
#include <stdexcept>
#if CCCL_MAJOR_VERSION >= 3
#include <cub/device/device_transform.cuh>
#endif

#include <warpgauge/cuda/check.hpp>
#include "kernels/elementwise/launchers.hpp"

namespace warpgauge::kernels {

// Thrust's errors are thrust::system_error, a std::runtime_error with CUDA's text.
constexpr std::size_t most_for_thrust = std::numeric_limits<std::ptrdiff_t>::max() / 8;
// CUB's blocks take at least 128 elements, one for each of their 128 threads.
constexpr std::size_t most_for_cub = 128 * max_grid_blocks;

bool cub_transforms() noexcept {
  return CCCL_MAJOR_VERSION >= 3;
}

/// cub::DeviceTransform with its order of arguments; `inputs`: a pointer or a tuple of pointers.
template <class Inputs, class Out, class Op>
void cub_transform(Inputs inputs, Out* out, std::size_t n, Op op, cudaStream_t stream) {
#if CCCL_MAJOR_VERSION >= 3
  WARPGAUGE_CHECK(cub::DeviceTransform::Transform(inputs, out, n, op, stream));
#else
  throw std::runtime_error("compiled without cub::DeviceTransform, which CUDA 13.0 has");
#endif
}

template <class Op, class In, class Out>
void transform_thrust(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op) {
  if (n == 0) {
    return;
  }
  require_arrays("transform_thrust", {{"in", in}, {"out", out}});
  require_at_most("transform_thrust", n, most_for_thrust);
  thrust::transform(thrust::cuda::par_nosync.on(stream), in, in + n, out, RoundedTo<Op, Out>{op});
  WARPGAUGE_CHECK(cudaGetLastError());
}

template <class Op, class In, class Out>
void transform_cub(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op) {
  if (n == 0) {
    return;
  }
  require_arrays("transform_cub", {{"in", in}, {"out", out}});
  require_at_most("transform_cub", n, most_for_cub);
  cub_transform(in, out, n, RoundedTo<Op, Out>{op}, stream);
}

template <class T>
void axpy_thrust(Axpy op, const T* x, const T* y, T* out, std::size_t n, cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require_arrays("axpy_thrust", {{"x", x}, {"y", y}, {"out", out}});
  require_at_most("axpy_thrust", n, most_for_thrust);
  thrust::transform(thrust::cuda::par_nosync.on(stream), x, x + n, y, out, RoundedTo<Axpy, T>{op});
  WARPGAUGE_CHECK(cudaGetLastError());
}

template <class T>
void axpy_cub(Axpy op, const T* x, const T* y, T* out, std::size_t n, cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require_arrays("axpy_cub", {{"x", x}, {"y", y}, {"out", out}});
  require_at_most("axpy_cub", n, most_for_cub);
  cub_transform(cuda::std::make_tuple(x, y), out, n, RoundedTo<Axpy, T>{op}, stream);
}

template <class T>
void chain_of_four_thrust(const Chain& op, const T* in, T* scratch, T* out, std::size_t n,
                          cudaStream_t stream) {
  require_at_most("chain_of_four_thrust", n, most_for_thrust);
  chain_by("chain_of_four_thrust", op, in, scratch, out, n, alignof(T),
           [=](const T* from, T* to, auto step) { transform_thrust(from, to, n, stream, step); });
}

template <class T>
void chain_of_four_cub(const Chain& op, const T* in, T* scratch, T* out, std::size_t n,
                       cudaStream_t stream) {
  require_at_most("chain_of_four_cub", n, most_for_cub);
  chain_by("chain_of_four_cub", op, in, scratch, out, n, alignof(T),
           [=](const T* from, T* to, auto step) { transform_cub(from, to, n, stream, step); });
}

auto library_instances() {
  const auto thrust = []<class Op, class In, class Out>(Instance<Op, In, Out>) {
    return &transform_thrust<Op, In, Out>;
  };
  const auto cub = []<class Op, class In, class Out>(Instance<Op, In, Out>) {
    return &transform_cub<Op, In, Out>;
  };
  return std::tuple_cat(instances_of_all(thrust), instances_of_conversions(thrust),
                        instances_of_all(cub), instances_of_conversions(cub));
}

template void axpy_thrust(Axpy, const float*, const float*, float*, std::size_t, cudaStream_t);
template void axpy_thrust(Axpy, const Half*, const Half*, Half*, std::size_t, cudaStream_t);
template void axpy_thrust(Axpy, const Bf16*, const Bf16*, Bf16*, std::size_t, cudaStream_t);
template void axpy_cub(Axpy, const float*, const float*, float*, std::size_t, cudaStream_t);
template void axpy_cub(Axpy, const Half*, const Half*, Half*, std::size_t, cudaStream_t);
template void axpy_cub(Axpy, const Bf16*, const Bf16*, Bf16*, std::size_t, cudaStream_t);

template void chain_of_four_thrust(const Chain&, const float*, float*, float*, std::size_t,
                                   cudaStream_t);
template void chain_of_four_thrust(const Chain&, const Half*, Half*, Half*, std::size_t,
                                   cudaStream_t);
template void chain_of_four_thrust(const Chain&, const Bf16*, Bf16*, Bf16*, std::size_t,
                                   cudaStream_t);
template void chain_of_four_cub(const Chain&, const float*, float*, float*, std::size_t,
                                cudaStream_t);
template void chain_of_four_cub(const Chain&, const Half*, Half*, Half*, std::size_t, cudaStream_t);
template void chain_of_four_cub(const Chain&, const Bf16*, Bf16*, Bf16*, std::size_t, cudaStream_t);

}  // namespace warpgauge::kernels
