// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/arguments.hpp"

#include <limits>
#include <stdexcept>
#include <string>

#include <warpgauge/cuda/arguments.hpp>

namespace warpgauge::kernels {
namespace {

std::string describe(const char* launcher, GemmShape shape) {
  return std::string(launcher) + ": m=" + std::to_string(shape.m) +
         " n=" + std::to_string(shape.n) + " k=" + std::to_string(shape.k);
}

bool fits(std::size_t rows, std::size_t columns) {
  // double, the reference's type, is the widest element.
  return rows <= std::numeric_limits<std::size_t>::max() / sizeof(double) / columns;
}

}  // namespace

GemmTiles gemm_tiles(const char* launcher, GemmShape shape, unsigned tile_rows,
                     unsigned tile_columns) {
  const std::size_t rows = (shape.m - 1) / tile_rows + 1;
  const std::size_t columns = (shape.n - 1) / tile_columns + 1;
  if (rows > max_grid_blocks / columns) {
    throw std::invalid_argument(describe(launcher, shape) + " has more than " +
                                std::to_string(max_grid_blocks) + " output tiles of " +
                                std::to_string(tile_rows) + " x " + std::to_string(tile_columns));
  }
  return {static_cast<unsigned>(rows * columns), static_cast<unsigned>(rows),
          static_cast<unsigned>(columns)};
}

bool has_whole_chunks(GemmShape shape, std::size_t element_bytes) {
  const std::size_t elements = chunk_bytes / element_bytes;
  return shape.k % elements == 0 && shape.n % elements == 0;
}

std::size_t require_workspace(const char* owner, std::size_t bytes) {
  if (bytes == 0) {
    throw std::invalid_argument(std::string(owner) +
                                ": a workspace of 0 bytes, at least 1 is needed");
  }
  return bytes;
}

void require_gemm(const char* launcher, const void* a, const void* b, std::size_t alignment,
                  GemmShape shape) {
  if (shape.k == 0) {
    throw std::invalid_argument(describe(launcher, shape) + " sums nothing: k must be at least 1");
  }
  if (!fits(shape.m, shape.k) || !fits(shape.k, shape.n) || !fits(shape.m, shape.n)) {
    throw std::invalid_argument(describe(launcher, shape) +
                                " has a matrix of more bytes than a 64-bit size can count");
  }
  require_pointer(launcher, "a", a, alignment);
  require_pointer(launcher, "b", b, alignment);
}

}  // namespace warpgauge::kernels
