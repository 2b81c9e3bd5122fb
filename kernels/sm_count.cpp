// SPDX-License-Identifier: Apache-2.0
#include "kernels/sm_count.hpp"

#include <cuda_runtime_api.h>

#include "kernels/launch_check.hpp"

namespace warpgauge::kernels {

unsigned sm_count() {
  int device = 0;
  int count = 0;
  check_status("cudaGetDevice", cudaGetDevice(&device));
  check_status("cudaDeviceGetAttribute",
               cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return static_cast<unsigned>(count);
}

}  // namespace warpgauge::kernels
