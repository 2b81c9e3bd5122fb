// SPDX-License-Identifier: Apache-2.0
// Many floats to one: sum, dot product and largest element. Reads 4 bytes per element and input;
// bound by memory bandwidth.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <warpgauge/cuda/device_array.hpp>

namespace warpgauge::kernels {

// All below: in, a and b are device arrays of n floats; out (expected) is one element on the device
// and not part of them. Asynchronous on stream; can be captured into a graph. n = 0 writes the
// neutral element (0; for the largest element -infinity), whatever the inputs. Throw
// std::invalid_argument for a null or misaligned pointer or too large an n, std::runtime_error for
// a refused launch.
//
// The largest element is NaN if any element is NaN; +0 is larger than -0.

/// Each in one launch. Blocks leave partial results, which one of them combines in a fixed order,
/// so that every call on the same GPU with the same n gives the same result. Partial results lie on
/// the device that is current at construction; a graph of this object's calls uses them and must
/// not outlive the object. One stream at a time. Inputs must be aligned to 16 bytes.
/// n <= 2^61 - 1 (bytes are counted in a signed 64-bit difference).
class GridReduction {
 public:
  /// Throws std::runtime_error if CUDA fails.
  GridReduction();

  /// n - 1 flops.
  void sum(const float* in, float* out, std::size_t n, cudaStream_t stream);
  /// a[0] b[0] + ... + a[n-1] b[n-1], with fused multiply-adds: 2n - 1 flops.
  void dot(const float* a, const float* b, float* out, std::size_t n, cudaStream_t stream);
  void max(const float* in, float* out, std::size_t n, cudaStream_t stream);

 private:
  template <class Op, class Shape, class Inputs>
  void launch(const char* launcher, Inputs inputs, float* out, std::size_t n, cudaStream_t stream);

  unsigned sms_;
  DeviceArray<unsigned long long> storage_;
};

/// CUB's device-wide reductions, in float, with temporary storage that is allocated once. CUB sets
/// the order of the additions; it is the same in every call on the same GPU for the same n. The
/// storage lies on the device that is current at construction. A graph of this object's calls uses
/// it and must not outlive the object. One stream at a time.
class CubReduction {
 public:
  /// For n up to most_elements <= 256 * (2^31 - 1); owner begins the messages. Throws
  /// std::invalid_argument for more, std::runtime_error if CUDA fails.
  CubReduction(const char* owner, std::size_t most_elements);

 protected:
  void require(const char* name, const float* in, const float* out, std::size_t n) const;

  const char* owner_;
  std::size_t most_elements_;
  DeviceArray<std::byte> storage_;
};

/// cub::DeviceReduce::Sum.
class CubSum : CubReduction {
 public:
  explicit CubSum(std::size_t most_elements) : CubReduction("CubSum", most_elements) {}
  void operator()(const float* in, float* out, std::size_t n, cudaStream_t stream);
};

/// cub::DeviceReduce::TransformReduce over the indices, which it transforms to products.
class CubDot : CubReduction {
 public:
  explicit CubDot(std::size_t most_elements) : CubReduction("CubDot", most_elements) {}
  void operator()(const float* a, const float* b, float* out, std::size_t n, cudaStream_t stream);
};

/// cub::DeviceReduce::Max. If an element is NaN, the result is any element. Of no elements it is
/// -infinity or the lowest float, depending on CUB's version.
class CubMax : CubReduction {
 public:
  explicit CubMax(std::size_t most_elements) : CubReduction("CubMax", most_elements) {}
  void operator()(const float* in, float* out, std::size_t n, cudaStream_t stream);
};

// Thrust as its users call it: it allocates, waits and returns the result, so it cannot be
// captured. n <= 2^61 - 1; n = 0 returns the neutral element. Throw std::invalid_argument as above.

/// thrust::reduce.
float sum_thrust(const float* in, std::size_t n, cudaStream_t stream);
/// thrust::inner_product.
float dot_thrust(const float* a, const float* b, std::size_t n, cudaStream_t stream);
/// thrust::reduce with the larger of two. If an element is NaN, the result is any element.
float max_thrust(const float* in, std::size_t n, cudaStream_t stream);

// In double precision, in an order that depends on n alone. Each runs in one block, which needs no
// storage for partial results: for verification, not for speed.

void sum_reference(const float* in, double* expected, std::size_t n, cudaStream_t stream);
/// Products of two floats are exact in double.
void dot_reference(const float* a, const float* b, double* expected, std::size_t n,
                   cudaStream_t stream);
void max_reference(const float* in, double* expected, std::size_t n, cudaStream_t stream);

}  // namespace warpgauge::kernels
