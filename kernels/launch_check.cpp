// SPDX-License-Identifier: Apache-2.0
#include "kernels/launch_check.hpp"

#include <stdexcept>
#include <string>

namespace warpgauge::kernels {
namespace {

/// 10 * major + minor, of the current device.
int device_compute_capability(const char* launcher) {
  int device = 0;
  check_status(launcher, cudaGetDevice(&device));
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check_status(launcher, cudaDeviceGetAttribute(&value, which, device));
    return value;
  };
  return 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
         attribute(cudaDevAttrComputeCapabilityMinor);
}

std::string dotted(int capability) {
  return std::to_string(capability / 10) + '.' + std::to_string(capability % 10);
}

}  // namespace

void check_status(const char* what, cudaError_t status) {
  if (status == cudaSuccess) {
    return;
  }
  static_cast<void>(cudaGetLastError());  // clears it; the status is already known
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(status) + ": " +
                           cudaGetErrorString(status));
}

void check_launch(const char* kernel) {
  check_status(kernel, cudaGetLastError());
}

bool has_compute_capability(const char* launcher, int major, int minor) {
  return device_compute_capability(launcher) >= 10 * major + minor;
}

void require_compute_capability(const char* launcher, int major, int minor) {
  const int present = device_compute_capability(launcher);
  const int needed = 10 * major + minor;
  if (present < needed) {
    throw std::runtime_error(std::string(launcher) + ": needs compute capability " +
                             dotted(needed) + ", this device has " + dotted(present));
  }
}

int compiled_compute_capability(const char* launcher, const void* kernel) {
  cudaFuncAttributes attributes{};
  check_status(launcher, cudaFuncGetAttributes(&attributes, kernel));
  return attributes.ptxVersion;
}

void require_compiled_for(const char* launcher, int compiled, int major, int minor) {
  const int needed = 10 * major + minor;
  if (compiled < needed) {
    throw std::runtime_error(std::string(launcher) + ": was compiled for compute capability " +
                             dotted(compiled) + ", this kernel needs " + dotted(needed) +
                             ": build with -DCMAKE_CUDA_ARCHITECTURES=native");
  }
}

}  // namespace warpgauge::kernels
