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

namespace {

/// A contiguous array, its innermost extent first.
template <std::size_t Rank>
CUtensorMap tensor_map_of(const char* launcher, const void* first,
                          const std::array<cuuint64_t, Rank>& extents, unsigned box_rows,
                          unsigned element_bytes) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static const auto encode = driver_function<Encode>("cuTensorMapEncodeTiled");
  if (encode == nullptr) {
    throw std::runtime_error(std::string(launcher) +
                             ": the driver has no cuTensorMapEncodeTiled: CUDA 12.5 or newer is "
                             "needed");
  }
  std::array<cuuint64_t, Rank - 1> strides;
  std::array<cuuint32_t, Rank> box;
  std::array<cuuint32_t, Rank> every;
  box.fill(1);
  every.fill(1);
  box[0] = 128 / element_bytes;
  box[1] = box_rows;
  std::size_t stride = element_bytes;
  for (std::size_t i = 0; i < Rank - 1; ++i) {
    strides[i] = stride *= extents[i];
  }
  const CUtensorMapDataType type = element_bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                   : element_bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                                        : CU_TENSOR_MAP_DATA_TYPE_UINT32;
  CUtensorMap map;
  const CUresult status =
      encode(&map, type, Rank, const_cast<void*>(first), extents.data(), strides.data(), box.data(),
             every.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    throw std::runtime_error(std::string(launcher) + ": cuTensorMapEncodeTiled: error " +
                             std::to_string(status));
  }
  return map;
}

}  // namespace

CUtensorMap tensor_map(const char* launcher, const void* matrix, std::size_t rows,
                       std::size_t columns, unsigned box_rows, unsigned element_bytes) {
  return tensor_map_of<2>(launcher, matrix, {columns, rows}, box_rows, element_bytes);
}

CUtensorMap tensor_map(const char* launcher, const void* first, std::size_t matrices,
                       std::size_t rows, std::size_t columns, unsigned box_rows,
                       unsigned element_bytes) {
  return tensor_map_of<3>(launcher, first, {columns, rows, matrices}, box_rows, element_bytes);
}

}  // namespace hopper
}  // namespace warpgauge::kernels
