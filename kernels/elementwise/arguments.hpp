// SPDX-License-Identifier: Apache-2.0
// What the elementwise launchers refuse alike.
#pragma once

#include <cstddef>

#include <warpgauge/cuda/arguments.hpp>

namespace warpgauge::kernels {

/// Throws std::invalid_argument, beginning with launcher, for an array of a x + y that is null or
/// not aligned to `alignment` bytes.
template <class T>
void require_axpy_arrays(const char* launcher, const T* x, const T* y, const T* out,
                         std::size_t alignment = alignof(T)) {
  require_pointer(launcher, "x", x, alignment);
  require_pointer(launcher, "y", y, alignment);
  require_pointer(launcher, "out", out, alignment);
}

}  // namespace warpgauge::kernels
