// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/arguments.hpp"
#include "kernels/grouped/grouped.hpp"

namespace warpgauge::kernels {

/// Throws what every launcher of grouped.hpp throws for its arguments. Returns the tiles of C, with
/// one more row of tiles than needed for each expert but the last: each may end in a part of a
/// tile. Requires rows and n > 0.
template <class T>
Tiles require_grouped(const char* launcher, GroupedInputs<T> inputs, const void* c,
                      GroupedShape shape, unsigned tile_rows, unsigned tile_columns);

}  // namespace warpgauge::kernels
