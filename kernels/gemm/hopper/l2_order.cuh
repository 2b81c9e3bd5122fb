// SPDX-License-Identifier: Apache-2.0
// The order of tiles that keeps their inputs in the L2.
#pragma once

#include "kernels/gemm/hopper/persistent.cuh"

namespace warpgauge::kernels::hopper {

/// Goes down `Rows` rows of one column, then through all columns, then to the next `Rows` rows.
template <unsigned Rows>
struct GroupOrder {
  static constexpr bool turns_back = false;

  static __device__ TilePlace place(unsigned index, unsigned rows, unsigned columns) {
    const unsigned group = index / (Rows * columns);
    const unsigned first = group * Rows;
    const unsigned high = min(Rows, rows - first);
    const unsigned in_group = index - first * columns;
    return {first + in_group % high, in_group / high};
  }
};

/// The same, but every other group goes through the columns from the last to the first, and every
/// other tile of a block through its terms. The tiles of a turn then begin with terms that those of
/// the turn before ended with, in the same rows of A or the same columns of B: the L2 has them.
template <unsigned Rows>
struct SerpentineOrder {
  static constexpr bool turns_back = true;

  static __device__ TilePlace place(unsigned index, unsigned rows, unsigned columns) {
    TilePlace place = GroupOrder<Rows>::place(index, rows, columns);
    if (place.row / Rows % 2 != 0) {
      place.column = columns - 1 - place.column;
    }
    return place;
  }
};

}  // namespace warpgauge::kernels::hopper
