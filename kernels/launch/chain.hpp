// SPDX-License-Identifier: Apache-2.0
// out[i] = in[i] + 1, many times in a row: kernels so small that the gaps between them take most of
// the time, and one kernel that does all of their work. 1 flop per step.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace warpgauge::kernels {

// All below: in and out (expected) are device arrays of n elements. out may be in, for a chain in
// place, but must not overlap it otherwise. Asynchronous on stream; can be captured into a graph. n
// = 0 does nothing. Throw std::invalid_argument for a null or misaligned pointer or more than 256 *
// (2^31 - 1) elements, std::runtime_error for a refused launch.

/// One step.
void add_one(const float* in, float* out, std::size_t n, cudaStream_t stream);

/// One step that may begin before the previous kernel on the stream has ended. Its blocks start
/// beside that kernel's, and wait for the end of that kernel before they touch memory (programmatic
/// dependent launch, CUDA C++ Programming Guide 4.5). Throws std::runtime_error if the device's
/// compute capability is below 9.0.
void add_one_early(const float* in, float* out, std::size_t n, cudaStream_t stream);

/// `steps` steps in registers: the additions of `steps` calls of add_one, in the same order, with
/// one read and one write.
void add_one_fused(const float* in, float* out, std::size_t n, unsigned steps, cudaStream_t stream);

/// expected[i] = double(in[i]) + steps. in and expected do not overlap.
void add_one_reference(const float* in, double* expected, std::size_t n, unsigned steps,
                       cudaStream_t stream);

}  // namespace warpgauge::kernels
