// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce/row_arguments.hpp"

#include <limits>
#include <stdexcept>
#include <string>

namespace warpgauge::kernels {

void require_rows(const char* launcher, RowsShape shape, std::size_t element_bytes) {
  constexpr std::size_t most_bytes = std::numeric_limits<std::ptrdiff_t>::max();
  if (shape.rows > most_bytes / element_bytes / shape.columns) {
    throw std::invalid_argument(std::string(launcher) + ": " + std::to_string(shape.rows) +
                                " rows of " + std::to_string(shape.columns) +
                                " are more bytes than a signed 64-bit difference can count");
  }
}

void require_held_rows(const char* launcher, RowsShape shape, std::size_t element_bytes) {
  require_rows(launcher, shape, element_bytes);
  const std::size_t multiple = 16 / element_bytes;
  const std::size_t most = most_held_row_bytes / element_bytes;
  if (shape.columns > most || shape.columns % multiple != 0) {
    throw std::invalid_argument(std::string(launcher) + ": rows of " +
                                std::to_string(shape.columns) + "; it takes multiples of " +
                                std::to_string(multiple) + " up to " + std::to_string(most));
  }
}

}  // namespace warpgauge::kernels
