// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantized/int4_arguments.hpp"

#include <stdexcept>

#include "kernels/arguments.hpp"
#include "kernels/gemm/arguments.hpp"

namespace warpgauge::kernels {

void require_int4(const char* launcher, const __nv_bfloat16* a, Int4Weights w, GemmShape shape) {
  require_terms(launcher, shape);
  if (shape.k % int4_group != 0 || shape.n % 16 != 0) {
    throw std::invalid_argument(describe(launcher, shape) +
                                ": k must be a multiple of 128, n of 16");
  }
  require_countable(launcher, shape.m, shape.k, sizeof(double));
  require_countable(launcher, shape.k, shape.n, sizeof(double));
  require_countable(launcher, shape.m, shape.n, sizeof(double));
  require_arrays(launcher,
                 {{"a", a, chunk_bytes}, {"words", w.words, chunk_bytes}, {"scales", w.scales}});
}

}  // namespace warpgauge::kernels
