// SPDX-License-Identifier: Apache-2.0
#include "kernels/grouped/arguments.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace warpgauge::kernels {

template <class T>
Tiles require_grouped(const char* launcher, GroupedInputs<T> inputs, const void* c,
                      GroupedShape shape, unsigned tile_rows, unsigned tile_columns) {
  constexpr bool is_bf16 = std::is_same_v<T, __nv_bfloat16>;
  constexpr std::size_t k_multiple = is_bf16 ? 64 : 16;
  constexpr std::size_t alignment = 16;
  constexpr std::size_t most = 2'147'483'647 - 1024;  // TMA: a last tile may reach past the end
  const std::string prefix = std::string(launcher) + ": rows=" + std::to_string(shape.rows) +
                             " n=" + std::to_string(shape.n) + " k=" + std::to_string(shape.k) +
                             " experts=" + std::to_string(shape.experts) + ": ";
  if (shape.k == 0 || shape.experts == 0) {
    throw std::invalid_argument(prefix + "k and experts must be at least 1");
  }
  if (shape.k % k_multiple != 0 || shape.n % 8 != 0) {
    throw std::invalid_argument(prefix + "k must be a multiple of " + std::to_string(k_multiple) +
                                ", n of 8");
  }
  const std::size_t rows_of_b = is_bf16 ? shape.k : shape.n;
  if (std::max({shape.rows, shape.n, shape.k}) > most || shape.experts > most / rows_of_b) {
    throw std::invalid_argument(prefix + "at most " + std::to_string(most) +
                                " rows, columns, terms, or rows of B of all experts");
  }
  require_arrays(
      launcher,
      {{"a", inputs.a, alignment}, {"b", inputs.b, alignment}, {"offsets", inputs.offsets}});
  if (!is_bf16) {
    require_arrays(launcher, {{"scales", inputs.scales}});
  }
  require_pointer(launcher, "c", c, alignment);
  return tiles_of(launcher, shape.rows + (shape.experts - 1) * tile_rows, shape.n, tile_rows,
                  tile_columns);
}

template Tiles require_grouped(const char*, GroupedInputs<__nv_bfloat16>, const void*, GroupedShape,
                               unsigned, unsigned);
template Tiles require_grouped(const char*, GroupedInputs<__nv_fp8_e4m3>, const void*, GroupedShape,
                               unsigned, unsigned);

}  // namespace warpgauge::kernels
