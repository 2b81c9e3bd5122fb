// SPDX-License-Identifier: Apache-2.0
// What the plain kernels share: the expert of a row, and elements of B.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/grouped/grouped.hpp"

namespace warpgauge::kernels {

/// The expert that has this row.
__device__ inline std::size_t expert_of(const std::int32_t* offsets, std::size_t experts,
                                        std::size_t row) {
  std::size_t low = 0;  // offsets[low] <= row < offsets[high]
  std::size_t high = experts;
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (static_cast<std::size_t>(offsets[middle]) <= row ? low : high) = middle;
  }
  return low;
}

/// One output, summed as Sum. Where both operands are contiguous along k, 16 bytes at a time.
template <class Sum, class T>
__device__ inline Sum grouped_output(const GroupedInputs<T>& inputs, const GroupedShape& shape,
                                     std::size_t row, std::size_t column) {
  constexpr bool is_row_major = std::is_same_v<T, __nv_bfloat16>;
  const std::size_t expert = expert_of(inputs.offsets, shape.experts, row);
  const T* const a = inputs.a + row * shape.k;
  const T* const b = inputs.b + expert * shape.k * shape.n + column * (is_row_major ? 1 : shape.k);
  Sum sum = 0;
  const auto add = [&](T left, T right) {
    sum += static_cast<Sum>(static_cast<float>(left)) * static_cast<Sum>(static_cast<float>(right));
  };
  if constexpr (is_row_major) {
#pragma unroll 8
    for (std::size_t k = 0; k < shape.k; ++k) {
      add(a[k], b[k * shape.n]);
    }
    return sum;
  } else {
    constexpr std::size_t at_once = 16;
    for (std::size_t k = 0; k < shape.k; k += at_once) {
      const uint4 sixteen_of_a = *reinterpret_cast<const uint4*>(a + k);
      const uint4 sixteen_of_b = *reinterpret_cast<const uint4*>(b + k);
      T left[at_once];
      T right[at_once];
      std::memcpy(left, &sixteen_of_a, sizeof(left));
      std::memcpy(right, &sixteen_of_b, sizeof(right));
#pragma unroll
      for (std::size_t i = 0; i < at_once; ++i) {
        add(left[i], right[i]);
      }
    }
    return sum * static_cast<Sum>(inputs.scales[expert]);
  }
}

}  // namespace warpgauge::kernels
