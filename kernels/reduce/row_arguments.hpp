// SPDX-License-Identifier: Apache-2.0
// What softmax and layer norm refuse.
#pragma once

#include <warpgauge/cuda/arguments.hpp>
#include "kernels/reduce/rows.hpp"

namespace warpgauge::kernels {

/// Throws std::invalid_argument unless a signed 64-bit difference counts the bytes of the matrix,
/// which has at least one element.
void require_rows(const char* launcher, RowsShape shape, std::size_t element_bytes);

/// As that; also for a row that registers do not hold, or of no whole number of 16-byte vectors.
void require_held_rows(const char* launcher, RowsShape shape, std::size_t element_bytes);

}  // namespace warpgauge::kernels
