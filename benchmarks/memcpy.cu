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
  Traffic traffic;
};

constexpr Direction directions[] = {
    {"h2d_pageable", Memory::pageable, Memory::device, Traffic::host_to_device},
    {"d2h_pageable", Memory::device, Memory::pageable, Traffic::device_to_host},
    {"h2d_pinned", Memory::pinned, Memory::device, Traffic::host_to_device},
    {"d2h_pinned", Memory::device, Memory::pinned, Traffic::device_to_host},
    {"d2d", Memory::device, Memory::device, Traffic::device_copy},
};

void copy(GpuCase& gpu, const Direction& direction) {
  const std::size_t bytes = gpu.param("bytes");
  const auto source = gpu.input<float>(bytes / sizeof(float), direction.from);
  const auto target = gpu.output<float>(bytes / sizeof(float), direction.to);
  const bool on_device = direction.from == Memory::device && direction.to == Memory::device;
  gpu.moves_bytes(on_device ? 2 * bytes : bytes, direction.traffic);
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

/// Both ways at once, each by a copy engine of its own; the time is that of the later one.
void copy_both_ways(GpuCase& gpu) {
  const std::size_t bytes = gpu.param("bytes");
  const std::size_t count = bytes / sizeof(float);
  const auto host_source = gpu.input<float>(count, Memory::pinned);
  const auto device_target = gpu.output<float>(count);
  const auto device_source = gpu.input<float>(count);
  const auto host_target = gpu.output<float>(count, Memory::pinned);
  gpu.moves_bytes(2 * bytes, std::nullopt);
  gpu.verify_copy(device_target, host_source);
  gpu.verify_copy(host_target, device_source);
  gpu.overlap({[=](const Turn& at) {
                 WARPGAUGE_CHECK(cudaMemcpyAsync(device_target[at], host_source[at], bytes,
                                                 cudaMemcpyHostToDevice, at.stream));
               },
               [=](const Turn& at) {
                 WARPGAUGE_CHECK(cudaMemcpyAsync(host_target[at], device_source[at], bytes,
                                                 cudaMemcpyDeviceToHost, at.stream));
               }});
}

GpuBenchmark memcpy_benchmark(const Direction& direction,
                              std::source_location where = std::source_location::current()) {
  return {std::string("memcpy/") + direction.name,
          {{"bytes", {4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20}}},
          [&direction](GpuCase& gpu) { copy(gpu, direction); },
          where};
}

const GpuBenchmark both_ways{
    "memcpy/bidirectional_pinned", {{"bytes", {64 << 10, 16 << 20}}}, copy_both_ways};

const GpuBenchmark benchmarks[] = {
    memcpy_benchmark(directions[0]), memcpy_benchmark(directions[1]),
    memcpy_benchmark(directions[2]), memcpy_benchmark(directions[3]),
    memcpy_benchmark(directions[4]),
};

}  // namespace
