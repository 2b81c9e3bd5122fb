// SPDX-License-Identifier: Apache-2.0
// out[i] = op(in[i]): 4 bytes read and 4 written an element, bound by memory bandwidth.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace warpgauge::kernels {

/// x; 0 flops.
struct Copy {
  template <class T>
  __host__ __device__ constexpr T operator()(T x) const {
    return x;
  }
};

/// x * x; 1 flop.
struct Square {
  template <class T>
  __host__ __device__ constexpr T operator()(T x) const {
    return x * x;
  }
};

/// 2x + 3; 2 flops. 2x is exact, so the result is rounded once, fused or not.
struct Affine {
  template <class T>
  __host__ __device__ constexpr T operator()(T x) const {
    return T{2} * x + T{3};
  }
};

// All launchers below: Op is Copy, Square or Affine (instantiated in the sources). in and out are
// device arrays of n elements that do not overlap. Asynchronous on stream, can be captured into a
// graph. n = 0 does nothing, whatever the pointers. Throw std::invalid_argument for a null or
// misaligned pointer or an n past the limit named, std::runtime_error for a refused launch.

/// One element a thread: the kernel that everybody writes first. n <= 256 * (2^31 - 1).
template <class Op>
void transform_scalar(const float* in, float* out, std::size_t n, cudaStream_t stream);

/// 16-byte loads and stores, several in flight a thread; any n, the last n % 4 elements go one by
/// one. in and out must be aligned to 16 bytes. n <= 2048 * (2^31 - 1).
template <class Op>
void transform_vec4(const float* in, float* out, std::size_t n, cudaStream_t stream);

/// thrust::transform as its users call it, without its synchronisation (par_nosync).
/// n <= 2^61 - 1 (bytes are counted in a signed 64-bit difference).
template <class Op>
void transform_thrust(const float* in, float* out, std::size_t n, cudaStream_t stream);

/// expected[i] = op(double(in[i])), in double precision: what the others are verified against.
/// n <= 256 * (2^31 - 1).
template <class Op>
void transform_reference(const float* in, double* expected, std::size_t n, cudaStream_t stream);

}  // namespace warpgauge::kernels
