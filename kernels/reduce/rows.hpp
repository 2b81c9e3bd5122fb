// SPDX-License-Identifier: Apache-2.0
// Softmax and layer norm of each row of a matrix. Every element is read and written once, 2
// sizeof(T) bytes; bound by memory bandwidth.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstddef>

namespace warpgauge::kernels {

/// A row-major, contiguous matrix.
struct RowsShape {
  std::size_t rows, columns;
};

// All launchers below: T is float or __nv_bfloat16; arithmetic is in float, and the result is
// rounded to T once. in and out are matrices of `shape` on the device that do not overlap; gamma
// and beta have one T per column. Asynchronous on stream; can be captured into a graph. No rows or
// no columns: they do nothing, whatever the pointers. Throw std::invalid_argument for a null or
// misaligned pointer or a shape above the stated limit, std::runtime_error for a refused launch or
// a device that is too old.
//
// softmax: out = exp(x - m) / sum exp(x - m), where m is the largest element of the row, which
// keeps every power at most 1. A row with a NaN or +infinity, or with only -infinity, becomes NaN.
//
// layer norm: out = (x - mean) / sqrt(variance + epsilon) gamma + beta, with the variance of the
// population (Ba, Kiros and Hinton 2016, "Layer normalization").

/// Bytes of the longest row that fits in registers.
inline constexpr std::size_t most_held_row_bytes = std::size_t{256} << 10;
/// The longest that needs no cluster of blocks; clusters need compute capability 9.0.
inline constexpr std::size_t most_held_row_bytes_of_a_block = std::size_t{64} << 10;

/// Reads a row once and holds it in registers. Rows are a multiple of 16 bytes, at most
/// most_held_row_bytes (before compute capability 9.0: most_held_row_bytes_of_a_block). in and out
/// must be aligned to 16 bytes.
template <class T>
void softmax(const T* in, T* out, RowsShape shape, cudaStream_t stream);

/// Reads a row twice: for the largest element and the sum in one pass (Milakov and Gimelshein 2018,
/// "Online normalizer calculation for softmax"), then for the results. Any number of columns; a
/// matrix has at most 2^63 - 1 bytes.
template <class T>
void softmax_online(const T* in, T* out, RowsShape shape, cudaStream_t stream);

/// Reads and accepts the same as softmax(); gamma and beta must also be aligned to 16 bytes.
template <class T>
void layer_norm(const T* in, const T* gamma, const T* beta, T* out, RowsShape shape, float epsilon,
                cudaStream_t stream);

/// Reads a row twice: for mean and variance in one pass (Welford 1962, "Note on a method for
/// calculating corrected sums of squares and products"; combined as in Chan, Golub and LeVeque
/// 1979), then for the results. At most 512 * 2^24 columns, because each of a block's 512 threads
/// counts in a float; a matrix has at most 2^63 - 1 bytes.
template <class T>
void layer_norm_online(const T* in, const T* gamma, const T* beta, T* out, RowsShape shape,
                       float epsilon, cudaStream_t stream);

/// expected[i] = element first + i of the flattened softmax for i < count, in double precision. A
/// block goes through each row twice: for verification, not for speed. count = 0 does nothing. Also
/// throws std::invalid_argument if first + count > rows * columns.
template <class T>
void softmax_reference(const T* in, double* expected, RowsShape shape, std::size_t first,
                       std::size_t count, cudaStream_t stream);

/// The same for layer_norm().
template <class T>
void layer_norm_reference(const T* in, const T* gamma, const T* beta, double* expected,
                          RowsShape shape, float epsilon, std::size_t first, std::size_t count,
                          cudaStream_t stream);

}  // namespace warpgauge::kernels
