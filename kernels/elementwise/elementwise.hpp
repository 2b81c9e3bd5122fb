// SPDX-License-Identifier: Apache-2.0
// out[i] = op(in[i]): few operations an element, so bound by device memory but where an operation
// of ops.hpp says otherwise.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/elementwise/ops.hpp"

namespace warpgauge::kernels {

using Half = __half;
using Bf16 = __nv_bfloat16;

// All launchers below: Op is one of ops.hpp, In and Out are float, Half or Bf16; the end of each
// source and launchers.hpp say which combinations there are. in, x and y are device arrays of n
// elements that do not overlap out, which has n, too. Computed in float and rounded to Out once.
// Asynchronous on stream, can be captured into a graph. n = 0 does nothing, whatever the pointers.
// Throw std::invalid_argument for a null or misaligned pointer or an n past the limit named,
// std::runtime_error for a refused launch.

/// One element a thread: the kernel that everybody writes first. n <= 256 * (2^31 - 1).
template <class Op, class In = float, class Out = In>
void transform_scalar(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op = {});

/// One element a thread and iteration of a loop, by as many threads as the GPU holds at once: the
/// usual remedy, with the loads of an iteration as narrow as before. Any n.
template <class Op, class In = float, class Out = In>
void transform_grid_stride(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op = {});

/// 16-byte loads and stores (of a conversion on its wider side); any n, the last elements, too few
/// for a vector, go one by one. in and out must be aligned to 16 bytes. n <= 512 * (2^31 - 1).
template <class Op, class In = float, class Out = In>
void transform_vector(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op = {});

/// thrust::transform as its users call it, without its synchronisation (par_nosync).
/// n <= 2^60 - 1 (bytes are counted in a signed 64-bit difference).
template <class Op, class In = float, class Out = In>
void transform_thrust(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op = {});

/// Whether the CUB that this was compiled with has what transform_cub and axpy_cub call: from CUDA
/// 13.0 on. Without it they throw std::runtime_error.
bool cub_transforms() noexcept;

/// cub::DeviceTransform::Transform. n <= 128 * (2^31 - 1).
template <class Op, class In = float, class Out = In>
void transform_cub(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op = {});

/// expected[i] = op(double(in[i])), in double precision: what the others are verified against.
/// n <= 256 * (2^31 - 1).
template <class Op, class In = float>
void transform_reference(const In* in, double* expected, std::size_t n, cudaStream_t stream,
                         Op op = {});

// out[i] = a x[i] + y[i]: two arrays read and a third written, 3 * sizeof(T) bytes an element. T is
// as In and Out above, and limits are those of transform_...

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

/// The operations of a Chain as four kernels (transform_vector), each of which reads and writes
/// device memory, as a program does that calls one library function after the other. scratch: n
/// elements that overlap neither, aligned to 16 bytes; it keeps the third kernel's results. In 16
/// bits each step is rounded. T: float, __half, __nv_bfloat16.
template <class T>
void chain_of_four(const Chain& op, const T* in, T* scratch, T* out, std::size_t n,
                   cudaStream_t stream);

/// The same by transform_thrust and by transform_cub, whose limits are theirs. in, scratch and out
/// need no more than their type's alignment.
template <class T>
void chain_of_four_thrust(const Chain& op, const T* in, T* scratch, T* out, std::size_t n,
                          cudaStream_t stream);
template <class T>
void chain_of_four_cub(const Chain& op, const T* in, T* scratch, T* out, std::size_t n,
                       cudaStream_t stream);

/// out[i] = in[i * stride] for i < n, one element a thread; in has (n - 1) * stride + 1 elements.
/// Memory moves whole sectors of 32 bytes, on an H200 two neighbouring ones together: at a stride
/// of 8 floats all that lies between is read, too, at 32 half of it. n <= 256 * (2^31 - 1). Also
/// throws std::invalid_argument for a stride of 0 and where n * stride floats are no 64-bit size.
void copy_strided(const float* in, float* out, std::size_t n, std::size_t stride,
                  cudaStream_t stream);

/// What copy_strided must write, in double precision.
void copy_strided_reference(const float* in, double* expected, std::size_t n, std::size_t stride,
                            cudaStream_t stream);

/// out[i] = in[i + 1] for i < n, one element a thread; in has n + 1 elements. in aligned to 128
/// bytes, so that each warp reads one element of the next cache line: five sectors for four.
/// n <= 256 * (2^31 - 1).
void copy_misaligned(const float* in, float* out, std::size_t n, cudaStream_t stream);

}  // namespace warpgauge::kernels
