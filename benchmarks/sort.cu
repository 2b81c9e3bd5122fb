// SPDX-License-Identifier: Apache-2.0
// Radix sort of 32-bit keys, alone and with values, compared with CUB. Bound by device memory,
// which every pass of 8 bits reads and writes once, and which is read once before them. The data
// decide how keys spread over the digits: random bits, sorted keys, or 16 different keys.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <warpgauge/cuda/device_array.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "kernels/sort/sort.hpp"
#include "kernels/sort/top_k.hpp"

namespace {

using namespace warpgauge;
using namespace warpgauge::kernels;
using Keys = std::vector<std::uint32_t>;

constexpr std::size_t passes = 4;

Keys sorted_keys(std::span<const std::uint32_t> keys) {
  Keys expected(keys.begin(), keys.end());
  std::sort(expected.begin(), expected.end());
  return expected;
}

/// Throws WrongResult unless the sort has moved each key, with its value if there are some.
void require_sorted(const Iteration& at, SortedKeys keys, SortedKeys values, std::size_t n) {
  auto proof = zeroed<SortProof>(1);
  prove_sorted(keys, values, proof.data(), n, at.stream);
  if (const SortProof result = proof.download(at.stream)[0]; !result.holds()) {
    throw WrongResult(result.descents > 0
                          ? std::to_string(result.descents) + " keys are followed by a smaller one"
                          : "the result is in order, but has other keys or values than the input");
  }
}

using Sort = void (*)(SortedKeys, void*, std::size_t, cudaStream_t);
using SortPairs = void (*)(SortedKeys, SortedKeys, void*, std::size_t, cudaStream_t);
using ScratchBytes = std::size_t (*)(std::size_t);

template <Sort sort, ScratchBytes scratch_bytes>
void sort_keys(GpuCase& gpu, Distribution distribution) {
  const std::size_t n = gpu.param("n");
  const auto in = gpu.input<std::uint32_t>(n, distribution);
  const auto out = gpu.output<std::uint32_t>(n);
  const auto scratch = gpu.scratch<std::uint8_t>(scratch_bytes(n));
  gpu.moves_bytes((2 * passes + 1) * n * sizeof(std::uint32_t));
  gpu.verify([=](const Iteration& at) { require_sorted(at, {in[at], out[at]}, {}, n); }, {out});
  gpu.replay([=](const Iteration& at) { sort({in[at], out[at]}, scratch[at], n, at.stream); });
}

template <SortPairs sort, ScratchBytes scratch_bytes>
void sort_pairs(GpuCase& gpu, Distribution distribution) {
  const std::size_t n = gpu.param("n");
  const auto keys = gpu.input<std::uint32_t>(n, distribution);
  const auto values = gpu.input<std::uint32_t>(n);
  const auto keys_out = gpu.output<std::uint32_t>(n);
  const auto values_out = gpu.output<std::uint32_t>(n);
  const auto scratch = gpu.scratch<std::uint8_t>(scratch_bytes(n));
  gpu.moves_bytes((4 * passes + 1) * n * sizeof(std::uint32_t));
  gpu.verify(
      [=](const Iteration& at) {
        require_sorted(at, {keys[at], keys_out[at]}, {values[at], values_out[at]}, n);
      },
      {keys_out, values_out});
  gpu.replay([=](const Iteration& at) {
    sort({keys[at], keys_out[at]}, {values[at], values_out[at]}, scratch[at], n, at.stream);
  });
}

/// The result replaces the keys, so that only the host still knows what they were.
void sort_in_place(GpuCase& gpu) {
  const std::size_t n = gpu.param("n");
  const auto keys = gpu.in_place<std::uint32_t>(n);
  const auto scratch = gpu.scratch<std::uint8_t>(radix_sort_scratch_bytes(n));
  gpu.moves_bytes((2 * passes + 1) * n * sizeof(std::uint32_t));
  gpu.verify(keys, sorted_keys, keys);
  gpu.replay(
      [=](const Iteration& at) { radix_sort({keys[at], keys[at]}, scratch[at], n, at.stream); });
}

constexpr auto ours = sort_keys<radix_sort, radix_sort_scratch_bytes>;
constexpr auto ours_pairs = sort_pairs<radix_sort_pairs, radix_sort_pairs_scratch_bytes>;
constexpr auto cub = sort_keys<cub_sort, cub_sort_scratch_bytes>;
constexpr auto cub_pairs = sort_pairs<cub_sort_pairs, cub_sort_pairs_scratch_bytes>;

constexpr Distribution random_bits{};
constexpr Distribution ascending = sorted(0, 4294967295.0);
constexpr Distribution few = distinct(16);

const Axes sizes{{"n", {64 << 20}, {64 << 10, 1 << 20, 16 << 20}}};
const Axes sizes_full{{"n", {}, {1 << 20, 16 << 20, 64 << 20}}};
const Axes large_full{{"n", {}, {64 << 20}}};

template <auto body>
auto with(Distribution distribution) {
  return [=](GpuCase& gpu) { body(gpu, distribution); };
}

const GpuBenchmark sorts[] = {
    {"sort/radix_random/u32", sizes, with<ours>(random_bits)},
    {"sort/radix_sorted/u32", large_full, with<ours>(ascending)},
    {"sort/radix_few/u32", large_full, with<ours>(few)},
    {"sort/radix_in_place/u32", {{"n", {}, {1 << 20, 16 << 20}}}, sort_in_place},
    {"sort/radix_pairs/u32", sizes_full, with<ours_pairs>(random_bits)},
    {"sort/radix_cub_random/u32", sizes, with<cub>(random_bits)},
    {"sort/radix_cub_sorted/u32", large_full, with<cub>(ascending)},
    {"sort/radix_cub_few/u32", large_full, with<cub>(few)},
    {"sort/radix_cub_pairs/u32", sizes_full, with<cub_pairs>(random_bits)},
};

/// Values and columns of select(in, values, columns, iteration), the k largest of each row.
template <class Select>
void select_largest(GpuCase& gpu, const Buffer<float>& in, RowsShape shape, unsigned k,
                    const Select& select) {
  const std::size_t results = shape.rows * k;
  const auto values = gpu.output<float>(results);
  const auto columns = gpu.output<std::int32_t>(results);
  gpu.moves_bytes(in.count() * sizeof(float) + results * (sizeof(float) + sizeof(std::int32_t)),
                  Traffic::device_read);
  gpu.verify(
      [=](const Iteration& at) {
        auto proof = zeroed<TopKProof>(1);
        prove_top_k(in[at], values[at], columns[at], proof.data(), shape, k, at.stream);
        const TopKProof result = proof.download(at.stream)[0];
        if (result.wrong != 0 || result.reaching != results) {
          throw WrongResult(std::to_string(result.wrong) + " of " + std::to_string(results) +
                            " results are wrong, and " + std::to_string(result.reaching) +
                            " elements are at least as large as the last of their row");
        }
      },
      {values, columns});
  gpu.replay([=](const Iteration& at) { select(in[at], values[at], columns[at], at); });
}

void of_array(GpuCase& gpu) {
  const std::size_t n = gpu.param("n");
  const auto k = gpu.param<unsigned>("k");
  const auto in = gpu.input<float>(n, normal(0, 1));
  const auto scratch = gpu.scratch<std::uint8_t>(top_k_scratch_bytes());
  select_largest(gpu, in, {1, n}, k,
                 [=](const float* x, float* values, std::int32_t* columns, const Iteration& at) {
                   top_k(x, values, columns, scratch[at], n, k, at.stream);
                 });
}

/// As many rows as have 64 Mi elements: the logits of a batch.
void of_rows(GpuCase& gpu) {
  const std::size_t columns = gpu.param("columns", 1, 64 << 20);
  const auto k = gpu.param<unsigned>("k");
  const RowsShape shape{(std::size_t{64} << 20) / columns, columns};
  const auto in = gpu.input<float>(shape.rows * columns, normal(0, 1));
  select_largest(gpu, in, shape, k,
                 [=](const float* x, float* values, std::int32_t* places, const Iteration& at) {
                   top_k_rows(x, values, places, shape, k, at.stream);
                 });
}

const GpuBenchmark selections[] = {
    {"sort/top_k/f32", {{"n", {64 << 20}, {1 << 20}}, {"k", {2048}, {1, 64}}}, of_array},
    {"sort/top_k_rows/f32",
     {{"columns", {}, {4096, 32768, 131072}}, {"k", {}, {1, 64, 2048}}},
     of_rows},
};

}  // namespace
