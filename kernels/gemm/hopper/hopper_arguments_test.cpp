// SPDX-License-Identifier: Apache-2.0
// Arguments for which the Hopper launchers throw or do nothing before any launch. Needs no GPU.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <type_traits>

#include <warpgauge/testing/refusal.hpp>
#include "kernels/gemm/hopper/hopper.hpp"

namespace warpgauge::kernels {
namespace {

// Never read or written: every call below returns before a launch.
alignas(16) float memory[8];

constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();
constexpr GemmShape small{1, 8, 8};

struct Pointers {
  const void* a = memory;
  const void* b = memory;
  void* c = memory;
};

template <class T>
std::string refusal_of(const WgmmaRung<T>& rung, Pointers pointers, GemmShape shape) {
  return refusal([&] {
    rung.launch(static_cast<const T*>(pointers.a), static_cast<const T*>(pointers.b),
                static_cast<T*>(pointers.c), shape, nullptr);
  });
}

/// Calls expect(rung, prefix of its messages) for every rung of both types.
template <class Expect>
void for_each_rung(const Expect& expect) {
  for (const auto& rung : wgmma_ladder<__nv_bfloat16>) {
    expect(rung, std::string(rung.name) + ": ");
  }
  for (const auto& rung : wgmma_ladder<__half>) {
    expect(rung, std::string(rung.name) + ": ");
  }
}

TEST(GemmWgmma, NoOutputsDoNothing) {
  for_each_rung([](const auto& rung, const std::string&) {
    EXPECT_EQ(refusal_of(rung, {nullptr, nullptr, nullptr}, {0, 1, 1}), "");
    EXPECT_EQ(refusal_of(rung, {nullptr, nullptr, nullptr}, {1, 0, 0}), "");
  });
}

TEST(GemmWgmma, SumsOfNothingAreRefused) {
  for_each_rung([](const auto& rung, const std::string& name) {
    EXPECT_EQ(refusal_of(rung, {}, {1, 8, 0}),
              name + "m=1 n=8 k=0 sums nothing: k must be at least 1");
  });
}

TEST(GemmWgmma, NullAndMisalignedPointersAreRefused) {
  for_each_rung([](const auto& rung, const std::string& name) {
    EXPECT_EQ(refusal_of(rung, {.a = nullptr}, small), name + "a is null");
    EXPECT_EQ(refusal_of(rung, {.b = memory + 1}, small), name + "b is not aligned to 16 bytes");
    EXPECT_EQ(refusal_of(rung, {.c = memory + 2}, small), name + "c is not aligned to 16 bytes");
  });
}

TEST(GemmWgmma, RowsThatAreNotWholeSixteenBytesAreRefused) {
  for_each_rung([](const auto& rung, const std::string& name) {
    EXPECT_EQ(
        refusal_of(rung, {}, {1, 8, 12}),
        name + "m=1 n=8 k=12: TMA takes rows of whole 16 bytes: k must be a multiple of 8, n of 8");
    EXPECT_EQ(
        refusal_of(rung, {}, {1, 9, 8}),
        name + "m=1 n=9 k=8: TMA takes rows of whole 16 bytes: k must be a multiple of 8, n of 8");
  });
}

TEST(GemmWgmma, KMajorRowsThatAreNotWholeSixteenBytesAreRefused) {
  alignas(16) __nv_fp8_e4m3 bytes[16];
  alignas(16) __nv_bfloat16 out[8];
  EXPECT_EQ(refusal([&] { gemm_wgmma_k_major(bytes, bytes, out, {1, 8, 8}, nullptr); }),
            "gemm_wgmma_k_major: m=1 n=8 k=8: TMA takes rows of whole 16 bytes: k must be a "
            "multiple of 16, n of 8");
  EXPECT_EQ(refusal([&] {
              gemm_wgmma_k_major<float, float>(memory, memory, memory, {1, 6, 4}, nullptr);
            }),
            "gemm_wgmma_k_major: m=1 n=6 k=4: TMA takes rows of whole 16 bytes: k must be a "
            "multiple of 4, n of 4");
}

TEST(GemmWgmma, StreamKRefusesShapesAtConstruction) {
  using Gemm = GemmWgmmaStreamK<__half>;
  EXPECT_EQ(refusal([] { Gemm gemm({1, 8, 0}); }),
            "gemm_wgmma_stream_k: m=1 n=8 k=0 sums nothing: k must be at least 1");
  EXPECT_EQ(refusal([] { Gemm gemm({1, 8, 12}); }),
            "gemm_wgmma_stream_k: m=1 n=8 k=12: TMA takes rows of whole 16 bytes: k must be a "
            "multiple of 8, n of 8");
  EXPECT_EQ(refusal([] { Gemm gemm({2'147'482'624, 8, 8}); }),
            "gemm_wgmma_stream_k: m=2147482624 n=8 k=8: TMA counts to 2147482623 rows or columns");
  EXPECT_NE(
      refusal([] { Gemm gemm({std::size_t{1} << 40, 1 << 10, 8}); }).find("2147483647 tiles of"),
      std::string::npos);
}

TEST(GemmWgmma, StreamKWithoutOutputsDoesNothing) {
  EXPECT_EQ(
      refusal([] { GemmWgmmaStreamK<__half>({0, 1, 1})(nullptr, nullptr, nullptr, nullptr); }), "");
  EXPECT_EQ(
      refusal([] { GemmWgmmaStreamK<__half>({1, 0, 0})(nullptr, nullptr, nullptr, nullptr); }), "");
}

TEST(GemmWgmma, ExtentsThatTmaDoesNotCountAreRefused) {
  for_each_rung([](const auto& rung, const std::string& name) {
    EXPECT_EQ(refusal_of(rung, {}, {2'147'482'624, 8, 8}),
              name + "m=2147482624 n=8 k=8: TMA counts to 2147482623 rows or columns");
    EXPECT_NE(refusal_of(rung, {}, {8, 8, std::size_t{1} << 32}).find("TMA counts to"),
              std::string::npos);
    EXPECT_NE(refusal_of(rung, {}, {huge, 8, 8}).find("64-bit difference"), std::string::npos);
  });
}

TEST(GemmWgmma, MoreTilesThanAGridHoldsAreRefused) {
  for_each_rung([](const auto& rung, const std::string&) {
    EXPECT_NE(refusal_of(rung, {}, {std::size_t{1} << 40, 1 << 10, 8}).find("2147483647 tiles of"),
              std::string::npos);
  });
}

}  // namespace
}  // namespace warpgauge::kernels
