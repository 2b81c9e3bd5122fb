// SPDX-License-Identifier: Apache-2.0
// A block computes 32 outputs. Its threads go down the rows of B with 16-byte loads, several in
// flight, and add up their sums at the end. Bound by device memory: B is read once and not reused.
#include <cuda_fp16.h>

#include <cstring>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/gemm/arguments.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned gemv_per_load = 8;  // elements of 16 bits in 16 bytes

/// Columns of a block, its threads, and the loads that each thread keeps in flight.
template <unsigned Columns, unsigned Threads, unsigned InFlight>
struct GemvTile {
  static constexpr unsigned columns = Columns, threads = Threads, in_flight = InFlight;
  static constexpr unsigned lanes = Columns / gemv_per_load;  ///< that share a row
  static constexpr unsigned rows = Threads / lanes;           ///< read at once
};

/// Eight elements of a row of B from `column` on; zeros past the end of the row.
template <bool WholeLoads, class T>
__device__ inline void load_row(T (&to)[gemv_per_load], const T* __restrict__ row,
                                std::size_t column, std::size_t n) {
  if constexpr (WholeLoads) {
    uint4 whole{};
    if (column < n) {
      whole = *reinterpret_cast<const uint4*>(row + column);
    }
    std::memcpy(to, &whole, sizeof(whole));
  } else {
#pragma unroll
    for (unsigned i = 0; i < gemv_per_load; ++i) {
      to[i] = column + i < n ? row[column + i] : T(0.0F);
    }
  }
}

template <class T, class Tile, bool WholeLoads>
__global__ __launch_bounds__(Tile::threads) void gemv_kernel(const T* __restrict__ a,
                                                             const T* __restrict__ b,
                                                             T* __restrict__ c, std::size_t n,
                                                             std::size_t k) {
  __shared__ float of_warps[Tile::threads / 32][Tile::columns];
  const unsigned lane = threadIdx.x % 32;
  const std::size_t first_column = std::size_t{blockIdx.x} * Tile::columns;
  const unsigned own_columns = threadIdx.x % Tile::lanes * gemv_per_load;
  float sums[gemv_per_load] = {};
  const auto add = [&](float factor, const T(&row)[gemv_per_load]) {
#pragma unroll
    for (unsigned i = 0; i < gemv_per_load; ++i) {
      sums[i] += factor * static_cast<float>(row[i]);
    }
  };
  std::size_t row = threadIdx.x / Tile::lanes;
  constexpr std::size_t ahead = Tile::rows * (Tile::in_flight - 1);
  for (; row + ahead < k; row += Tile::rows * Tile::in_flight) {
    T rows[Tile::in_flight][gemv_per_load];
#pragma unroll
    for (unsigned i = 0; i < Tile::in_flight; ++i) {
      load_row<WholeLoads>(rows[i], b + (row + i * Tile::rows) * n, first_column + own_columns, n);
    }
#pragma unroll
    for (unsigned i = 0; i < Tile::in_flight; ++i) {
      add(static_cast<float>(a[row + i * Tile::rows]), rows[i]);
    }
  }
  for (; row < k; row += Tile::rows) {
    T last[gemv_per_load];
    load_row<WholeLoads>(last, b + row * n, first_column + own_columns, n);
    add(static_cast<float>(a[row]), last);
  }

  // First adds the lanes that have the same columns, then the warps.
#pragma unroll
  for (unsigned i = 0; i < gemv_per_load; ++i) {
#pragma unroll
    for (unsigned distance = Tile::lanes; distance < 32; distance *= 2) {
      sums[i] += __shfl_xor_sync(0xFFFFFFFFU, sums[i], distance);
    }
    if (lane < Tile::lanes) {
      of_warps[threadIdx.x / 32][own_columns + i] = sums[i];
    }
  }
  __syncthreads();
  const std::size_t column = first_column + threadIdx.x;
  if (threadIdx.x < Tile::columns && column < n) {
    float sum = 0;
#pragma unroll
    for (const auto& of_warp : of_warps) {
      sum += of_warp[threadIdx.x];
    }
    c[column] = static_cast<T>(sum);
  }
}

template <class Tile, class T>
void launch_gemv(const T* a, const T* b, T* c, std::size_t n, std::size_t k, cudaStream_t stream) {
  const unsigned blocks = blocks_for("gemv", n, Tile::columns);
  const auto kernel =
      n % gemv_per_load == 0 ? gemv_kernel<T, Tile, true> : gemv_kernel<T, Tile, false>;
  kernel<<<blocks, Tile::threads, 0, stream>>>(a, b, c, n, k);
  WARPGAUGE_CHECK(cudaGetLastError());
}

template <class T>
void gemv(const T* a, const T* b, T* c, std::size_t n, std::size_t k, cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require_gemm("gemv", a, b, alignof(T), {1, n, k});
  require_pointer("gemv", "b", b, gemv_per_load * sizeof(T));
  require_pointer("gemv", "c", c, alignof(T));
  launch_gemv<GemvTile<32, 512, 4>>(a, b, c, n, k, stream);
}

template void gemv(const __half*, const __half*, __half*, std::size_t, std::size_t, cudaStream_t);
template void gemv(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*, std::size_t,
                   std::size_t, cudaStream_t);

}  // namespace warpgauge::kernels
