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

/// Whether the current device has at least this compute capability. Cheap enough for every launch:
/// the runtime knows it without asking the driver. Throws std::runtime_error when CUDA fails.
bool has_compute_capability(const char* launcher, int major, int minor = 0);

/// Throws std::runtime_error "LAUNCHER: needs compute capability MAJOR.MINOR, this device has ..."
/// unless has_compute_capability().
void require_compute_capability(const char* launcher, int major, int minor = 0);

/// The compute capability, 10 * major + minor, that the code of `kernel` for the current device was
/// compiled for (its __CUDA_ARCH__ / 10): older than the device where it was built for an older one
/// and translated from PTX. Throws std::runtime_error when CUDA fails.
int compiled_compute_capability(const char* launcher, const void* kernel);

/// Throws std::runtime_error unless code compiled for `compiled`, counted as above, has what begins
/// with compute capability MAJOR.MINOR.
void require_compiled_for(const char* launcher, int compiled, int major, int minor = 0);

/// For a kernel whose code stands behind `#if __CUDA_ARCH__ >= ...`: require_compute_capability(),
/// and that it was compiled for that, else it would do nothing even on a device that can. Asks for
/// the latter once a kernel, of the device that is current at its first launch.
template <auto kernel>
void require_compute_capability_of(const char* launcher, int major, int minor = 0) {
  require_compute_capability(launcher, major, minor);
  static const int compiled =
      compiled_compute_capability(launcher, reinterpret_cast<const void*>(kernel));
  require_compiled_for(launcher, compiled, major, minor);
}

}  // namespace warpgauge::kernels
