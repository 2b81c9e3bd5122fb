// SPDX-License-Identifier: Apache-2.0
// Onesweep: a pass reads and writes each key once. A tile ranks its keys by one digit, publishes
// its 256 counts, and each of 256 threads looks back over what earlier tiles have published of its
// digit. Keys go through shared memory in their new order, so that runs of a digit are written
// together. Bound by device memory, if ranking (about 85 instructions a key) hides behind it. A
// warp or a tile whose keys have one digit has nothing to rank: such keys stay in their order.
#include <algorithm>

#include <warpgauge/cuda/check.hpp>
#include <warpgauge/cuda/current_device.hpp>
#include "kernels/arguments.hpp"
#include "kernels/sort/digits.cuh"
#include "kernels/sort/sort.hpp"

namespace warpgauge::kernels {

inline constexpr std::size_t most_sorted = (std::size_t{1} << 30) - 1;

/// `items` of a thread are even, because two ranks share a register. Two blocks fit on an SM.
template <unsigned threads_, unsigned items_>
struct SortShape {
  static constexpr unsigned threads = threads_;
  static constexpr unsigned items = items_;
  static constexpr unsigned warps = threads / 32;
  static constexpr unsigned tile = threads * items;
};
using KeysShape = SortShape<512, 18>;
using PairsShape = SortShape<512, 16>;  // 18 would not find registers for the values

/// What a tile publishes of a digit: how many keys it has, or the place after its last one. The
/// upper two bits say which; the place of n < 2^30 keys fits in the others.
inline constexpr unsigned is_aggregate = 1U << 30;
inline constexpr unsigned is_prefix = 2U << 30;
inline constexpr unsigned published_value = is_aggregate - 1;

__device__ inline void publish(unsigned* place, unsigned word) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(place), "r"(word) : "memory");
}

__device__ inline unsigned observe(const unsigned* place) {
  unsigned word = 0;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(place) : "memory");
  return word;
}

/// The place of a digit's first key of `tile` > 0, from what the tiles before have published.
__device__ inline unsigned look_back(const unsigned* published, unsigned tile) {
  constexpr unsigned asked = 4;  // read at once: a chain of single reads would wait for each
  unsigned before = 0;
  for (unsigned end = tile;;) {  // tile 0 always publishes a prefix, so the loop ends there
    unsigned seen[asked];
#pragma unroll
    for (unsigned i = 0; i < asked; ++i) {
      seen[i] = i < end ? observe(published + std::size_t{end - 1 - i} * digits) : is_prefix;
    }
#pragma unroll
    for (unsigned i = 0; i < asked; ++i) {
      while (seen[i] < is_aggregate) {
        seen[i] = observe(published + std::size_t{end - 1 - i} * digits);
      }
      before += seen[i] & published_value;
      if (seen[i] >= is_prefix) {
        return before;
      }
    }
    end -= asked;
  }
}

/// The lanes whose digit is the caller's: four instructions a bit. In C++ the compiler takes seven.
__device__ inline unsigned lanes_with(unsigned digit) {
  unsigned lanes = ~0U;
#pragma unroll
  for (unsigned bit = 0; bit < digit_bits; ++bit) {
    unsigned same = 0;
    asm volatile(
        "{\n"
        ".reg .pred is_set;\n"
        "and.b32 %0, %1, %2;\n"
        "setp.ne.u32 is_set, %0, 0;\n"
        "vote.sync.ballot.b32 %0, is_set, 0xffffffff;\n"
        "@!is_set not.b32 %0, %0;\n"
        "}"
        : "=r"(same)
        : "r"(digit), "r"(1U << bit));
    lanes &= same;
  }
  return lanes;
}

struct SortArrays {
  const std::uint32_t* keys_in;
  std::uint32_t* keys_out;
  const std::uint32_t* values_in;
  std::uint32_t* values_out;
};

template <class Shape, bool pairs>
__global__ __launch_bounds__(Shape::threads, 2) void sort_pass_kernel(SortArrays arrays,
                                                                      std::size_t n, unsigned pass,
                                                                      SortProgress* progress,
                                                                      unsigned* published) {
  __shared__ std::uint16_t of_warps[Shape::warps][digits];  // counts, then places in the tile
  __shared__ unsigned sums[digits / 32];
  __shared__ unsigned places[digits];  // of a digit's first key, less its place within the tile
  __shared__ std::uint32_t ordered[Shape::tile];
  __shared__ unsigned taken;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    // Tiles are taken in the order in which blocks begin, so that a block waits only for running
    // blocks.
    taken = atomicAdd(&progress->taken[pass], 1U);
  }
  std::uint16_t* const mine = of_warps[warp];
#pragma unroll
  for (unsigned i = lane; i < digits; i += 32) {
    mine[i] = 0;
  }
  __syncthreads();
  const unsigned tile = taken;
  const std::size_t tile_start = std::size_t{tile} * Shape::tile;
  const auto valid = static_cast<unsigned>(n - tile_start < Shape::tile ? n - tile_start
                                                                        : std::size_t{Shape::tile});
  // A warp has runs of 32 keys, one after the other, so that the order of equal keys is the order
  // of (warp, item, lane). Past the end are the largest keys, which stay behind all others.
  const unsigned first = warp * Shape::items * 32 + lane;
  const auto load = [&](const std::uint32_t* from, std::uint32_t(&to)[Shape::items]) {
    from += tile_start + first;
#pragma unroll
    for (unsigned i = 0; i < Shape::items; ++i) {
      to[i] = first + i * 32 < valid ? __ldcs(from + i * 32) : ~0U;
    }
  };
  std::uint32_t items[Shape::items];
  load(arrays.keys_in, items);
  unsigned ranks[Shape::items / 2];  // two in a register
  unsigned different = 0;            // bits
#pragma unroll
  for (unsigned i = 0; i < Shape::items; ++i) {
    different |= items[i] ^ items[0];
  }
  const unsigned first_digit = __shfl_sync(~0U, digit_of(items[0], pass), 0);
  if (__all_sync(~0U, digit_of(different, pass) == 0 && digit_of(items[0], pass) == first_digit)) {
#pragma unroll
    for (unsigned i = 0; i < Shape::items; i += 2) {
      ranks[i / 2] = (i * 32 + lane) * 0x10001U + (32U << 16);
    }
    mine[first_digit] = Shape::items * 32;
  } else {
#pragma unroll
    for (unsigned i = 0; i < Shape::items; ++i) {
      const unsigned digit = digit_of(items[i], pass);
      const unsigned lanes = lanes_with(digit);
      const unsigned before = mine[digit];
      const unsigned rank = before + __popc(lanes & ((1U << lane) - 1));
      __syncwarp();
      if (lanes >> lane == 1) {  // the last of them
        mine[digit] = static_cast<std::uint16_t>(rank + 1);
      }
      __syncwarp();
      ranks[i / 2] = i % 2 == 0 ? rank : ranks[i / 2] | rank << 16;
    }
  }
  __syncthreads();
  const unsigned digit = threadIdx.x;
  unsigned count = 0;
  if (digit < digits) {
#pragma unroll
    for (unsigned w = 0; w < Shape::warps; ++w) {
      const unsigned of_warp = of_warps[w][digit];
      of_warps[w][digit] = static_cast<std::uint16_t>(count);
      count += of_warp;
    }
    if (tile > 0) {
      publish(published + std::size_t{tile} * digits + digit, is_aggregate | count);
    }
  }
  const unsigned in_tile = before_digit(count, sums);
  if (digit < digits) {
#pragma unroll
    for (unsigned w = 0; w < Shape::warps; ++w) {
      of_warps[w][digit] = static_cast<std::uint16_t>(of_warps[w][digit] + in_tile);
    }
  }
  const bool has_one_digit = __syncthreads_or(count == Shape::tile) != 0;
  if (!has_one_digit) {
#pragma unroll
    for (unsigned i = 0; i < Shape::items; ++i) {
      const unsigned rank = i % 2 == 0 ? ranks[i / 2] & 0xffffU : ranks[i / 2] >> 16;
      const unsigned place = mine[digit_of(items[i], pass)] + rank;
      ordered[place] = items[i];
      if constexpr (pairs) {  // the value goes there, too
        ranks[i / 2] = i % 2 == 0 ? (ranks[i / 2] & 0xffff0000U) | place
                                  : (ranks[i / 2] & 0xffffU) | place << 16;
      }
    }
  }
  std::uint32_t values[pairs ? Shape::items : 1];
  if constexpr (pairs) {
    load(arrays.values_in, values);  // they arrive during the look-back
  }
  if (digit < digits) {
    const unsigned before =
        tile > 0 ? look_back(published + digit, tile) : progress->counts[pass][digit];
    publish(published + std::size_t{tile} * digits + digit, is_prefix | (before + count));
    places[digit] = before - in_tile;
  }
  __syncthreads();
  if (has_one_digit) {
    const unsigned to = places[first_digit] + first;
#pragma unroll
    for (unsigned i = 0; i < Shape::items; ++i) {
      if (first + i * 32 < valid) {
        arrays.keys_out[to + i * 32] = items[i];
        if constexpr (pairs) {
          arrays.values_out[to + i * 32] = values[i];
        }
      }
    }
    return;
  }
#pragma unroll
  for (unsigned i = 0; i < Shape::items; ++i) {
    const unsigned at = threadIdx.x + i * Shape::threads;
    const std::uint32_t key = ordered[at];
    items[i] = places[digit_of(key, pass)] + at;  // unsigned: sums wrap as they should
    if (at < valid) {
      arrays.keys_out[items[i]] = key;
    }
  }
  if constexpr (pairs) {
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < Shape::items; ++i) {
      ordered[i % 2 == 0 ? ranks[i / 2] & 0xffffU : ranks[i / 2] >> 16] = values[i];
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < Shape::items; ++i) {
      const unsigned at = threadIdx.x + i * Shape::threads;
      if (at < valid) {
        arrays.values_out[items[i]] = ordered[at];
      }
    }
  }
}

namespace {

/// The parts of the scratch memory, in bytes from its start.
struct SortScratch {
  SortScratch(std::size_t n, unsigned tile)
      : tiles((n + tile - 1) / tile),
        keys(sizeof(SortProgress) + passes * tiles * digits * sizeof(unsigned)),
        values(keys + (n + 3) / 4 * 4 * sizeof(std::uint32_t)),
        end(values + n * sizeof(std::uint32_t)) {}
  std::size_t tiles, keys, values, end;
};

template <class Shape, bool pairs>
void launch_sort(SortedKeys keys, SortedKeys values, void* scratch, std::size_t n,
                 cudaStream_t stream) {
  const SortScratch parts(n, Shape::tile);
  auto* const bytes = static_cast<std::byte*>(scratch);
  auto* const progress = reinterpret_cast<SortProgress*>(bytes);
  auto* const published = reinterpret_cast<unsigned*>(progress + 1);
  auto* const other_keys = reinterpret_cast<std::uint32_t*>(bytes + parts.keys);
  auto* const other_values = reinterpret_cast<std::uint32_t*>(bytes + parts.values);
  WARPGAUGE_CHECK(cudaMemsetAsync(scratch, 0, parts.keys, stream));
  const auto counting = static_cast<unsigned>(std::min(
      (n - 1) / (count_threads * 4) + 1, std::size_t{sm_count()} * (2048 / count_threads)));
  count_digits_kernel<<<counting, count_threads, 0, stream>>>(keys.in, n, progress);
  WARPGAUGE_CHECK(cudaGetLastError());
  place_digits_kernel<<<passes, digits, 0, stream>>>(progress);
  WARPGAUGE_CHECK(cudaGetLastError());
  for (unsigned pass = 0; pass < passes; ++pass) {
    // To the scratch memory and back, twice.
    const SortArrays arrays = pass % 2 == 0
                                  ? SortArrays{pass == 0 ? keys.in : keys.out, other_keys,
                                               pass == 0 ? values.in : values.out, other_values}
                                  : SortArrays{other_keys, keys.out, other_values, values.out};
    sort_pass_kernel<Shape, pairs>
        <<<static_cast<unsigned>(parts.tiles), Shape::threads, 0, stream>>>(
            arrays, n, pass, progress, published + pass * parts.tiles * digits);
    WARPGAUGE_CHECK(cudaGetLastError());
  }
}

}  // namespace

std::size_t radix_sort_scratch_bytes(std::size_t n) {
  require_at_most("radix_sort", n, most_sorted);
  return SortScratch(n, KeysShape::tile).values;
}

std::size_t radix_sort_pairs_scratch_bytes(std::size_t n) {
  require_at_most("radix_sort_pairs", n, most_sorted);
  return SortScratch(n, PairsShape::tile).end;
}

void radix_sort(SortedKeys keys, void* scratch, std::size_t n, cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require_at_most("radix_sort", n, most_sorted);
  require_arrays("radix_sort", {{"keys.in", keys.in, sizeof(uint4)},
                                {"keys.out", keys.out},
                                {"scratch", static_cast<std::byte*>(scratch), sizeof(uint4)}});
  launch_sort<KeysShape, false>(keys, {nullptr, nullptr}, scratch, n, stream);
}

void radix_sort_pairs(SortedKeys keys, SortedKeys values, void* scratch, std::size_t n,
                      cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require_at_most("radix_sort_pairs", n, most_sorted);
  require_arrays("radix_sort_pairs",
                 {{"keys.in", keys.in, sizeof(uint4)},
                  {"keys.out", keys.out},
                  {"values.in", values.in},
                  {"values.out", values.out},
                  {"scratch", static_cast<std::byte*>(scratch), sizeof(uint4)}});
  launch_sort<PairsShape, true>(keys, values, scratch, n, stream);
}

}  // namespace warpgauge::kernels
