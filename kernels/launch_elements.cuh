// SPDX-License-Identifier: Apache-2.0
// Launches kernels whose threads process one element or a few each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <type_traits>

#include <warpgauge/cuda/check.hpp>
#include <warpgauge/cuda/current_device.hpp>
#include "kernels/arguments.hpp"

namespace warpgauge::kernels {

/// How to distribute n elements over threads.
struct ElementLaunch {
  const char* launcher;  ///< begins the messages
  std::size_t n;
  unsigned threads;                ///< of a block
  unsigned per_thread = 1;         ///< elements
  unsigned most_blocks_an_sm = 0;  ///< if the kernel loops over the rest; 0: no limit
};

/// Launches kernel(arguments...). n = 0 launches nothing, whatever the arrays. Throws
/// std::invalid_argument like require_arrays() and blocks_for(), and CudaError, which names the
/// launcher, for a refused launch.
template <class... Parameters>
void launch_elements(const ElementLaunch& launch, std::initializer_list<Array> arrays,
                     cudaStream_t stream, void (*kernel)(Parameters...),
                     std::type_identity_t<Parameters>... arguments) {
  if (launch.n == 0) {
    return;
  }
  require_arrays(launch.launcher, arrays);
  const std::size_t per_block = std::size_t{launch.threads} * launch.per_thread;
  const unsigned blocks =
      launch.most_blocks_an_sm == 0
          ? blocks_for(launch.launcher, launch.n, per_block)
          : static_cast<unsigned>(std::min((launch.n - 1) / per_block + 1,
                                           std::size_t{sm_count()} * launch.most_blocks_an_sm));
  kernel<<<blocks, launch.threads, 0, stream>>>(arguments...);
  if (const cudaError_t code = cudaGetLastError(); code != cudaSuccess) [[unlikely]] {
    throw_cuda_error(code, launch.launcher, __FILE__, __LINE__);
  }
}

}  // namespace warpgauge::kernels
