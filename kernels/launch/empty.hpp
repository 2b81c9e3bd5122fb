// SPDX-License-Identifier: Apache-2.0
// A kernel that does nothing: what is left is the cost of launching it.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>

namespace warpgauge::kernels {

/// The sizes of argument that launch_empty knows, in bytes. 4096 was the most a kernel could take
/// before CUDA 12.1, which allows 32764 from sm_70 on.
inline constexpr std::array<std::size_t, 4> empty_argument_bytes{0, 64, 1024, 4096};

/// The kernel that launch_empty launches for this size, as CUDA's functions take it.
/// Throws std::invalid_argument for a size that is not in empty_argument_bytes.
const void* empty_kernel(std::size_t argument_bytes);

/// Launches one block of 32 threads of a kernel that takes one struct of argument_bytes by value
/// (0: no argument) and returns. Asynchronous on stream, can be captured. On the host it does the
/// launch call and next to nothing else: that call is what the caller times.
/// Throws std::invalid_argument as empty_kernel, std::runtime_error for a refused launch.
void launch_empty(std::size_t argument_bytes, cudaStream_t stream);

}  // namespace warpgauge::kernels
