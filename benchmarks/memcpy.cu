// SPDX-License-Identifier: Apache-2.0
// Copies between host and device, and on the device. Bound by the bus; pageable copies by host
// memory; small copies by the driver's time per call; copies on the device by device memory (reads
// and writes). `bytes` counts one direction. A copy in many pieces has `pieces` of `piece_bytes`.
#include <vector>

#include <warpgauge/core/units.hpp>
#include <warpgauge/cuda/memory.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "benchmarks/managed_pages.hpp"
#include "benchmarks/memcpy_ways.hpp"
#include "kernels/memory/copy.hpp"

namespace {

using namespace warpgauge;

template <class T>
void copy_elements(GpuCase& gpu, Way way, std::size_t bytes) {
  const auto source = gpu.input<T>(bytes / sizeof(T), way.from);
  const auto target = gpu.output<T>(bytes / sizeof(T), way.to);
  moves(gpu, way, bytes);
  gpu.verify_copy(target, source);
  const Operation operation = [=](const Iteration& at) {
    WARPGAUGE_CHECK(cudaMemcpyAsync(target[at], source[at], bytes, cudaMemcpyDefault, at.stream));
  };
  if (kind_of(way.from).is_capturable && kind_of(way.to).is_capturable) {
    gpu.replay(operation);
  } else {
    // The driver stages the copy through its own memory while the caller waits.
    gpu.host_calls(synchronised(operation));
  }
}

/// cudaMemcpyAsync: the copy engine's time, except for pageable memory.
void copy(GpuCase& gpu, Way way) {
  const std::size_t bytes = gpu.param("bytes");
  if (bytes % sizeof(float) == 0) {
    copy_elements<float>(gpu, way, bytes);
  } else {
    copy_elements<std::uint8_t>(gpu, way, bytes);
  }
}

/// cudaMemcpy. To and from page-locked memory, and to pageable memory, it returns after the copy:
/// small sizes show the driver's time per call, and from a few MiB on the time equals that of an
/// asynchronous copy. In the other cases only the call is timed and no rate is stated (CUDA Runtime
/// API, "API synchronization behavior"): from pageable memory it returns once the driver has staged
/// all data, for small sizes before the copy ends; on the device it does not wait. After each such
/// call the engine waits, untimed, so that every call finds an idle device.
void copy_blocking(GpuCase& gpu, Way way) {
  const std::size_t bytes = gpu.param("bytes");
  const auto source = gpu.input<std::uint8_t>(bytes, way.from);
  const auto target = gpu.output<std::uint8_t>(bytes, way.to);
  const Operation call = [=](const Iteration& at) {
    WARPGAUGE_CHECK(cudaMemcpy(target[at], source[at], bytes, cudaMemcpyDefault));
  };
  const bool waits = way.from != Memory::pageable && way.traffic() != Traffic::device_copy;
  if (waits) {
    moves(gpu, way, bytes);
    gpu.verify_copy(target, source);
    gpu.host_calls(call);
    return;
  }
  // cudaMemcpy uses the default stream, not the iteration's, and does not wait for other streams.
  const Operation wait = [](const Iteration&) {
    WARPGAUGE_CHECK(cudaStreamSynchronize(cudaStreamLegacy));
  };
  gpu.verify(wait);
  gpu.verify_copy(target, source);
  gpu.host_calls(call, wait);
}

/// Copy by the multiprocessors, which access page-locked memory. Same bound as the copy engine.
void copy_by_kernel(GpuCase& gpu, Way way) {
  const std::size_t bytes = gpu.param("bytes");
  const auto source = gpu.input<float>(bytes / sizeof(float), way.from);
  const auto target = gpu.output<float>(bytes / sizeof(float), way.to);
  moves(gpu, way, bytes);
  gpu.verify_copy(target, source);
  gpu.replay(
      [=](const Iteration& at) { kernels::copy_bytes(source[at], target[at], bytes, at.stream); });
}

/// Managed memory moved by cudaMemPrefetchAsync, which cannot be captured. Bound by the driver,
/// which maps and unmaps pages. Every call finds its pages on the other side. Separate calls verify
/// this, because comparing contents would move the pages to the device.
void prefetch_managed(GpuCase& gpu, Side to, Traffic traffic) {
  const std::size_t bytes = gpu.param("bytes");
  const auto data = gpu.input<float>(bytes / sizeof(float), Memory::managed);
  const Side from = to == Side::host ? Side::device : Side::host;
  const Operation there = [=](const Iteration& at) {
    prefetch(data[at], bytes, to, at.stream);
    WARPGAUGE_CHECK(cudaStreamSynchronize(at.stream));
  };
  const Operation back = [=](const Iteration& at) { prefetch(data[at], bytes, from, at.stream); };
  gpu.moves_bytes(bytes, traffic);
  gpu.verify([=, device = gpu.device()](const Iteration& at) {
    back(at);
    WARPGAUGE_CHECK(cudaStreamSynchronize(at.stream));
    require_pages(data[at], bytes, from, device);
    there(at);
    require_pages(data[at], bytes, to, device);
  });
  gpu.host_calls(there, back);
}

/// Both directions at once, each on its own copy engine. The time is that of the slower copy.
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
  gpu.overlap({[=](const Iteration& at) {
                 WARPGAUGE_CHECK(cudaMemcpyAsync(device_target[at], host_source[at], bytes,
                                                 cudaMemcpyHostToDevice, at.stream));
               },
               [=](const Iteration& at) {
                 WARPGAUGE_CHECK(cudaMemcpyAsync(host_target[at], device_source[at], bytes,
                                                 cudaMemcpyDeviceToHost, at.stream));
               }});
}

/// Copies 16 MiB of rows in one call. Over the bus this is as fast as a plain copy, except for the
/// shortest rows. On the device it uses another path, at 0.4 of the rate on an H200.
void copy_2d(GpuCase& gpu, Way way) {
  const std::size_t width = gpu.param("row_bytes", sizeof(float), 16 * mebi);
  const Rows rows(gpu, way, 16 * mebi / width, width);
  gpu.replay([=](const Iteration& at) {
    WARPGAUGE_CHECK(cudaMemcpy2DAsync(rows.to(at, 0), width, rows.from(at, 0), 2 * width, width,
                                      rows.count, cudaMemcpyDefault, at.stream));
  });
}

/// Small copies with one call each. Bound by the driver's time per call.
void copy_in_a_loop(GpuCase& gpu, Way way) {
  const Rows pieces(gpu, way, gpu.param("pieces"), gpu.param("piece_bytes"));
  gpu.host_calls(synchronised([=](const Iteration& at) {
    for (std::size_t i = 0; i < pieces.count; ++i) {
      WARPGAUGE_CHECK(cudaMemcpyAsync(pieces.to(at, i), pieces.from(at, i), pieces.bytes,
                                      cudaMemcpyDefault, at.stream));
    }
  }));
}

/// The same copies in one cudaMemcpyBatchAsync, which cannot be captured.
void copy_in_a_batch(GpuCase& gpu, Way way) {
#if CUDART_VERSION >= 12080
  constexpr int first_driver = 12080;
  int driver = 0;
  WARPGAUGE_CHECK(cudaDriverGetVersion(&driver));
  if (driver < first_driver) {
    throw Unsupported("needs a driver of CUDA 12.8 for cudaMemcpyBatchAsync");
  }
  const Rows pieces(gpu, way, gpu.param("pieces"), gpu.param("piece_bytes"));
  std::vector<std::size_t> sizes(pieces.count, pieces.bytes);
  std::vector<void*> from(pieces.count);
  std::vector<void*> to(pieces.count);
  gpu.host_calls(synchronised([=](const Iteration& at) mutable {
    for (std::size_t i = 0; i < pieces.count; ++i) {
      from[i] = pieces.from(at, i);
      to[i] = pieces.to(at, i);
    }
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    std::size_t first = 0;
#if CUDART_VERSION >= 13000
    WARPGAUGE_CHECK(cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), pieces.count,
                                         &attributes, &first, 1, at.stream));
#else
    std::size_t failed = 0;
    WARPGAUGE_CHECK(cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), pieces.count,
                                         &attributes, &first, 1, &failed, at.stream));
#endif
  }));
#else
  static_cast<void>(gpu);
  static_cast<void>(way);
  throw Unsupported("needs a toolkit of CUDA 12.8 for cudaMemcpyBatchAsync");
#endif
}

/// cudaMemset. Bound by device memory: bytes written.
void fill(GpuCase& gpu) {
  const std::size_t bytes = gpu.param("bytes");
  const auto target = gpu.output<std::uint8_t>(bytes);
  gpu.moves_bytes(bytes, Traffic::device_write);
  gpu.verify(target, {}, [](const Iteration& at, Window window, double* expected) {
    WARPGAUGE_CHECK(cudaMemsetAsync(expected, 0, window.count * sizeof(double), at.stream));
  });
  gpu.replay([=](const Iteration& at) {
    WARPGAUGE_CHECK(cudaMemsetAsync(target[at], 0, bytes, at.stream));
  });
}

/// A benchmark body that calls `copy` with `way`.
auto by(void (*copy)(GpuCase&, Way), Way way) {
  return [=](GpuCase& gpu) { copy(gpu, way); };
}

constexpr Memory pageable = Memory::pageable;
constexpr Memory pinned = Memory::pinned;
constexpr Memory registered = Memory::registered;
constexpr Memory write_combined = Memory::write_combined;

const GpuBenchmark plain[] = {
    {"memcpy/h2d_pageable", bytes({4 * kibi, 16 * mebi}, 1, gibi), by(copy, h2d(pageable))},
    {"memcpy/d2h_pageable", bytes({16 * mebi}, 1, gibi), by(copy, d2h(pageable))},
    {"memcpy/h2d_pinned", bytes({4 * kibi, mebi, 16 * mebi}, 1, gibi), by(copy, h2d(pinned))},
    // 4 KiB only in the full suite: it takes 7 % longer on a host with two H200s than with one.
    {"memcpy/d2h_pinned", bytes({16 * mebi}, 1, gibi), by(copy, d2h(pinned))},
    {"memcpy/h2d_write_combined", bytes({16 * mebi}, 1, gibi), by(copy, h2d(write_combined))},
    {"memcpy/d2h_write_combined", bytes({}, 1, gibi), by(copy, d2h(write_combined))},
    {"memcpy/h2d_registered", bytes({}, 1, gibi), by(copy, h2d(registered))},
    {"memcpy/d2h_registered", bytes({}, 1, gibi), by(copy, d2h(registered))},
    {"memcpy/d2d", bytes({4 * kibi, mebi, 256 * mebi}, 1, gibi), by(copy, d2d)},
    {"memcpy/d2d_managed", bytes({}, 1, gibi), by(copy, {Memory::managed, Memory::managed})},
};

const GpuBenchmark blocking[] = {
    {"memcpy/h2d_pageable_blocking", bytes({}, 1, gibi), by(copy_blocking, h2d(pageable))},
    {"memcpy/d2h_pageable_blocking", bytes({}, 1, gibi), by(copy_blocking, d2h(pageable))},
    {"memcpy/h2d_pinned_blocking", bytes({4 * kibi}, 1, gibi), by(copy_blocking, h2d(pinned))},
    {"memcpy/d2h_pinned_blocking", bytes({}, 1, gibi), by(copy_blocking, d2h(pinned))},
    {"memcpy/h2d_write_combined_blocking", bytes({}, 4 * kibi, 16 * mebi),
     by(copy_blocking, h2d(write_combined))},
    {"memcpy/d2h_write_combined_blocking", bytes({}, 4 * kibi, 16 * mebi),
     by(copy_blocking, d2h(write_combined))},
    {"memcpy/h2d_registered_blocking", bytes({}, 4 * kibi, 16 * mebi),
     by(copy_blocking, h2d(registered))},
    {"memcpy/d2h_registered_blocking", bytes({}, 4 * kibi, 16 * mebi),
     by(copy_blocking, d2h(registered))},
    {"memcpy/d2d_blocking", bytes({}, 1, gibi), by(copy_blocking, d2d)},
};

const GpuBenchmark both_ways{"memcpy/bidirectional_pinned", bytes({16 * mebi}, 4 * kibi, gibi),
                             copy_both_ways};

const GpuBenchmark to_the_device{
    "memcpy/h2d_managed_prefetch", bytes({16 * mebi}, 4 * kibi, gibi),
    [](GpuCase& gpu) { prefetch_managed(gpu, Side::device, Traffic::host_to_device); }};
const GpuBenchmark to_the_host{
    "memcpy/d2h_managed_prefetch", bytes({16 * mebi}, 4 * kibi, gibi),
    [](GpuCase& gpu) { prefetch_managed(gpu, Side::host, Traffic::device_to_host); }};

const Axes row_lengths{{"row_bytes", {kibi}, {64, 16 * kibi, 256 * kibi}}};
const Axes row_lengths_in_full{{"row_bytes", {}, {64, kibi, 16 * kibi, 256 * kibi}}};
const GpuBenchmark by_rows[] = {
    {"memcpy/h2d_pinned_2d", row_lengths_in_full, by(copy_2d, h2d(pinned))},
    {"memcpy/d2h_pinned_2d", row_lengths_in_full, by(copy_2d, d2h(pinned))},
    {"memcpy/d2d_2d", row_lengths, by(copy_2d, d2d)},
};

const Axes in_pieces{{"pieces", {256}, {16}}, {"piece_bytes", {4 * kibi}, {64 * kibi}}};
const Axes in_pieces_in_full{{"pieces", {}, {16, 256}}, {"piece_bytes", {}, {4 * kibi, 64 * kibi}}};
const GpuBenchmark many[] = {
    {"memcpy/h2d_pinned_loop", in_pieces, by(copy_in_a_loop, h2d(pinned))},
    {"memcpy/h2d_pinned_batch", in_pieces, by(copy_in_a_batch, h2d(pinned))},
    {"memcpy/d2h_pinned_loop", in_pieces_in_full, by(copy_in_a_loop, d2h(pinned))},
    {"memcpy/d2h_pinned_batch", in_pieces_in_full, by(copy_in_a_batch, d2h(pinned))},
    {"memcpy/d2d_loop", in_pieces_in_full, by(copy_in_a_loop, d2d)},
    {"memcpy/d2d_batch", in_pieces_in_full, by(copy_in_a_batch, d2d)},
};

const GpuBenchmark by_kernel[] = {
    {"memcpy/h2d_pinned_by_kernel", bytes({16 * mebi}, 4 * kibi, gibi),
     by(copy_by_kernel, h2d(pinned))},
    {"memcpy/d2h_pinned_by_kernel", bytes({}, 4 * kibi, gibi), by(copy_by_kernel, d2h(pinned))},
    {"memcpy/h2d_write_combined_by_kernel", bytes({}, 4 * kibi, 16 * mebi),
     by(copy_by_kernel, h2d(write_combined))},
    {"memcpy/h2d_registered_by_kernel", bytes({}, 4 * kibi, 16 * mebi),
     by(copy_by_kernel, h2d(registered))},
    {"memcpy/d2h_registered_by_kernel", bytes({}, 4 * kibi, 16 * mebi),
     by(copy_by_kernel, d2h(registered))},
    {"memcpy/d2d_by_kernel", bytes({}, 4 * kibi, gibi), by(copy_by_kernel, d2d)},
};

const GpuBenchmark zeros{"memcpy/memset", bytes({256 * mebi}, 1, gibi), fill};

}  // namespace
