// SPDX-License-Identifier: Apache-2.0
#include "kernels/memory/transpose_arguments.hpp"

#include <limits>
#include <stdexcept>
#include <string>

#include <warpgauge/cuda/arguments.hpp>

namespace warpgauge::kernels {
namespace {

std::string describe(const char* launcher, TransposeShape shape) {
  return std::string(launcher) + ": " + std::to_string(shape.rows) + " rows of " +
         std::to_string(shape.columns);
}

void require_countable(const char* launcher, TransposeShape shape) {
  // double, the reference's type, is the widest element.
  if (shape.rows > std::numeric_limits<std::size_t>::max() / sizeof(double) / shape.columns) {
    throw std::invalid_argument(describe(launcher, shape) +
                                " are more bytes than a 64-bit size can count");
  }
}

}  // namespace

TransposeTiles transpose_tiles(const char* launcher, TransposeShape shape, unsigned rows,
                               unsigned columns) {
  const std::size_t down = (shape.rows - 1) / rows + 1;
  const std::size_t across = (shape.columns - 1) / columns + 1;
  if (down > max_grid_blocks / across) {
    throw std::invalid_argument(describe(launcher, shape) + " have more than " +
                                std::to_string(max_grid_blocks) + " tiles of " +
                                std::to_string(rows) + " x " + std::to_string(columns));
  }
  return {static_cast<unsigned>(down), static_cast<unsigned>(across)};
}

void require_transpose(const char* launcher, const void* in, const void* out, std::size_t alignment,
                       TransposeShape shape) {
  require_countable(launcher, shape);
  require_pointer(launcher, "in", in, alignment);
  require_pointer(launcher, "out", out, alignment);
}

void require_transpose_window(const char* launcher, const void* in, const void* expected,
                              TransposeShape shape, std::size_t first, std::size_t count) {
  require_countable(launcher, shape);
  require_pointer(launcher, "in", in, alignof(float));
  require_pointer(launcher, "expected", expected, alignof(double));
  require_window(launcher, first, count, shape.rows * shape.columns, "the matrix");
}

void require_multiple(const char* launcher, TransposeShape shape, std::size_t of) {
  if (shape.rows % of != 0 || shape.columns % of != 0) {
    throw std::invalid_argument(describe(launcher, shape) + "; both must be multiples of " +
                                std::to_string(of));
  }
}

}  // namespace warpgauge::kernels
