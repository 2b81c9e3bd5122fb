// SPDX-License-Identifier: Apache-2.0
// Kernels that serve as probes: one does nothing and costs only its launch, one counts its runs,
// and one lasts a given time.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace warpgauge::kernels {

/// The argument sizes that launch_empty knows, in bytes. 4096 was the most that a kernel could take
/// before CUDA 12.1, which allows 32764 from sm_70 on.
inline constexpr std::array<std::size_t, 4> empty_argument_bytes{0, 64, 1024, 4096};

/// The kernel that launch_empty launches for this size, as CUDA's functions take it.
/// Throws std::invalid_argument for a size that is not in empty_argument_bytes.
const void* empty_kernel(std::size_t argument_bytes);

/// Launches one block of 32 threads of a kernel that takes one struct of argument_bytes by value
/// (0: no argument) and returns. Asynchronous on stream; can be captured. The host does almost
/// nothing but the launch call, which is what the caller times. Throws std::invalid_argument like
/// empty_kernel, std::runtime_error for a refused launch.
void launch_empty(std::size_t argument_bytes, cudaStream_t stream);

/// *count += step, by one thread; count is on the device. Concurrent launches lose counts: use one
/// stream, or one graph whose nodes follow each other, at a time. Asynchronous on stream; can be
/// captured into a graph. Throws std::invalid_argument for a null or misaligned pointer,
/// std::runtime_error for a refused launch.
void tally(unsigned long long* count, unsigned long long step, cudaStream_t stream);

/// Launches blocks of one warp. Each block reads its SM's clock until `cycles` have passed since
/// its first reading. Each thread then writes its number in the grid to done[number], as any real
/// kernel writes something. The unit is SM cycles, which their counter counts one by one. The
/// counter of nanoseconds (globaltimer) may stand still for 1 us. So the length is steady, and
/// known as exactly as the SM clock. If all blocks fit on the GPU at once, the kernel takes that
/// long plus its launch. Asynchronous on stream; can be captured into a graph. Throws
/// std::invalid_argument for 0 blocks, more than 2^31 - 1 or a null `done`, std::runtime_error for
/// a refused launch.
void spin(std::uint64_t cycles, unsigned blocks, float* done, cudaStream_t stream);

/// Threads of a block.
inline constexpr unsigned spin_threads = 32;

}  // namespace warpgauge::kernels
