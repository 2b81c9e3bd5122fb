// SPDX-License-Identifier: Apache-2.0
// Many loads in flight and almost no arithmetic: bound by the cache that holds the data.
#include <stdexcept>
#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/memory/cache.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned warp_threads = 32;
inline constexpr unsigned read_warps = read_threads / warp_threads;
// Four such blocks per multiprocessor reach 8.5 to 9.0 TB/s of an H200's L2 for all footprints from
// 4 to 48 MiB (5.3 at 56). The same threads in blocks of 512 lose a fifth of that at 48 MiB; 4 or
// 16 loads in flight change nothing.
inline constexpr unsigned reads_in_flight = 8;

__device__ inline unsigned sum_of(uint4 v) {
  return v.x + v.y + v.z + v.w;
}

__global__ __launch_bounds__(read_threads) void read_round_kernel(const uint4* __restrict__ in,
                                                                  int* __restrict__ out,
                                                                  std::size_t vectors,
                                                                  std::size_t loads) {
  const std::size_t threads = std::size_t{gridDim.x} * read_threads;
  const std::size_t step = threads % vectors;
  std::size_t at = (std::size_t{blockIdx.x} * read_threads + threadIdx.x) % vectors;
  const auto next = [&] {
    const std::size_t here = at;
    at += step;
    at -= at >= vectors ? vectors : 0;
    return here;
  };
  unsigned sum = 0;
  std::size_t load = 0;
  for (; load + reads_in_flight <= loads; load += reads_in_flight) {
    uint4 read[reads_in_flight];
#pragma unroll
    for (uint4& vector : read) {
      vector = __ldcg(in + next());  // cached in the L2 only
    }
#pragma unroll
    for (const uint4& vector : read) {
      sum += sum_of(vector);
    }
  }
  for (; load < loads; ++load) {
    sum += sum_of(__ldcg(in + next()));
  }
  __shared__ unsigned sums[read_warps];
  sum = __reduce_add_sync(0xffffffffU, sum);
  if (threadIdx.x % warp_threads == 0) {
    sums[threadIdx.x / warp_threads] = sum;
  }
  __syncthreads();
  if (threadIdx.x < warp_threads) {
    sum = __reduce_add_sync(0xffffffffU, threadIdx.x < read_warps ? sums[threadIdx.x] : 0);
    if (threadIdx.x == 0) {
      out[blockIdx.x] = static_cast<int>(sum);
    }
  }
}

// Block b computes expected[b], element by element, from the definition.
__global__ void read_round_reference_kernel(const int* in, double* expected, std::size_t vectors,
                                            ReadShape shape, std::size_t first) {
  const std::size_t threads = shape.blocks * read_threads;
  __shared__ unsigned sum;
  if (threadIdx.x == 0) {
    sum = 0;
  }
  __syncthreads();
  const std::size_t thread = (first + blockIdx.x) * read_threads + threadIdx.x;
  unsigned mine = 0;
  for (std::size_t load = 0; load < shape.loads; ++load) {
    const int* const vector = in + (thread + load * threads) % vectors * 4;
    mine += static_cast<unsigned>(vector[0]) + static_cast<unsigned>(vector[1]) +
            static_cast<unsigned>(vector[2]) + static_cast<unsigned>(vector[3]);
  }
  atomicAdd(&sum, mine);
  __syncthreads();
  if (threadIdx.x == 0) {
    expected[blockIdx.x] = static_cast<double>(static_cast<int>(sum));
  }
}

namespace {

/// Also refuses more blocks than a grid has.
void require_read(const char* launcher, const std::int32_t* in, std::size_t alignment,
                  std::size_t n, ReadShape shape) {
  constexpr std::size_t most = std::size_t{1} << 33;
  require_pointer(launcher, "in", in, alignment);
  require_at_most(launcher, n, most);
  if (n == 0 || n % 4 != 0) {
    throw std::invalid_argument(std::string(launcher) + ": " + std::to_string(n) +
                                " integers are not one or more vectors of 4");
  }
  static_cast<void>(blocks_for(launcher, shape.blocks, 1));
  require_at_most(launcher, shape.loads, most);
}

}  // namespace

void read_round(const std::int32_t* in, std::int32_t* out, std::size_t n, ReadShape shape,
                cudaStream_t stream) {
  if (shape.blocks == 0) {
    return;
  }
  require_read("read_round", in, read_vector_bytes, n, shape);
  require_pointer("read_round", "out", out, alignof(std::int32_t));
  read_round_kernel<<<static_cast<unsigned>(shape.blocks), read_threads, 0, stream>>>(
      reinterpret_cast<const uint4*>(in), out, n / 4, shape.loads);
  WARPGAUGE_CHECK(cudaGetLastError());
}

void read_round_reference(const std::int32_t* in, double* expected, std::size_t n, ReadShape shape,
                          std::size_t first, std::size_t count, cudaStream_t stream) {
  if (count == 0) {
    return;
  }
  require_read("read_round_reference", in, alignof(std::int32_t), n, shape);
  require_pointer("read_round_reference", "expected", expected, alignof(double));
  require_window("read_round_reference", first, count, shape.blocks, "the output");
  read_round_reference_kernel<<<static_cast<unsigned>(count), read_threads, 0, stream>>>(
      in, expected, n / 4, shape, first);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
