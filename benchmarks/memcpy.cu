// SPDX-License-Identifier: Apache-2.0
// Copies between host and device, and on the device: bound by the bus, the host's memory for
// pageable copies, and device memory (bytes read and bytes written) on the device.
#include "fixtures/gpu_benchmark.hpp"

namespace {

using namespace warpgauge;

struct Direction {
  const char* name;
  Memory from;
  Memory to;
};

constexpr Direction directions[] = {
    {"h2d_pageable", Memory::pageable, Memory::device},
    {"d2h_pageable", Memory::device, Memory::pageable},
    {"h2d_pinned", Memory::pinned, Memory::device},
    {"d2h_pinned", Memory::device, Memory::pinned},
    {"d2d", Memory::device, Memory::device},
};

void copy(GpuCase& gpu, const Direction& direction) {
  const std::size_t bytes = gpu.param("bytes");
  const auto source = gpu.input<float>(bytes / sizeof(float), direction.from);
  const auto target = gpu.output<float>(bytes / sizeof(float), direction.to);
  const bool on_device = direction.from == Memory::device && direction.to == Memory::device;
  gpu.moves_bytes(on_device ? 2 * bytes : bytes);
  gpu.verify_copy(target, source);
  if (direction.from == Memory::pageable || direction.to == Memory::pageable) {
    // Cannot be captured: the driver stages it through memory of its own while the caller waits.
    gpu.host_calls([=](const Turn& at) {
      WARPGAUGE_CHECK(cudaMemcpyAsync(target[at], source[at], bytes, cudaMemcpyDefault, at.stream));
      WARPGAUGE_CHECK(cudaStreamSynchronize(at.stream));
    });
  } else {
    gpu.replay([=](const Turn& at) {
      WARPGAUGE_CHECK(cudaMemcpyAsync(target[at], source[at], bytes, cudaMemcpyDefault, at.stream));
    });
  }
}

GpuBenchmark memcpy_benchmark(const Direction& direction) {
  return {std::string("memcpy/") + direction.name,
          {{"bytes", {4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20}}},
          [&direction](GpuCase& gpu) { copy(gpu, direction); }};
}

const GpuBenchmark benchmarks[] = {
    memcpy_benchmark(directions[0]), memcpy_benchmark(directions[1]),
    memcpy_benchmark(directions[2]), memcpy_benchmark(directions[3]),
    memcpy_benchmark(directions[4]),
};

}  // namespace
