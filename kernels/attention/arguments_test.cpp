// SPDX-License-Identifier: Apache-2.0
// Arguments that attention's launchers refuse, or that need no work, before any launch. Needs no
// GPU.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <warpgauge/testing/refusal.hpp>
#include "kernels/attention/attention.hpp"
#include "kernels/attention/decode.hpp"
#include "kernels/attention/hopper/hopper.hpp"

namespace warpgauge::kernels {
namespace {

using bf16 = __nv_bfloat16;

// Never read or written: every call below ends before a launch.
alignas(16) bf16 memory[8];

struct Rung {
  std::string name;
  void (*launch)(const bf16*, const bf16*, const bf16*, bf16*, AttentionShape, cudaStream_t);
};

const std::vector<Rung>& rungs() {
  static const std::vector<Rung> all{{"attention_naive", attention_naive},
                                     {"attention_tiled", attention_tiled},
                                     {"attention_mma", attention_mma},
                                     {"attention_wgmma", attention_wgmma},
                                     {"attention_ping_pong", attention_ping_pong},
                                     {"attention_large_tiles", attention_large_tiles}};
  return all;
}

constexpr AttentionShape valid{1, 64, 2, 1, 64, false};

std::string refusal_of(const Rung& rung, AttentionShape shape, const bf16* q = memory,
                       const bf16* k = memory, const bf16* v = memory, bf16* out = memory) {
  return refusal([&] { rung.launch(q, k, v, out, shape, nullptr); });
}

TEST(Attention, NoElementsDoNothing) {
  for (const Rung& rung : rungs()) {
    for (const AttentionShape shape :
         {AttentionShape{0, 1, 1, 1, 64, false}, AttentionShape{1, 0, 1, 1, 64, true},
          AttentionShape{1, 1, 0, 1, 64, false}}) {
      EXPECT_NO_THROW(rung.launch(nullptr, nullptr, nullptr, nullptr, shape, nullptr)) << rung.name;
    }
  }
}

TEST(Attention, ShapesThatNoRungComputesAreRefused) {
  for (const Rung& rung : rungs()) {
    EXPECT_EQ(refusal_of(rung, {1, 1, 1, 1, 96, false}),
              rung.name + ": head_size=96: must be 64 or 128");
    EXPECT_EQ(refusal_of(rung, {1, 1, 3, 2, 64, false}),
              rung.name + ": heads=3 kv_heads=2: heads must be a multiple of kv_heads");
    EXPECT_EQ(refusal_of(rung, {1, 1, 3, 0, 64, false}),
              rung.name + ": heads=3 kv_heads=0: heads must be a multiple of kv_heads");
    EXPECT_NE(refusal_of(rung, {1, most_attention_length + 1, 1, 1, 64, false}), "") << rung.name;
    EXPECT_NE(refusal_of(rung, {std::size_t{1} << 50, 1000, 4, 1, 64, false}), "") << rung.name;
  }
}

TEST(Attention, NullAndMisalignedArraysAreRefused) {
  for (const Rung& rung : rungs()) {
    EXPECT_EQ(refusal_of(rung, valid, nullptr), rung.name + ": q is null");
    EXPECT_EQ(refusal_of(rung, valid, memory, nullptr), rung.name + ": k is null");
    EXPECT_EQ(refusal_of(rung, valid, memory, memory, nullptr), rung.name + ": v is null");
    EXPECT_EQ(refusal_of(rung, valid, memory, memory, memory, nullptr),
              rung.name + ": out is null");
    EXPECT_EQ(refusal_of(rung, valid, memory + 1), rung.name + ": q is not aligned to 16 bytes");
    EXPECT_EQ(refusal_of(rung, valid, memory, memory, memory, memory + 4),
              rung.name + ": out is not aligned to 16 bytes");
  }
}

TEST(Attention, MoreKeysThanSharedMemoryHoldsAreRefused) {
  EXPECT_NE(refusal_of(rungs()[0], {1, most_naive_length + 1, 1, 1, 64, false}), "");
}

TEST(AttentionReference, BadArgumentsAreRefused) {
  double expected = 0;
  const auto refused = [&](std::size_t first, std::size_t count, double* to) {
    return refusal(
        [&] { attention_reference(memory, memory, memory, to, valid, first, count, nullptr); });
  };
  EXPECT_EQ(refused(0, 0, nullptr), "");
  EXPECT_EQ(refused(0, 1, nullptr), "attention_reference: expected is null");
  EXPECT_NE(refused(64 * 2 * 64, 1, &expected), "");
}

TEST(AttentionDecode, BadArgumentsAreRefused) {
  constexpr DecodeShape whole{1, 4, 2, 64, 64, 1};
  const std::int32_t numbers[2] = {};
  const PagedCache cache{memory, memory, numbers, numbers};
  float workspace = 0;
  double expected = 0;
  const auto expect_refused = [&](DecodeShape shape, const PagedCache& from,
                                  const std::string& why) {
    EXPECT_EQ(refusal([&] { attention_decode(memory, from, memory, &workspace, shape, nullptr); }),
              why.empty() ? "" : "attention_decode: " + why);
    EXPECT_EQ(refusal([&] { attention_decode_reference(memory, from, &expected, shape, nullptr); }),
              why.empty() ? "" : "attention_decode_reference: " + why);
  };
  expect_refused({0, 4, 2, 64, 64, 1}, {}, "");
  EXPECT_EQ(attention_decode_workspace({0, 4, 2, 64, 64, 1}), 0U);
  EXPECT_EQ(attention_decode_workspace({1, 4, 0, 64, 64, 1}), 0U);
  expect_refused(whole, {nullptr, memory, numbers, numbers}, "k is null");
  expect_refused(whole, {memory, memory, nullptr, numbers}, "table is null");
  expect_refused(whole, {memory, memory, numbers, nullptr}, "lengths is null");
  expect_refused({1, 4, 2, 32, 64, 1}, cache, "head_size=32: must be 64 or 128");
  expect_refused({1, 34, 2, 64, 64, 1}, cache,
                 "heads=34 kv_heads=2: at most 16 heads may share keys");
  expect_refused({1, 4, 2, 64, 24, 1}, cache, "page_keys=24: must be a multiple of 16");
  expect_refused({1, 4, 2, 64, 0, 1}, cache, "page_keys=0: must be a multiple of 16");
  EXPECT_EQ(refusal([&] { attention_decode_reference(memory, cache, nullptr, whole, nullptr); }),
            "attention_decode_reference: expected is null");
}

}  // namespace
}  // namespace warpgauge::kernels
