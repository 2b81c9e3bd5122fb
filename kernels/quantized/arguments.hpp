// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/arguments.hpp"
#include "kernels/quantized/scaled.hpp"

namespace warpgauge::kernels {

/// Throws what every launcher of scaled.hpp throws for its arguments; returns the tiles of C.
/// Requires m and n > 0.
Tiles require_scaled(const char* launcher, ScaledRows a, ScaledTiles b, const void* c,
                     GemmShape shape, unsigned tile_rows, unsigned tile_columns);

}  // namespace warpgauge::kernels
