// SPDX-License-Identifier: Apache-2.0
// RMS norm and layer norm as training and inference use them: fused with the residual addition or
// with quantisation, and their gradients. Every element is read and written once; bound by memory
// bandwidth.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/reduce/rows.hpp"

namespace warpgauge::kernels {

// All launchers below: T is float or __nv_bfloat16; arithmetic is in float, and a result of type T
// is rounded to T once. Matrices are of `shape`, gamma has an element per column, scales and means
// one per row. Arrays are on the device, do not overlap, and those of T are aligned to 16 bytes.
// Asynchronous on stream; can be captured into a graph. No rows or no columns: they do nothing,
// whatever the pointers; but without rows dgamma and dbeta become 0, the sum of nothing. Throw
// std::invalid_argument for a null or misaligned pointer, for rows that are not whole 16-byte
// vectors or longer than stated, std::runtime_error for a refused launch or a device that is too
// old.
//
// RMS norm: out = x scale gamma with scale = 1 / sqrt(mean(x^2) + epsilon) of the row (Zhang and
// Sennrich 2019, "Root mean square layer normalization").

/// Also writes each row's scale to `scales`, for the backward pass. Rows of at most
/// most_held_row_bytes, as softmax().
template <class T>
void rms_norm(const T* in, const T* gamma, T* out, float* scales, RowsShape shape, float epsilon,
              cudaStream_t stream);

/// The same of sum = in + residual, which it also writes; x is the sum as T holds it.
template <class T>
void rms_norm_residual(const T* in, const T* residual, const T* gamma, T* sum, T* out,
                       float* scales, RowsShape shape, float epsilon, cudaStream_t stream);

/// RMS norm y, quantised with one scale per row (per-token, dynamic): y = out scale, where
/// scale = max |y| / 448, so that the row's largest element becomes e4m3's. If no |in gamma| of a
/// row is above 2^-119, the largest counts as that: 448 has no smaller divisor in float. A row
/// whose products are all 0 in float (at most 2^-150) has scale 0. out must be aligned to 8 bytes.
void rms_norm_e4m3(const __nv_bfloat16* in, const __nv_bfloat16* gamma, __nv_fp8_e4m3* out,
                   float* scales, RowsShape shape, float epsilon, cudaStream_t stream);

/// Bytes of the longest row of the backward passes. Above 16 KiB they need compute capability 9.0.
inline constexpr std::size_t most_backward_row_bytes = std::size_t{128} << 10;
inline constexpr std::size_t most_backward_row_bytes_before_clusters = std::size_t{16} << 10;

/// Floats that rms_norm_backward() needs as `partials` on the current device; layer_norm_backward()
/// needs twice as many.
std::size_t backward_partials(std::size_t columns);

/// Gradients of RMS norm. With g = dy gamma and n = x scale:
/// dx = scale (g - n mean(g n)), dgamma = sum over rows of dy n.
/// `scales` are those of the forward pass. The sums are in float, always in the same order.
template <class T>
void rms_norm_backward(const T* dy, const T* in, const T* gamma, const float* scales, T* dx,
                       float* dgamma, float* partials, RowsShape shape, cudaStream_t stream);

/// Gradients of layer norm. With g = dy gamma and n = (x - mean) scale:
/// dx = scale (g - mean(g) - n mean(g n)), dgamma = sum over rows of dy n, dbeta = that of dy.
/// `means` and `scales`, 1 / sqrt(variance + epsilon), are those of the forward pass.
template <class T>
void layer_norm_backward(const T* dy, const T* in, const T* gamma, const float* means,
                         const float* scales, T* dx, float* dgamma, float* dbeta, float* partials,
                         RowsShape shape, cudaStream_t stream);

// References, in double precision: for verification, not for speed. Their arrays need only their
// types' alignment; rows may have any length. A window is elements first .. first + count of the
// flattened output; also throw std::invalid_argument if it is not within the output.

/// expected[i] = in[i] + residual[i], for n elements.
template <class T>
void residual_sum_reference(const T* in, const T* residual, double* expected, std::size_t n,
                            cudaStream_t stream);

/// residual may be null: none is added.
template <class T>
void rms_norm_reference(const T* in, const T* residual, const T* gamma, double* expected,
                        RowsShape shape, float epsilon, std::size_t first, std::size_t count,
                        cudaStream_t stream);

/// scales[r] = 1 / sqrt(mean(x^2) + epsilon) of row first + r.
template <class T>
void rms_scales_reference(const T* in, const T* residual, double* scales, RowsShape shape,
                          float epsilon, std::size_t first, std::size_t count, cudaStream_t stream);

/// The scales, and the values before rounding, of rms_norm_e4m3(): count rows' or elements'.
void e4m3_scales_reference(const __nv_bfloat16* in, const __nv_bfloat16* gamma, double* scales,
                           RowsShape shape, float epsilon, std::size_t first, std::size_t count,
                           cudaStream_t stream);
void rms_norm_e4m3_reference(const __nv_bfloat16* in, const __nv_bfloat16* gamma, double* expected,
                             RowsShape shape, std::size_t first, std::size_t count,
                             cudaStream_t stream);

/// dx of either norm: means is null for RMS norm.
template <class T>
void norm_backward_reference(const T* dy, const T* in, const T* gamma, const float* means,
                             const float* scales, double* dx, RowsShape shape, std::size_t first,
                             std::size_t count, cudaStream_t stream);

/// dgamma of columns first .. first + count, or dbeta if in is null; means as above.
template <class T>
void parameter_gradient_reference(const T* dy, const T* in, const float* means, const float* scales,
                                  double* expected, RowsShape shape, std::size_t first,
                                  std::size_t count, cudaStream_t stream);

}  // namespace warpgauge::kernels
