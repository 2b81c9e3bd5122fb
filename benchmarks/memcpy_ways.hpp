// SPDX-License-Identifier: Apache-2.0
// Directions, sizes and strided shapes of the memcpy benchmarks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <warpgauge/core/units.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "kernels/memory/copy.hpp"

namespace warpgauge {

/// Source and target memory of a copy.
struct Way {
  Memory from;
  Memory to;

  Traffic traffic() const {
    if (!kind_of(from).on_device) {
      return Traffic::host_to_device;
    }
    return kind_of(to).on_device ? Traffic::device_copy : Traffic::device_to_host;
  }
};
constexpr Way h2d(Memory host) {
  return {host, Memory::device};
}
constexpr Way d2h(Memory host) {
  return {Memory::device, host};
}
inline constexpr Way d2d{Memory::device, Memory::device};

/// States the traffic of a copy of `bytes`. On the device, both reads and writes count.
inline void moves(GpuCase& gpu, Way way, std::size_t bytes) {
  const bool on_device = way.traffic() == Traffic::device_copy;
  gpu.moves_bytes(on_device ? 2 * bytes : bytes, way.traffic());
}

/// The default suite measures `values`; the full suite every size from `least` to `most`.
inline Axes bytes(const std::vector<AxisValue>& values, std::size_t least, std::size_t most) {
  Axis axis{"bytes", values};
  for (const std::size_t size :
       {std::size_t{1}, 4 * kibi, 64 * kibi, mebi, 16 * mebi, 256 * mebi, gibi}) {
    if (size >= least && size <= most &&
        std::find(values.begin(), values.end(), size) == values.end()) {
      axis.full.push_back(size);
    }
  }
  return {axis};
}

/// Buffers for copying every other row of a matrix, or piece of a buffer, into packed memory.
struct Rows {
  Buffer<float> source;
  Buffer<float> target;
  std::size_t count;
  std::size_t bytes;  ///< of one row; the source has twice this distance between rows

  Rows(GpuCase& gpu, Way way, std::size_t rows, std::size_t row_bytes)
      : source(gpu.input<float>(product({2, rows, row_bytes}) / sizeof(float), way.from)),
        target(gpu.output<float>(product({rows, row_bytes}) / sizeof(float), way.to)),
        count(rows),
        bytes(row_bytes) {
    moves(gpu, way, rows * row_bytes);
    gpu.verify(target, {},
               [in = source, rows, width = row_bytes / sizeof(float)](
                   const Iteration& at, Window window, double* expected) {
                 kernels::packed_rows_reference(in[at], expected, {rows, width, 2 * width},
                                                window.first, window.count, at.stream);
               });
  }
  std::byte* from(const Iteration& at, std::size_t row) const {
    return reinterpret_cast<std::byte*>(source[at]) + 2 * row * bytes;
  }
  std::byte* to(const Iteration& at, std::size_t row) const {
    return reinterpret_cast<std::byte*>(target[at]) + row * bytes;
  }
};

}  // namespace warpgauge
