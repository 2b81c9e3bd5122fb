// SPDX-License-Identifier: Apache-2.0
// out[i] = op(in[i]): few operations per element, so bound by device memory unless ops.hpp says
// otherwise.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/elementwise/ops.hpp"

namespace warpgauge::kernels {

using Half = __half;
using Bf16 = __nv_bfloat16;

// All launchers below: Op is from ops.hpp; In and Out are float, Half or Bf16 (launchers.hpp and
// the end of each source list the combinations). in, x, y and out are device arrays of n elements;
// out does not overlap the others. Results are computed in float and rounded to Out once. Launchers
// are asynchronous on stream and can be captured into a graph. n = 0 does nothing, whatever the
// pointers. They throw std::invalid_argument for a null or misaligned pointer or an n above the
// stated limit, and std::runtime_error for a refused launch.

/// One element per thread: the kernel that everybody writes first. n <= 256 * (2^31 - 1).
template <class Op, class In = float, class Out = In>
void transform_scalar(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op = {});

/// One element per thread and iteration of a loop, with as many threads as the GPU holds at once.
/// The usual remedy, but each load is as narrow as before. Any n.
template <class Op, class In = float, class Out = In>
void transform_grid_stride(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op = {});

/// 16-byte loads and stores; a conversion has them on its wider side. A tail too short for a vector
/// is processed element by element. in and out must be aligned to 16 bytes. n <= 512 * (2^31 - 1).
template <class Op, class In = float, class Out = In>
void transform_vector(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op = {});

/// thrust::transform as its users call it, without its synchronisation (par_nosync).
/// n <= 2^60 - 1 (bytes are counted in a signed 64-bit difference).
template <class Op, class In = float, class Out = In>
void transform_thrust(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op = {});

/// Whether the CUB of this build has what transform_cub and axpy_cub call: CUDA 13.0 and later do.
/// Without it they throw std::runtime_error.
bool cub_transforms() noexcept;

/// cub::DeviceTransform::Transform. n <= 128 * (2^31 - 1).
template <class Op, class In = float, class Out = In>
void transform_cub(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op = {});

/// expected[i] = op(double(in[i])), in double precision: the reference for the other launchers.
/// n <= 256 * (2^31 - 1).
template <class Op, class In = float>
void transform_reference(const In* in, double* expected, std::size_t n, cudaStream_t stream,
                         Op op = {});

// out[i] = a x[i] + y[i] reads two arrays and writes a third, 3 * sizeof(T) bytes per element. T is
// one of the types of In and Out above; the limits are those of transform_...

template <class T>
void axpy_scalar(Axpy op, const T* x, const T* y, T* out, std::size_t n, cudaStream_t stream);
template <class T>
void axpy_grid_stride(Axpy op, const T* x, const T* y, T* out, std::size_t n, cudaStream_t stream);
template <class T>
void axpy_vector(Axpy op, const T* x, const T* y, T* out, std::size_t n, cudaStream_t stream);
template <class T>
void axpy_thrust(Axpy op, const T* x, const T* y, T* out, std::size_t n, cudaStream_t stream);
template <class T>
void axpy_cub(Axpy op, const T* x, const T* y, T* out, std::size_t n, cudaStream_t stream);
template <class T>
void axpy_reference(Axpy op, const T* x, const T* y, double* expected, std::size_t n,
                    cudaStream_t stream);

/// The operations of a Chain as four kernels (transform_vector). Each reads and writes device
/// memory, as in a program that calls one library function after the other. scratch has n elements,
/// overlaps neither in nor out, is aligned to 16 bytes and keeps the third kernel's results. In 16
/// bits each step is rounded. T: float, __half, __nv_bfloat16.
template <class T>
void chain_of_four(const Chain& op, const T* in, T* scratch, T* out, std::size_t n,
                   cudaStream_t stream);

/// The same with transform_thrust and transform_cub, and with their limits. in, scratch and out
/// need only the alignment of T.
template <class T>
void chain_of_four_thrust(const Chain& op, const T* in, T* scratch, T* out, std::size_t n,
                          cudaStream_t stream);
template <class T>
void chain_of_four_cub(const Chain& op, const T* in, T* scratch, T* out, std::size_t n,
                       cudaStream_t stream);

/// out[i] = in[i * stride] for i < n, one element per thread; in has (n - 1) * stride + 1 elements.
/// Memory moves whole 32-byte sectors, on an H200 in pairs of neighbours: at a stride of 8 floats
/// it reads all floats in between, at 32 half of them. n <= 256 * (2^31 - 1). Also throws
/// std::invalid_argument if stride is 0 or n * stride floats exceed a 64-bit size in bytes.
void copy_strided(const float* in, float* out, std::size_t n, std::size_t stride,
                  cudaStream_t stream);

/// What copy_strided must write, in double precision.
void copy_strided_reference(const float* in, double* expected, std::size_t n, std::size_t stride,
                            cudaStream_t stream);

/// out[i] = in[i + 1] for i < n, one element per thread; in has n + 1 elements. in must be aligned
/// to 128 bytes, so that each warp reads one element of the next cache line: five sectors instead
/// of four. n <= 256 * (2^31 - 1).
void copy_misaligned(const float* in, float* out, std::size_t n, cudaStream_t stream);

}  // namespace warpgauge::kernels
