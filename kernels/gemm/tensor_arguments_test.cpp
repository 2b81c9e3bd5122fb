// SPDX-License-Identifier: Apache-2.0
// Arguments that the tensor-core rungs and cuBLASLt's class refuse, or that need no work, before
// any launch. Needs no GPU.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/testing/refusal.hpp>
#include "kernels/gemm/arguments.hpp"
#include "kernels/gemm/cublaslt.hpp"
#include "kernels/gemm/tensor.hpp"

namespace warpgauge::kernels {
namespace {

// Never read or written: every call below ends before a launch.
alignas(16) float memory[8];

constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();

struct Pointers {
  const void* a = memory;
  const void* b = memory;
  void* c = memory;
};

struct Rung {
  std::string name;
  void (*launch)(Pointers, GemmShape);
  std::string tile;  ///< of its outputs, as its message names it
};

template <class T, void (*launch)(const T*, const T*, T*, GemmShape, cudaStream_t)>
void call(Pointers pointers, GemmShape shape) {
  launch(static_cast<const T*>(pointers.a), static_cast<const T*>(pointers.b),
         static_cast<T*>(pointers.c), shape, nullptr);
}

const std::vector<Rung>& rungs() {
  static const std::vector<Rung> all{
      {"gemm_wmma", call<__half, gemm_wmma<__half>>, "64 x 64"},
      {"gemm_wmma", call<__nv_bfloat16, gemm_wmma<__nv_bfloat16>>, "64 x 64"},
      {"gemm_wmma_staged", call<__half, gemm_wmma_staged<__half>>, "128 x 256"},
      {"gemm_wmma_staged", call<__nv_bfloat16, gemm_wmma_staged<__nv_bfloat16>>, "128 x 256"},
      {"gemm_mma_sync", call<__half, gemm_mma_sync<__half>>, "128 x 256"},
      {"gemm_mma_sync", call<__nv_bfloat16, gemm_mma_sync<__nv_bfloat16>>, "128 x 256"},
      {"gemm_mma_sync_tf32", call<float, gemm_mma_sync_tf32>, "128 x 256"}};
  return all;
}

std::string refusal_of(const Rung& rung, Pointers pointers, GemmShape shape) {
  return refusal([&] { rung.launch(pointers, shape); });
}

TEST(GemmTensor, NoOutputsDoNothing) {
  for (const Rung& rung : rungs()) {
    EXPECT_NO_THROW(rung.launch({nullptr, nullptr, nullptr}, {0, 1, 1})) << rung.name;
    EXPECT_NO_THROW(rung.launch({nullptr, nullptr, nullptr}, {1, 0, 0})) << rung.name;
  }
}

TEST(GemmTensor, SumsOfNothingAreRefused) {
  for (const Rung& rung : rungs()) {
    EXPECT_EQ(refusal_of(rung, {}, {1, 2, 0}),
              rung.name + ": m=1 n=2 k=0 sums nothing: k must be at least 1");
  }
}

TEST(GemmTensor, NullIsRefused) {
  for (const Rung& rung : rungs()) {
    EXPECT_EQ(refusal_of(rung, {.a = nullptr}, {1, 1, 1}), rung.name + ": a is null");
    EXPECT_EQ(refusal_of(rung, {.b = nullptr}, {1, 1, 1}), rung.name + ": b is null");
    EXPECT_EQ(refusal_of(rung, {.c = nullptr}, {1, 1, 1}), rung.name + ": c is null");
  }
}

TEST(GemmTensor, WhatDoesNotBeginAtSixteenBytesIsRefused) {
  for (const Rung& rung : rungs()) {
    EXPECT_EQ(refusal_of(rung, {.a = memory + 1}, {1, 1, 1}),
              rung.name + ": a is not aligned to 16 bytes");
    EXPECT_EQ(refusal_of(rung, {.b = memory + 2}, {1, 1, 1}),
              rung.name + ": b is not aligned to 16 bytes");
    EXPECT_EQ(refusal_of(rung, {.c = memory + 3}, {1, 1, 1}),
              rung.name + ": c is not aligned to 16 bytes");
  }
}

TEST(GemmTensor, MatricesPastSixtyFourBitsAreRefused) {
  for (const Rung& rung : rungs()) {
    for (const GemmShape shape :
         {GemmShape{huge, 1, 2}, GemmShape{1, huge, 2}, GemmShape{huge / 4, 8, 1}}) {
      EXPECT_NE(refusal_of(rung, {}, shape).find("64-bit difference"), std::string::npos)
          << rung.name;
    }
  }
}

TEST(GemmTensor, MoreTilesThanAGridHoldsAreRefused) {
  constexpr GemmShape wide{std::size_t{1} << 40, 1 << 10, 1};
  for (const Rung& rung : rungs()) {
    const std::string text = refusal_of(rung, {}, wide);
    EXPECT_NE(text.find("more than 2147483647 tiles of " + rung.tile), std::string::npos)
        << rung.name << ": " << text;
  }
}

TEST(WholeChunks, AreRowsOfWholeSixteenBytes) {
  EXPECT_TRUE(has_whole_chunks({1, 8, 16}, 2));
  EXPECT_FALSE(has_whole_chunks({8, 8, 12}, 2));
  EXPECT_FALSE(has_whole_chunks({8, 12, 8}, 2));
  EXPECT_TRUE(has_whole_chunks({1, 4, 12}, 4));
  EXPECT_FALSE(has_whole_chunks({4, 4, 6}, 4));
}

TEST(Gemv, BadArgumentsAreRefused) {
  auto* const whole = reinterpret_cast<__half*>(memory);
  __half* const none = nullptr;
  const auto message = [](const __half* a, const __half* b, __half* c, std::size_t n,
                          std::size_t k) { return refusal([=] { gemv(a, b, c, n, k, nullptr); }); };
  EXPECT_EQ(message(none, none, none, 0, 1), "");
  EXPECT_NE(message(whole, whole, whole, 1, 0).find("k must be at least 1"), std::string::npos);
  EXPECT_EQ(message(none, whole, whole, 1, 1), "gemv: a is null");
  EXPECT_EQ(message(whole, none, whole, 1, 1), "gemv: b is null");
  EXPECT_EQ(message(whole, whole, none, 1, 1), "gemv: c is null");
  EXPECT_EQ(message(whole, whole + 1, whole, 1, 1), "gemv: b is not aligned to 16 bytes");
  EXPECT_NE(message(whole, whole, whole, huge, 2).find("64-bit difference"), std::string::npos);
  EXPECT_EQ(message(whole, whole, whole, 32 * max_grid_blocks + 1, 1),
            "gemv: 68719476705 elements need more than 2147483647 blocks of 32");
}

using E4m3Gemm = CublasLtGemm<__nv_fp8_e4m3, __nv_bfloat16>;

TEST(CublasLt, ShapesItCannotMultiplyAreRefused) {
  EXPECT_EQ(refusal([] { E4m3Gemm({1, 16, 0}, GemmB::transposed); }),
            "CublasLtGemm: m=1 n=16 k=0 sums nothing: k must be at least 1");
  EXPECT_EQ(refusal([] { E4m3Gemm({1, 16, 8}, GemmB::transposed); }),
            "CublasLtGemm: m=1 n=16 k=8: k and n must be multiples of 16 bytes' numbers, 16");
  EXPECT_NE(refusal([] { E4m3Gemm({16, 1, 16}, GemmB::transposed); }), "");
  EXPECT_NE(refusal([] { CublasLtGemm<float, float>({16, 16, 2}, GemmB::row_major); }), "");
}

TEST(CublasLt, BlocksThatItCannotMultiplyAreRefused) {
  using Nvfp4Gemm = CublasLtGemm<E2m1Pair, __nv_bfloat16>;
  EXPECT_EQ(refusal([] { Nvfp4Gemm({1, 32, 16}, GemmB::transposed); }),
            "CublasLtGemm: m=1 n=32 k=16: k and n must be multiples of 16 bytes' numbers, 32");
  EXPECT_NE(refusal([] { unpack(nullptr, nullptr, 1, nullptr); }).find("is null"),
            std::string::npos);
  EXPECT_EQ(refusal([] { unpack(nullptr, nullptr, 0, nullptr); }), "");
}

TEST(CublasLt, NoOutputsDoNothing) {
  E4m3Gemm none({0, 16, 16}, GemmB::transposed, LtChoice::fastest);
  EXPECT_NO_THROW(none(nullptr, nullptr, nullptr, nullptr));
}

}  // namespace
}  // namespace warpgauge::kernels
