// SPDX-License-Identifier: Apache-2.0
// out[i] = in[i] + 1, to be done many times in a row: kernels so small that what stands between
// them is most of their time, and the one kernel that does all of their work. 1 flop a step.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace warpgauge::kernels {

// All below: in and out (expected) are device arrays of n elements; out may be in, for a chain in
// place, but overlaps it no other way. Asynchronous on stream, can be captured into a graph. n = 0
// does nothing. Throw std::invalid_argument for a null or misaligned pointer or more than
// 256 * (2^31 - 1) elements, std::runtime_error for a refused launch.

/// One step.
void add_one(const float* in, float* out, std::size_t n, cudaStream_t stream);

/// One step that may begin before the kernel in front of it on the stream has ended: its blocks
/// come up beside that one's and wait for its end before they touch memory (programmatic dependent
/// launch, CUDA C++ Programming Guide 4.5). Throws std::runtime_error where the device's compute
/// capability is below 9.0.
void add_one_early(const float* in, float* out, std::size_t n, cudaStream_t stream);

/// `steps` steps in registers: the additions of as many add_one, in the same order, with one read
/// and one write.
void add_one_fused(const float* in, float* out, std::size_t n, unsigned steps, cudaStream_t stream);

/// expected[i] = double(in[i]) + steps. in and expected do not overlap.
void add_one_reference(const float* in, double* expected, std::size_t n, unsigned steps,
                       cudaStream_t stream);

}  // namespace warpgauge::kernels
