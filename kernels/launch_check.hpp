// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

namespace warpgauge::kernels {

/// Throws std::runtime_error "WHAT: <CUDA's error name>: <CUDA's text>" unless status is
/// cudaSuccess, and clears the error, so that a later, unrelated check does not report it again.
void check_status(const char* what, cudaError_t status);

/// check_status() of the launch just made by this thread; call it right after `<<<...>>>`.
/// Sees refused launches only: a fault inside the kernel shows at the next synchronisation.
void check_launch(const char* kernel);

}  // namespace warpgauge::kernels
