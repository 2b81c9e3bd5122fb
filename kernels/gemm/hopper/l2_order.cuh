// SPDX-License-Identifier: Apache-2.0
// The order of tiles that keeps what is read in the L2.
#pragma once

#include "kernels/gemm/hopper/persistent.cuh"

namespace warpgauge::kernels::hopper {

/// Down `Rows` rows, then the next column, and so through all columns; then the next rows.
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
