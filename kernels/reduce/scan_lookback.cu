// SPDX-License-Identifier: Apache-2.0
// One launch that reads each element once. A block scans a tile, publishes its aggregate, and looks
// back over what earlier tiles have published (Merrill and Garland 2016, "Single-pass parallel
// prefix scan with decoupled look-back"). Bound by device memory.
#include <algorithm>
#include <limits>

#include <warpgauge/cuda/check.hpp>
#include "kernels/reduce/scan.hpp"

namespace warpgauge::kernels {

/// `vectors` int4 per thread.
template <unsigned threads_, unsigned vectors_>
struct ScanShape {
  static constexpr unsigned threads = threads_;
  static constexpr unsigned vectors = vectors_;
  static constexpr unsigned warps = threads / 32;
  static constexpr unsigned tile = threads * vectors * 4;
};

/// State shared by the blocks of a launch. All zero before the first launch; each launch leaves it
/// ready for the next, so that a graph can be replayed.
struct ScanProgress {
  unsigned launches;  ///< completed, modulo 2^32; marks what tiles publish in this launch
  unsigned taken;     ///< tiles that a block has begun
  unsigned finished;  ///< blocks
  unsigned unused;
};

/// What a tile publishes: its aggregate or inclusive prefix, with a mark in the same word, so that
/// it needs no fence.
struct TileSum {
  unsigned mark;
  unsigned sum;
  __device__ static unsigned aggregate(unsigned launches) { return 2 * launches + 2; }
  __device__ static unsigned prefix(unsigned launches) { return 2 * launches + 3; }
};

__device__ inline void publish(unsigned long long* place, TileSum tile) {
  const unsigned long long word = static_cast<unsigned long long>(tile.mark) << 32 | tile.sum;
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(place), "l"(word) : "memory");
}

__device__ inline TileSum observe(const unsigned long long* place) {
  unsigned long long word = 0;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(place) : "memory");
  return {static_cast<unsigned>(word >> 32), static_cast<unsigned>(word)};
}

/// The sum of all tiles before `tile`, in every lane of the one warp that looks back.
__device__ inline unsigned look_back(const unsigned long long* published, unsigned tile,
                                     unsigned launches) {
  // Tiles that a lane reads at once. Few of the concurrent tiles have published more than their
  // aggregate.
  constexpr unsigned asked = 4;
  const unsigned lane = threadIdx.x % 32;
  unsigned before = 0;
  for (unsigned end = tile; end > 0; end -= min(end, 32 * asked)) {
    // Lane 0 has the nearest tile. Before the first tile, sums are of nothing.
    TileSum seen[asked];
#pragma unroll
    for (unsigned i = 0; i < asked; ++i) {
      const unsigned back = i * 32 + lane;
      seen[i] = back < end ? observe(published + (end - 1 - back))
                           : TileSum{TileSum::prefix(launches), 0};
    }
#pragma unroll
    for (unsigned i = 0; i < asked; ++i) {
      while (seen[i].mark != TileSum::aggregate(launches) &&
             seen[i].mark != TileSum::prefix(launches)) {
        seen[i] = observe(published + (end - 1 - (i * 32 + lane)));
      }
      const unsigned whole = __ballot_sync(~0U, seen[i].mark == TileSum::prefix(launches));
      const unsigned nearest = whole != 0 ? __ffs(static_cast<int>(whole)) - 1 : 31U;
      before += __reduce_add_sync(~0U, lane <= nearest ? seen[i].sum : 0U);
      if (whole != 0) {
        return before;
      }
    }
  }
  return before;
}

template <class Shape>
__global__ __launch_bounds__(Shape::threads) void scan_lookback_kernel(
    const unsigned* __restrict__ in, unsigned* __restrict__ out, std::size_t n,
    ScanProgress* progress, unsigned long long* published) {
  __shared__ unsigned taken;
  __shared__ unsigned of_warps[Shape::warps];
  __shared__ unsigned of_tiles_before;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    // Tiles are taken in the order in which blocks begin, so that a block waits only for running
    // blocks.
    taken = atomicAdd(&progress->taken, 1U);
  }
  const unsigned launches = __ldcg(&progress->launches);
  __syncthreads();
  const unsigned tile = taken;
  // A warp has `vectors` consecutive runs of 32 int4.
  const std::size_t first =
      std::size_t{tile} * Shape::tile + (warp * Shape::vectors * 32 + lane) * 4;
  uint4 x[Shape::vectors];
#pragma unroll
  for (unsigned j = 0; j < Shape::vectors; ++j) {
    const std::size_t i = first + j * 128;
    if (i + 4 <= n) {
      x[j] = __ldcs(reinterpret_cast<const uint4*>(in + i));
    } else {
      x[j] = make_uint4(i < n ? in[i] : 0, i + 1 < n ? in[i + 1] : 0, i + 2 < n ? in[i + 2] : 0, 0);
    }
  }
  unsigned carried = 0;
#pragma unroll
  for (unsigned j = 0; j < Shape::vectors; ++j) {
    x[j].y += x[j].x;
    x[j].z += x[j].y;
    x[j].w += x[j].z;
    unsigned sum = x[j].w;
#pragma unroll
    for (unsigned distance = 1; distance < 32; distance *= 2) {
      const unsigned other = __shfl_up_sync(~0U, sum, distance);
      sum += lane >= distance ? other : 0U;
    }
    const unsigned before = carried + sum - x[j].w;
    carried += __shfl_sync(~0U, sum, 31);
    x[j] = make_uint4(x[j].x + before, x[j].y + before, x[j].z + before, x[j].w + before);
  }
  if (lane == 0) {
    of_warps[warp] = carried;
  }
  __syncthreads();
  if (warp == 0) {
    const unsigned of_warp = lane < Shape::warps ? of_warps[lane] : 0U;
    const unsigned of_tile = __reduce_add_sync(~0U, of_warp);
    if (lane == 0 && tile > 0) {
      publish(published + tile, {TileSum::aggregate(launches), of_tile});
    }
    const unsigned before = look_back(published, tile, launches);
    if (lane == 0) {
      publish(published + tile, {TileSum::prefix(launches), before + of_tile});
      of_tiles_before = before;
    }
  }
  __syncthreads();
  unsigned before = of_tiles_before;
  for (unsigned i = 0; i < warp; ++i) {
    before += of_warps[i];
  }
#pragma unroll
  for (unsigned j = 0; j < Shape::vectors; ++j) {
    const std::size_t i = first + j * 128;
    x[j] = make_uint4(x[j].x + before, x[j].y + before, x[j].z + before, x[j].w + before);
    if (i + 4 <= n) {
      __stcs(reinterpret_cast<uint4*>(out + i), x[j]);
    } else {
      const unsigned rest[3] = {x[j].x, x[j].y, x[j].z};
#pragma unroll
      for (unsigned k = 0; k < 3; ++k) {
        if (i + k < n) {
          out[i + k] = rest[k];
        }
      }
    }
  }
  if (threadIdx.x == 0 && atomicInc(&progress->finished, gridDim.x - 1) == gridDim.x - 1) {
    progress->taken = 0;
    progress->launches = launches + 1;
  }
}

namespace {

// Large tiles look back less often; small ones leave no SM idle if there are few elements.
using Large = ScanShape<1024, 8>;
using Small = ScanShape<512, 4>;
constexpr std::size_t small_below = std::size_t{4} << 20;

std::size_t lookback_storage_bytes(std::size_t most_elements) {
  require_at_most("LookbackScan", most_elements, max_grid_blocks * Large::tile);
  const std::size_t tiles =
      std::max(most_elements / Large::tile, std::min(most_elements, small_below) / Small::tile) + 1;
  return sizeof(ScanProgress) + tiles * sizeof(unsigned long long);
}

template <class Shape>
void launch_scan(const std::int32_t* in, std::int32_t* out, std::size_t n, ScanProgress* progress,
                 cudaStream_t stream) {
  auto* const published = reinterpret_cast<unsigned long long*>(progress + 1);
  const unsigned blocks = blocks_for("LookbackScan", n, Shape::tile);
  scan_lookback_kernel<Shape><<<blocks, Shape::threads, 0, stream>>>(
      reinterpret_cast<const unsigned*>(in), reinterpret_cast<unsigned*>(out), n, progress,
      published);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace

LookbackScan::LookbackScan(std::size_t most_elements)
    : ScanStorage("LookbackScan", most_elements, lookback_storage_bytes(most_elements)) {}

void LookbackScan::operator()(const std::int32_t* in, std::int32_t* out, std::size_t n,
                              cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require(in, out, n, sizeof(int4));
  auto* const progress = reinterpret_cast<ScanProgress*>(storage_.data());
  if (n < small_below) {
    launch_scan<Small>(in, out, n, progress, stream);
  } else {
    launch_scan<Large>(in, out, n, progress, stream);
  }
}

}  // namespace warpgauge::kernels
