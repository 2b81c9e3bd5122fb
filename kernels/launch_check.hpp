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

/// Throws std::runtime_error "LAUNCHER: needs compute capability MAJOR.0, this device has ..."
/// unless the current device has at least that. Cheap enough for every launch: what it asks for,
/// the runtime knows without asking the driver.
void require_compute_capability(const char* launcher, int major);

}  // namespace warpgauge::kernels
