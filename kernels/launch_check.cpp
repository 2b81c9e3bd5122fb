// SPDX-License-Identifier: Apache-2.0
#include "kernels/launch_check.hpp"

#include <stdexcept>
#include <string>

namespace warpgauge::kernels {

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

void require_compute_capability(const char* launcher, int major) {
  int device = 0;
  check_status(launcher, cudaGetDevice(&device));
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check_status(launcher, cudaDeviceGetAttribute(&value, which, device));
    return value;
  };
  const int present = attribute(cudaDevAttrComputeCapabilityMajor);
  if (present < major) {
    throw std::runtime_error(std::string(launcher) + ": needs compute capability " +
                             std::to_string(major) + ".0, this device has " +
                             std::to_string(present) + '.' +
                             std::to_string(attribute(cudaDevAttrComputeCapabilityMinor)));
  }
}

}  // namespace warpgauge::kernels
