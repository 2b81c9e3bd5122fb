// SPDX-License-Identifier: Apache-2.0
#include "kernels/workspace.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>

#include "kernels/launch_check.hpp"

namespace warpgauge::kernels {
namespace {

void* allocate(const std::string& owner, std::size_t bytes) {
  if (bytes == 0) {
    throw std::invalid_argument(owner + ": a workspace of 0 bytes, at least 1 is needed");
  }
  void* memory = nullptr;
  const std::string what = owner + ": cudaMalloc of " + std::to_string(bytes) + " bytes";
  check_status(what.c_str(), cudaMalloc(&memory, bytes));
  return memory;
}

}  // namespace

void Workspace::Free::operator()(void* memory) const noexcept {
  const cudaError_t status = cudaFree(memory);
  if (status != cudaSuccess) {
    std::fprintf(stderr, "warpgauge: cudaFree of a workspace: %s\n", cudaGetErrorString(status));
  }
}

Workspace::Workspace(const char* owner, std::size_t bytes)
    : bytes_(bytes), memory_(allocate(owner, bytes)) {}

}  // namespace warpgauge::kernels
