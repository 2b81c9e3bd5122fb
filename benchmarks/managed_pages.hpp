// SPDX-License-Identifier: Apache-2.0
// Where the pages of managed memory are, according to the host's page table.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <warpgauge/core/units.hpp>
#include <warpgauge/cuda/memory.hpp>
#include <warpgauge/gpu_benchmark.hpp>

namespace warpgauge {

/// The number of pages of `memory`, page-aligned, that the host can access without a fault.
inline std::size_t pages_on_host(void* memory, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> states((bytes + page - 1) / page);
  if (mincore(memory, bytes, states.data()) != 0) {
    throw std::runtime_error("cannot ask the system where the pages of managed memory are");
  }
  return static_cast<std::size_t>(std::count_if(
      states.begin(), states.end(), [](unsigned char state) { return (state & 1U) != 0; }));
}

/// Throws WrongResult unless all pages of managed memory are on `side`, judged by the host's page
/// table: pages that migrate to the device leave it. A page that is nowhere would pass for one on
/// the device, but its content, which is verified like every input's, would be wrong. If the device
/// uses the host's page table (ATS), the table has the pages of both, and nothing is checked.
inline void require_pages(void* memory, std::size_t bytes, Side side, const Device& device) {
  int shared = 0;
  WARPGAUGE_CHECK(cudaDeviceGetAttribute(&shared, cudaDevAttrPageableMemoryAccessUsesHostPageTables,
                                         device.index));
  if (shared != 0) {
    return;
  }
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t wanted = side == Side::host ? (bytes + page - 1) / page : 0;
  const std::size_t found = pages_on_host(memory, bytes);
  if (found != wanted) {
    throw WrongResult(std::to_string(found) + " pages of " + human_bytes(bytes) +
                      " are on the host, not " + std::to_string(wanted));
  }
}

}  // namespace warpgauge
