// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/quantized/int4.hpp"

namespace warpgauge::kernels {

/// Throws what every launcher of int4.hpp throws for its inputs. Requires m and n > 0.
void require_int4(const char* launcher, const __nv_bfloat16* a, Int4Weights w, GemmShape shape);

}  // namespace warpgauge::kernels
