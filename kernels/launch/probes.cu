// SPDX-License-Identifier: Apache-2.0
// Kernels bound by their launch (empty, tally) or by a given number of SM cycles (spin).
#include "kernels/launch/probes.hpp"

#include <stdexcept>
#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>

namespace warpgauge::kernels {

template <std::size_t Bytes>
struct EmptyArgument {
  std::byte bytes[Bytes];
};
static_assert(sizeof(EmptyArgument<4096>) == 4096);

__global__ void empty_kernel_0() {}

template <std::size_t Bytes>
__global__ void empty_kernel_by_value(EmptyArgument<Bytes>) {}

const void* empty_kernel(std::size_t argument_bytes) {
  switch (argument_bytes) {
    case 0:
      return reinterpret_cast<const void*>(&empty_kernel_0);
    case 64:
      return reinterpret_cast<const void*>(&empty_kernel_by_value<64>);
    case 1024:
      return reinterpret_cast<const void*>(&empty_kernel_by_value<1024>);
    case 4096:
      return reinterpret_cast<const void*>(&empty_kernel_by_value<4096>);
    default:
      throw std::invalid_argument("launch_empty: no kernel takes " +
                                  std::to_string(argument_bytes) +
                                  " argument bytes; 0, 64, 1024 and 4096 are known");
  }
}

void launch_empty(std::size_t argument_bytes, cudaStream_t stream) {
  // cudaLaunchKernel, because the host stub of <<<>>> would copy the struct once more. CUDA reads
  // as many bytes as the kernel takes, so one array serves every size.
  alignas(16) static constexpr std::array<std::byte, empty_argument_bytes.back()> argument{};
  void* arguments[] = {const_cast<std::byte*>(argument.data())};
  WARPGAUGE_CHECK(
      cudaLaunchKernel(empty_kernel(argument_bytes), dim3(1), dim3(32), arguments, 0, stream));
}

__global__ void tally_kernel(unsigned long long* count, unsigned long long step) {
  *count += step;
}

void tally(unsigned long long* count, unsigned long long step, cudaStream_t stream) {
  require_pointer("tally", "count", count, alignof(unsigned long long));
  tally_kernel<<<1, 1, 0, stream>>>(count, step);
  WARPGAUGE_CHECK(cudaGetLastError());
}

__global__ __launch_bounds__(spin_threads) void spin_kernel(std::uint64_t cycles,
                                                            float* __restrict__ done) {
  const auto now = [] { return static_cast<std::uint64_t>(clock64()); };
  const std::uint64_t start = now();
  while (now() - start < cycles) {
  }
  const std::size_t thread = std::size_t{blockIdx.x} * spin_threads + threadIdx.x;
  done[thread] = static_cast<float>(thread);
}

void spin(std::uint64_t cycles, unsigned blocks, float* done, cudaStream_t stream) {
  if (blocks == 0 || blocks > max_grid_blocks) {
    throw std::invalid_argument("spin: " + std::to_string(blocks) +
                                " blocks; at least 1 and at most " +
                                std::to_string(max_grid_blocks) + " can be launched");
  }
  require_pointer("spin", "done", done, alignof(float));
  spin_kernel<<<blocks, spin_threads, 0, stream>>>(cycles, done);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
