// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/arguments.hpp"

#include <stdexcept>

#include "kernels/arguments.hpp"

namespace warpgauge::kernels {

std::string describe(const char* launcher, GemmShape shape) {
  return std::string(launcher) + ": m=" + std::to_string(shape.m) +
         " n=" + std::to_string(shape.n) + " k=" + std::to_string(shape.k);
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

void require_terms(const char* launcher, GemmShape shape) {
  if (shape.k == 0) {
    throw std::invalid_argument(describe(launcher, shape) + " sums nothing: k must be at least 1");
  }
}

void require_gemm(const char* launcher, const void* a, const void* b, std::size_t alignment,
                  GemmShape shape) {
  require_terms(launcher, shape);
  // double, the reference's type, is the widest element.
  require_countable(launcher, shape.m, shape.k, sizeof(double));
  require_countable(launcher, shape.k, shape.n, sizeof(double));
  require_countable(launcher, shape.m, shape.n, sizeof(double));
  require_pointer(launcher, "a", a, alignment);
  require_pointer(launcher, "b", b, alignment);
}

}  // namespace warpgauge::kernels
