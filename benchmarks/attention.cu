// SPDX-License-Identifier: Apache-2.0
// Attention, forward, over 16 Ki tokens of 2048 features in all: sequences of `length` tokens,
// heads of `d` features. 4 batch heads length^2 d operations, half of that if causal: bound by
// arithmetic.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include <warpgauge/gpu_benchmark.hpp>
#include "benchmarks/gemm_measure.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/attention/decode.hpp"
#include "kernels/attention/hopper/hopper.hpp"
#include "kernels/hopper/tensor_map.hpp"

namespace {

using namespace warpgauge;
using kernels::AttentionShape;
using bf16 = __nv_bfloat16;

constexpr std::size_t tokens = 16 << 10;
constexpr std::size_t features = 2048;

using Launcher = void (*)(const bf16*, const bf16*, const bf16*, bf16*, AttentionShape,
                          cudaStream_t);

/// Rounding powers to bf16 moves a result by at most u of the largest value, 1.5. That is for few
/// keys. Over n keys the errors are random: scores of these inputs have a deviation of 1.09, so the
/// root of the sum of squared weights is about sqrt(3.3 / n), of which each errs by less than u; 8
/// deviations are allowed. A lost tile moves a result by 0.1 and more of sqrt(3.3 / n).
Tolerance tolerance(std::size_t keys, bool causal) {
  constexpr double u = unit_roundoff<bf16>;
  const double random = 8 * 0.58 * 1.09 * std::sqrt(3.3 / static_cast<double>(keys));
  return {.absolute = u * (causal ? 1.5 : random), .relative = u};
}

/// heads_of_a_group: query heads of a kv head.
template <Launcher launch>
void attend(GpuCase& gpu, bool causal, std::size_t heads_of_a_group, bool needs_wgmma) {
  if (needs_wgmma && !kernels::has_wgmma()) {
    throw Unsupported("needs compute capability 9.0, which alone has wgmma");
  }
  const std::size_t length = gpu.param("length", 1, tokens);
  const std::size_t d = gpu.param("d", 64, 128);
  const std::size_t heads = features / d;
  const AttentionShape shape{tokens / length, length, heads, heads / heads_of_a_group, d, causal};
  const std::size_t of_keys = shape.batch * length * shape.kv_heads * d;
  const std::size_t of_queries = shape.batch * length * heads * d;
  const auto q = gpu.input<bf16>(of_queries);
  const auto k = gpu.input<bf16>(of_keys);
  const auto v = gpu.input<bf16>(of_keys);
  const auto out = gpu.output<bf16>(of_queries);
  gpu.moves_bytes(2 * (of_queries + of_keys) * sizeof(bf16));
  const double pairs = static_cast<double>(length) * static_cast<double>(length);
  gpu.computes_flops((causal ? 2 : 4) * pairs * static_cast<double>(shape.batch * features),
                     cublas_ceiling<bf16>(of_elements<bf16>()));
  gpu.verify(out, tolerance(length, causal),
             [=](const Iteration& at, Window window, double* expected) {
               kernels::attention_reference(q[at], k[at], v[at], expected, shape, window.first,
                                            window.count, at.stream);
             });
  gpu.replay([=](const Iteration& at) { launch(q[at], k[at], v[at], out[at], shape, at.stream); });
}

template <Launcher launch>
auto full(bool needs_wgmma = false) {
  return [=](GpuCase& gpu) { attend<launch>(gpu, false, 1, needs_wgmma); };
}
template <Launcher launch>
auto causal(bool needs_wgmma = false, std::size_t heads_of_a_group = 1) {
  return [=](GpuCase& gpu) { attend<launch>(gpu, true, heads_of_a_group, needs_wgmma); };
}

const Axes guarded{{"d", {128}, {64}}, {"length", {8192}, {1024, 2048, 4096, 16'384}}};
const Axes in_full{{"d", {}, {64, 128}}, {"length", {}, {1024, 2048, 4096, 8192, 16'384}}};
const Axes slow{{"d", {}, {128}}, {"length", {}, {1024, 4096}}};

const GpuBenchmark rungs[] = {
    {"attention/naive/bf16",
     {{"d", {}, {128}}, {"length", {}, {1024}}},
     full<kernels::attention_naive>()},
    {"attention/tiled/bf16", slow, full<kernels::attention_tiled>()},
    {"attention/tiled_causal/bf16", slow, causal<kernels::attention_tiled>()},
    {"attention/mma/bf16", in_full, full<kernels::attention_mma>()},
    {"attention/mma_causal/bf16", in_full, causal<kernels::attention_mma>()},
    {"attention/wgmma/bf16", in_full, full<kernels::attention_wgmma>(true)},
    {"attention/wgmma_causal/bf16", in_full, causal<kernels::attention_wgmma>(true)},
    {"attention/ping_pong/bf16", in_full, full<kernels::attention_ping_pong>(true)},
    {"attention/ping_pong_causal/bf16", guarded, causal<kernels::attention_ping_pong>(true)},
    {"attention/large_tiles/bf16", guarded, full<kernels::attention_large_tiles>(true)},
    {"attention/large_tiles_causal/bf16", in_full, causal<kernels::attention_large_tiles>(true)},
    // Four query heads read the same keys.
    {"attention/ping_pong_grouped/bf16", in_full, causal<kernels::attention_ping_pong>(true, 4)},
};

/// The next token of each of `batch` sequences: 32 heads of 128, of which four share keys; pages of
/// 64 keys in random order. Reads the cache once: bound by device memory.
void decode(GpuCase& gpu) {
  constexpr std::size_t page_keys = 64;
  const std::size_t batch = gpu.param("batch", 1, 4096);
  const std::size_t length = gpu.param("length", page_keys, 1 << 20);
  if (length % page_keys != 0) {
    throw std::invalid_argument("length must be a multiple of 64: the cache has whole pages");
  }
  const kernels::DecodeShape shape{batch, 32, 8, 128, page_keys, length / page_keys};
  const std::size_t pages = batch * shape.sequence_pages;
  const std::size_t elements = product({pages, shape.kv_heads, page_keys, shape.head_size});
  std::vector<std::int32_t> order(pages);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  const auto q = gpu.input<bf16>(batch * shape.heads * shape.head_size);
  const auto k = gpu.input<bf16>(elements);
  const auto v = gpu.input<bf16>(elements);
  const auto table = gpu.input(order);
  const auto lengths = gpu.input(std::vector<std::int32_t>(
      batch, static_cast<std::int32_t>(shape.sequence_pages * page_keys)));
  const auto out = gpu.output<bf16>(batch * shape.heads * shape.head_size);
  const auto workspace = gpu.scratch<float>(kernels::attention_decode_workspace(shape));
  const auto cache = [=](const Iteration& at) {
    return kernels::PagedCache{k[at], v[at], table[at], lengths[at]};
  };
  gpu.moves_bytes(2 * elements * sizeof(bf16), Traffic::device_read);
  gpu.verify(out, tolerance(length, false),
             [=](const Iteration& at, Window /*whole*/, double* expected) {
               kernels::attention_decode_reference(q[at], cache(at), expected, shape, at.stream);
             });
  gpu.replay([=](const Iteration& at) {
    kernels::attention_decode(q[at], cache(at), out[at], workspace[at], shape, at.stream);
  });
}

const Axes caches{{"batch", {1}, {8}}, {"length", {65'536}, {8192}}};
const GpuBenchmark decoding{"attention/decode/bf16", caches, decode};

}  // namespace
