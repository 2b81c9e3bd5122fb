// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace warpgauge::kernels {

/// Throws std::invalid_argument for a stride of 0, and where n * stride floats are more bytes than
/// a size_t counts.
void require_stride(const char* launcher, std::size_t n, std::size_t stride);

}  // namespace warpgauge::kernels
