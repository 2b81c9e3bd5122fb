// SPDX-License-Identifier: Apache-2.0
// *out = in[0] + ... + in[n-1]: 4 bytes read an element, n - 1 flops, bound by memory bandwidth.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/workspace.hpp"

namespace warpgauge::kernels {

// Both below: in is a device array of n floats, out (expected) one element on the device that is
// not among them. Asynchronous on stream, can be captured into a graph. n = 0 writes 0, whatever
// in. Throw std::invalid_argument for a null or misaligned pointer or too large an n,
// std::runtime_error for a refused launch.

/// cub::DeviceReduce::Sum, in float, with its temporary storage allocated once. The order of the
/// additions is CUB's, and the same in every call on the same GPU for the same n.
/// The storage lies on the device that is current at construction; a graph made from this object's
/// calls uses it and must not outlive it. One stream at a time.
class CubSum {
 public:
  /// For sums of up to most_elements <= 256 * (2^31 - 1) floats. Throws std::invalid_argument for
  /// more, std::runtime_error when CUDA fails.
  explicit CubSum(std::size_t most_elements);

  /// n <= most_elements.
  void operator()(const float* in, float* out, std::size_t n, cudaStream_t stream);

 private:
  std::size_t most_elements_;
  Workspace storage_;
};

/// *expected = the sum in double precision, in an order that depends on n alone. Runs in one block,
/// so that it needs no storage for partial sums: for verification, not for speed.
void sum_reference(const float* in, double* expected, std::size_t n, cudaStream_t stream);

}  // namespace warpgauge::kernels
