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

}  // namespace warpgauge::kernels
