// SPDX-License-Identifier: Apache-2.0
// The operations on one element. Kernels call them with float and round the result to the output's
// type once; references call them with double.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

namespace warpgauge::kernels {

/// x; 0 flops. Between two types, it is the conversion.
struct Copy {
  template <class T>
  __host__ __device__ constexpr T operator()(T x) const {
    return x;
  }
};

/// factor * x; 1 flop.
struct Scale {
  float factor = 0.75F;
  template <class T>
  __host__ __device__ constexpr T operator()(T x) const {
    return static_cast<T>(factor) * x;
  }
};

/// x + bias, one bias for all elements; 1 flop.
struct Bias {
  float bias = 0.25F;
  template <class T>
  __host__ __device__ constexpr T operator()(T x) const {
    return x + static_cast<T>(bias);
  }
};

/// max(x, 0); 1 flop.
struct Relu {
  template <class T>
  __host__ __device__ constexpr T operator()(T x) const {
    return x < T{0} ? T{0} : x;  // keeps NaN
  }
};

/// x * x; 1 flop.
struct Square {
  template <class T>
  __host__ __device__ constexpr T operator()(T x) const {
    return x * x;
  }
};

/// pow(x, 2): the values of Square from the general power function, which the compiler does not
/// replace by a product: a logarithm and an exponential, about 80 instructions. powf errs by at
/// most 4 units in the last place (CUDA C++ Programming Guide, "Mathematical Functions").
struct Pow2 {
  __host__ __device__ float operator()(float x) const { return powf(x, 2.0F); }
  __host__ __device__ double operator()(double x) const { return x * x; }
};

/// 2x + 3; 2 flops. 2x is exact, so the result is rounded once, fused or not.
struct Affine {
  template <class T>
  __host__ __device__ constexpr T operator()(T x) const {
    return T{2} * x + T{3};
  }
};

/// Scale(Relu(Bias(x))) + second: four operations in one; 4 flops.
struct Chain {
  Bias first{0.25F};
  Scale scale{0.75F};
  Bias second{-0.5F};
  template <class T>
  __host__ __device__ constexpr T operator()(T x) const {
    return second(scale(Relu{}(first(x))));
  }
};

/// x/2 (1 + erf(x / sqrt 2)): exact GELU (Hendrycks and Gimpel 2016, "Gaussian error linear
/// units").
struct Gelu {
  __host__ __device__ float operator()(float x) const {
    return 0.5F * x * (1.0F + erff(x * 0.70710678F));
  }
  __host__ __device__ double operator()(double x) const {
    return 0.5 * x * (1.0 + erf(x * 0.70710678118654752));
  }
};

/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the usual approximation of GELU (ibid.).
struct GeluTanh {
  __host__ __device__ float operator()(float x) const {
    return 0.5F * x * (1.0F + tanhf(0.79788456F * (x + 0.044715F * x * x * x)));
  }
  __host__ __device__ double operator()(double x) const {
    return 0.5 * x * (1.0 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
  }
};

/// a x + y; 2 flops.
struct Axpy {
  float a = 0.75F;
  template <class T>
  __host__ __device__ constexpr T operator()(T x, T y) const {
    return static_cast<T>(a) * x + y;
  }
};

/// op in float, with its result rounded to T: for T other than float, one more rounding than op.
template <class Op, class T>
struct RoundedTo {
  Op op;
  template <class In>
  __host__ __device__ T operator()(In x) const {
    return static_cast<T>(op(static_cast<float>(x)));
  }
  template <class In>
  __host__ __device__ T operator()(In x, In y) const {
    return static_cast<T>(op(static_cast<float>(x), static_cast<float>(y)));
  }
};

}  // namespace warpgauge::kernels
