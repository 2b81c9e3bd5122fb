// SPDX-License-Identifier: Apache-2.0
#include "kernels/arguments.hpp"

#include <limits>
#include <stdexcept>
#include <string>

namespace warpgauge::kernels {
namespace {

std::string describe(const char* launcher, std::size_t rows, std::size_t columns) {
  return std::string(launcher) + ": " + std::to_string(rows) + " rows of " +
         std::to_string(columns);
}

}  // namespace

void require_arrays(const char* launcher, std::initializer_list<Array> arrays) {
  for (const Array& array : arrays) {
    require_pointer(launcher, array.name, array.data, array.alignment);
  }
}

void require_countable(const char* launcher, std::size_t rows, std::size_t columns,
                       std::size_t element_bytes) {
  constexpr std::size_t most_bytes = std::numeric_limits<std::ptrdiff_t>::max();
  if (rows > most_bytes / element_bytes / columns) {
    throw std::invalid_argument(describe(launcher, rows, columns) +
                                " are more bytes than a signed 64-bit difference can count");
  }
}

Tiles tiles_of(const char* launcher, std::size_t rows, std::size_t columns, unsigned tile_rows,
               unsigned tile_columns) {
  const std::size_t down = (rows - 1) / tile_rows + 1;
  const std::size_t across = (columns - 1) / tile_columns + 1;
  if (down > max_grid_blocks / across) {
    throw std::invalid_argument(describe(launcher, rows, columns) + " have more than " +
                                std::to_string(max_grid_blocks) + " tiles of " +
                                std::to_string(tile_rows) + " x " + std::to_string(tile_columns));
  }
  return {static_cast<unsigned>(down), static_cast<unsigned>(across)};
}

}  // namespace warpgauge::kernels
