// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantized/arguments.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/gemm/arguments.hpp"

namespace warpgauge::kernels {

Tiles require_scaled(const char* launcher, ScaledRows a, ScaledTiles b, const void* c,
                     GemmShape shape, unsigned tile_rows, unsigned tile_columns) {
  require_gemm(launcher, a.values, b.values, chunk_bytes, shape);
  require_arrays(launcher, {{"a_scales", a.scales}, {"b_scales", b.scales}});
  require_pointer(launcher, "c", c, chunk_bytes);
  if (shape.k % 16 != 0 || shape.n % 8 != 0) {
    throw std::invalid_argument(describe(launcher, shape) +
                                ": k must be a multiple of 16, n of 8: rows of whole 16 bytes");
  }
  constexpr std::size_t most = 2'147'483'647 - 1024;  // TMA: a last tile may reach past the end
  if (std::max({shape.m, shape.n, shape.k}) > most) {
    throw std::invalid_argument(describe(launcher, shape) + ": at most " + std::to_string(most) +
                                " rows, columns or terms");
  }
  return tiles_of(launcher, shape.m, shape.n, tile_rows, tile_columns);
}

}  // namespace warpgauge::kernels
