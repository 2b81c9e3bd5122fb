// SPDX-License-Identifier: Apache-2.0
// The order of tiles that keeps their inputs in the L2.
#pragma once

#include "kernels/gemm/hopper/persistent.cuh"

namespace warpgauge::kernels::hopper {

/// Goes down `Rows` rows of one column, then through all columns, then to the next `Rows` rows.
template <unsigned Rows>
struct GroupOrder {
  static __device__ TilePlace place(unsigned index, unsigned rows, unsigned columns) {
    const unsigned group = index / (Rows * columns);
    const unsigned first = group * Rows;
    const unsigned high = min(Rows, rows - first);
    const unsigned in_group = index - first * columns;
    return {first + in_group % high, in_group / high};
  }
};

}  // namespace warpgauge::kernels::hopper
