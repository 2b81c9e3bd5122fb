// SPDX-License-Identifier: Apache-2.0
// The cost of memory: taking it, giving it back, and touching it first. Bound by the driver and the
// operating system, which map, lock and clear pages. `bytes` is the requested size.
#include <sys/mman.h>

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <warpgauge/core/units.hpp>
#include <warpgauge/cuda/check.hpp>
#include <warpgauge/cuda/memory.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include <warpgauge/host/pageable_memory.hpp>
#include "kernels/memory/copy.hpp"

namespace {

using namespace warpgauge;

constexpr std::size_t page = 4 * kibi;

/// Of nothing, there is no last byte to look at.
std::size_t some_bytes(const GpuCase& gpu) {
  return gpu.param("bytes", 1, std::numeric_limits<std::size_t>::max());
}

/// Throws unless the last byte of what the device can reach keeps what the device writes to it.
void require_usable(void* memory, std::size_t bytes, const Iteration& at) {
  constexpr unsigned char written = 0x5a;
  unsigned char read = 0;
  auto* const last = static_cast<unsigned char*>(memory) + bytes - 1;
  kernels::touch(last, 1, 1, written, at.stream);
  WARPGAUGE_CHECK(cudaMemcpyAsync(&read, last, 1, cudaMemcpyDefault, at.stream));
  WARPGAUGE_CHECK(cudaStreamSynchronize(at.stream));
  if (read != written) {
    throw WrongResult("wrong result: memory of " + std::to_string(bytes) +
                      " bytes does not keep what is written to its last one");
  }
}

/// A way to take memory and to give it back, on a stream.
struct Allocator {
  std::function<void*(std::size_t bytes, cudaStream_t)> take;
  std::function<void(void*, cudaStream_t)> give_back;
  /// Throws unless what was given back is where it should be. The stream has ended.
  std::function<void(std::size_t bytes)> require_given_back = [](std::size_t) {};

  /// Takes memory, calls `use` with it, and gives it back, even if `use` throws.
  void pair(std::size_t bytes, const Iteration& at, const std::function<void(void*)>& use) const {
    void* const memory = take(bytes, at.stream);
    try {
      use(memory);
    } catch (...) {
      give_back(memory, at.stream);
      throw;
    }
    give_back(memory, at.stream);
  }
};

/// Verifies that the memory can be used, and where it goes. Returns the pair as an operation. It
/// moves no bytes: like other calls, it takes the time of the driver and the operating system.
Operation pairs(GpuCase& gpu, const Allocator& allocator) {
  const std::size_t bytes = some_bytes(gpu);
  gpu.verify([=](const Iteration& at) {
    allocator.require_given_back(bytes);
    allocator.pair(bytes, at, [&](void* memory) { require_usable(memory, bytes, at); });
  });
  return [=](const Iteration& at) {
    allocator.give_back(allocator.take(bytes, at.stream), at.stream);
  };
}

Allocator by_cuda_malloc() {
  return {[](std::size_t bytes, cudaStream_t) {
            void* memory = nullptr;
            WARPGAUGE_CHECK(cudaMalloc(&memory, bytes));
            return memory;
          },
          [](void* memory, cudaStream_t) { WARPGAUGE_CHECK(cudaFree(memory)); }};
}

Allocator by_cuda_malloc_managed() {
  return {[](std::size_t bytes, cudaStream_t) {
            void* memory = nullptr;
            WARPGAUGE_CHECK(cudaMallocManaged(&memory, bytes));
            return memory;
          },
          [](void* memory, cudaStream_t) { WARPGAUGE_CHECK(cudaFree(memory)); }};
}

Allocator by_cuda_malloc_host() {
  return {[](std::size_t bytes, cudaStream_t) {
            void* memory = nullptr;
            WARPGAUGE_CHECK(cudaMallocHost(&memory, bytes));
            return memory;
          },
          [](void* memory, cudaStream_t) { WARPGAUGE_CHECK(cudaFreeHost(memory)); }};
}

/// From the session's memory pool, which keeps `kept_bytes` of unused memory. The pool must have
/// what it should keep. What it should not keep is given back here, because a driver may do so
/// later than asked.
Allocator by_pool(GpuCase& gpu, std::uint64_t kept_bytes) {
  MemoryPool& pool = gpu.memory_pool(kept_bytes);
  return {[handle = pool.get()](std::size_t bytes, cudaStream_t stream) {
            void* memory = nullptr;
            WARPGAUGE_CHECK(cudaMallocFromPoolAsync(&memory, bytes, handle, stream));
            return memory;
          },
          [](void* memory, cudaStream_t stream) { WARPGAUGE_CHECK(cudaFreeAsync(memory, stream)); },
          [&pool, kept_bytes](std::size_t bytes) {
            if (kept_bytes == 0) {
              pool.trim();
            } else if (pool.reserved_bytes() < bytes) {
              throw WrongResult("the memory pool has " + std::to_string(pool.reserved_bytes()) +
                                " bytes where " + std::to_string(bytes) + " were given back to it");
            }
          }};
}

/// The pool has the memory already: measures the call alone, which returns an address.
void warm_pool(GpuCase& gpu) {
  gpu.issue(pairs(gpu, by_pool(gpu, std::numeric_limits<std::uint64_t>::max())));
}

/// The pool keeps nothing: every call maps memory, and the synchronisation unmaps it. If a driver
/// unmaps it later than asked, the pool is trimmed before the next call.
void cold_pool(GpuCase& gpu) {
  const Allocator pool = by_pool(gpu, 0);
  gpu.host_calls(synchronised(pairs(gpu, pool)),
                 [pool](const Iteration&) { pool.require_given_back(0); });
}

/// Ordinary memory, as malloc takes it from the system for large sizes, that nobody has written to:
/// in pages of 4 KiB, whatever the system is set to.
PageableMemory allocate_untouched(std::size_t bytes) {
  void* const raw =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) {
    throw std::runtime_error("out of host memory: needs " + human_bytes(bytes));
  }
  PageableMemory memory(raw, UnmapMemory{bytes});
  madvise(raw, bytes, MADV_NOHUGEPAGE);
  return memory;
}

/// The same, already touched, as in a program that locks it; locking works page by page.
PageableMemory allocate_touched(std::size_t bytes) {
  PageableMemory memory = allocate_untouched(bytes);
  std::memset(memory.get(), 0, bytes);
  return memory;
}

void register_and_unregister(GpuCase& gpu) {
  const std::size_t bytes = some_bytes(gpu);
  const std::shared_ptr<void> memory = allocate_touched(bytes);
  const Allocator lock{
      [memory](std::size_t wanted, cudaStream_t) {
        WARPGAUGE_CHECK(cudaHostRegister(memory.get(), wanted, cudaHostRegisterDefault));
        return memory.get();
      },
      [](void* locked, cudaStream_t) { WARPGAUGE_CHECK(cudaHostUnregister(locked)); }};
  gpu.host_calls(pairs(gpu, lock));
}

/// Memory that nobody has touched, and the value that its first touch writes. The value changes
/// each time, because memory may come back with its old contents.
struct Fresh {
  std::shared_ptr<void> memory;
  unsigned char value = 0;

  unsigned char* bytes() const { return static_cast<unsigned char*>(memory.get()); }

  /// Throws unless every page holds the value, wherever it lies.
  void require_touched(std::size_t count, cudaStream_t stream) const {
    std::vector<unsigned char> read(count);
    WARPGAUGE_CHECK(cudaMemcpyAsync(read.data(), memory.get(), count, cudaMemcpyDefault, stream));
    WARPGAUGE_CHECK(cudaStreamSynchronize(stream));
    for (std::size_t at = 0; at < count; at += page) {
      if (read[at] != value) {
        throw WrongResult("wrong result: byte " + std::to_string(at) + " of " +
                          std::to_string(count) + " was not touched");
      }
    }
  }
};

void touch_by_host(const Fresh& fresh, std::size_t bytes, cudaStream_t) {
  for (std::size_t at = 0; at < bytes; at += page) {
    static_cast<volatile unsigned char*>(fresh.bytes())[at] = fresh.value;
  }
}

/// From the kernel's launch to its end.
void touch_by_device(const Fresh& fresh, std::size_t bytes, cudaStream_t stream) {
  kernels::touch(fresh.bytes(), bytes, page, fresh.value, stream);
  WARPGAUGE_CHECK(cudaStreamSynchronize(stream));
}

using Take = std::function<std::shared_ptr<void>(std::size_t bytes, cudaStream_t)>;
using Touch = decltype(&touch_by_host);

/// The first touch, one byte per page, of memory that was taken just before, untimed.
void first_touch(GpuCase& gpu, const Take& take, Touch touch) {
  const std::size_t bytes = some_bytes(gpu);
  const auto fresh = std::make_shared<Fresh>();
  gpu.verify([=](const Iteration& at) { fresh->require_touched(bytes, at.stream); });
  gpu.host_calls([=](const Iteration& at) { touch(*fresh, bytes, at.stream); },
                 [=](const Iteration& at) {
                   fresh->memory.reset();
                   fresh->memory = take(bytes, at.stream);
                   ++fresh->value;
                 });
}

/// From a pool that gives everything back to the device each time, and must have done so by then:
/// memory that it kept would be mapped already, and perhaps touched.
Take from_cold_pool(GpuCase& gpu) {
  return [allocator = by_pool(gpu, 0)](std::size_t bytes, cudaStream_t stream) {
    WARPGAUGE_CHECK(cudaStreamSynchronize(stream));
    allocator.require_given_back(bytes);
    return std::shared_ptr<void>(allocator.take(bytes, stream), [allocator, stream](void* memory) {
      report_cuda_error(cudaFreeAsync(memory, stream), "cudaFreeAsync");
    });
  };
}

/// `allocate` as a Take.
template <auto allocate>
Take taking(GpuCase& /*gpu*/) {
  return [](std::size_t bytes, cudaStream_t) { return allocate(bytes); };
}

// On a host with two H200s, calls that map memory take 2.4 times as long as on a host with one;
// those for 4 KiB, which map none, take 1.5 times as long. So these run in the full suite.
const Axes sizes{
    {"bytes", {}, {4 * kibi, 64 * kibi, mebi, 16 * mebi, 64 * mebi, 256 * mebi, gibi}}};

const GpuBenchmark malloc_free{"memory/malloc_free", sizes,
                               [](GpuCase& gpu) { gpu.host_calls(pairs(gpu, by_cuda_malloc())); }};
const GpuBenchmark malloc_async_warm{
    "memory/malloc_async_warm",
    {{"bytes", {4 * kibi}, {64 * kibi, mebi, 16 * mebi, 64 * mebi, 256 * mebi, gibi}}},
    warm_pool};
const GpuBenchmark malloc_async_cold{
    "memory/malloc_async_cold",
    {{"bytes", {}, {4 * kibi, 64 * kibi, mebi, 16 * mebi, 64 * mebi, 256 * mebi, gibi}}},
    cold_pool};

const GpuBenchmark malloc_managed{
    "memory/malloc_managed_free",
    {{"bytes", {16 * mebi}, {4 * kibi, mebi, 256 * mebi, gibi}}},
    [](GpuCase& gpu) { gpu.host_calls(pairs(gpu, by_cuda_malloc_managed())); }};

// 4 KiB take 1.5 times as long on such a host, too.
const Axes host_sizes{{"bytes", {16 * mebi}, {4 * kibi, 64 * kibi, mebi, 64 * mebi, 256 * mebi}}};
const GpuBenchmark malloc_host{"memory/malloc_host_free", host_sizes, [](GpuCase& gpu) {
                                 gpu.host_calls(pairs(gpu, by_cuda_malloc_host()));
                               }};
const GpuBenchmark host_register{
    "memory/host_register",
    {{"bytes", {16 * mebi}, {4 * kibi, 64 * kibi, mebi, 64 * mebi, 256 * mebi}}},
    register_and_unregister};

const Axes touched_sizes{{"bytes", {}, {64 * kibi, mebi, 16 * mebi, 64 * mebi, 256 * mebi}}};

/// The body that measures a first touch.
auto touching(Take (*take)(GpuCase&), Touch touch) {
  return [=](GpuCase& gpu) { first_touch(gpu, take(gpu), touch); };
}

const GpuBenchmark first_touches[] = {
    // A fault per page or few pages. In the device's case, the driver on the host serves it while
    // the kernel waits. On an H200, 16 MiB take 0.9 ms in one process and 1.4 in the next, wherever
    // the caller runs and whatever it touches (the driver's thread seems to have its own core): too
    // far apart for the default suite.
    {"memory/first_touch_managed_by_device", touched_sizes,
     touching(taking<allocate_managed>, touch_by_device)},
    {"memory/first_touch_managed_by_host", touched_sizes,
     touching(taking<allocate_managed>, touch_by_host)},
    // Only TLB misses are left to pay: every page exists when the call returns.
    {"memory/first_touch_malloc_by_device", touched_sizes,
     touching(taking<allocate_device>, touch_by_device)},
    {"memory/first_touch_malloc_async_cold_by_device", touched_sizes,
     touching(from_cold_pool, touch_by_device)},
    {"memory/first_touch_malloc_host_by_host", touched_sizes,
     touching(taking<allocate_pinned>, touch_by_host)},
    {"memory/first_touch_malloc_host_by_device", touched_sizes,
     touching(taking<allocate_pinned>, touch_by_device)},
    // A fault per page, which the operating system serves with a page of zeros.
    {"memory/first_touch_pageable_by_host", touched_sizes,
     touching(taking<allocate_untouched>, touch_by_host)},
};

}  // namespace
