// SPDX-License-Identifier: Apache-2.0
// What an object puts on the device when it is made, before any stream uses it.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "kernels/workspace.hpp"

namespace warpgauge::kernels {

/// Runs what `issue` puts on the stream that it is given, and waits for it. That stream is gone
/// afterwards, and is not the default one: eight blocking copies of 16 KiB through that, and six
/// sets, left every later kernel of a graph in the process 0.3 us later (H200). owner begins the
/// messages. Throws what `issue` throws, std::runtime_error when CUDA fails.
void set_up(const char* owner, const std::function<void(cudaStream_t)>& issue);

/// All bytes of `storage` to zero, in the same way.
void set_to_zero(const char* owner, const Workspace& storage);

}  // namespace warpgauge::kernels
