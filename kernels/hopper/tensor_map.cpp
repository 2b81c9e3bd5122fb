// SPDX-License-Identifier: Apache-2.0
#include "kernels/hopper/tensor_map.hpp"

#include <array>
#include <stdexcept>
#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/driver_function.hpp>

namespace warpgauge::kernels {

bool has_wgmma() {
  return has_compute_capability(9) && !has_compute_capability(9, 1);
}

namespace hopper {

void require_wgmma(const char* launcher) {
  if (!has_wgmma()) {
    require_compute_capability(launcher, 9);
    throw std::runtime_error(std::string(launcher) +
                             ": needs compute capability 9.0 exactly: newer devices do not have "
                             "wgmma");
  }
}

CUtensorMap tensor_map(const char* launcher, const void* matrix, std::size_t rows,
                       std::size_t columns, unsigned box_rows, unsigned element_bytes) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static const auto encode = driver_function<Encode>("cuTensorMapEncodeTiled");
  if (encode == nullptr) {
    throw std::runtime_error(std::string(launcher) +
                             ": the driver has no cuTensorMapEncodeTiled: CUDA 12.5 or newer is "
                             "needed");
  }
  const std::array<cuuint64_t, 2> extents{columns, rows};
  const std::array<cuuint64_t, 1> strides{columns * element_bytes};
  const std::array<cuuint32_t, 2> box{128 / element_bytes, box_rows};
  const std::array<cuuint32_t, 2> every{1, 1};
  const CUtensorMapDataType type = element_bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                   : element_bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                                        : CU_TENSOR_MAP_DATA_TYPE_UINT32;
  CUtensorMap map;
  const CUresult status =
      encode(&map, type, 2, const_cast<void*>(matrix), extents.data(), strides.data(), box.data(),
             every.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    throw std::runtime_error(std::string(launcher) + ": cuTensorMapEncodeTiled: error " +
                             std::to_string(status));
  }
  return map;
}

}  // namespace hopper
}  // namespace warpgauge::kernels
