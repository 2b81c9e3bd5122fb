// SPDX-License-Identifier: Apache-2.0
// Arguments for which the launchers throw or do nothing before any launch. Needs no GPU.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <warpgauge/testing/refusal.hpp>
#include "kernels/grouped/cublas.hpp"
#include "kernels/grouped/grouped.hpp"

namespace warpgauge::kernels {
namespace {

using Bf16 = __nv_bfloat16;
using E4m3 = __nv_fp8_e4m3;

// Never read or written: every call below returns before a launch.
alignas(16) float memory[8];
const std::int32_t offsets[2]{0, 1};
constexpr GroupedShape small{1, 8, 64, 1};

template <class T>
GroupedInputs<T> inputs() {
  return {reinterpret_cast<const T*>(memory), reinterpret_cast<const T*>(memory), offsets, memory};
}

/// Calls expect(name, refused): refused(inputs, c, shape) is the message of a launcher.
template <class T, class Expect>
void for_each_launcher(const Expect& expect) {
  const auto refused_by = [](auto launch) {
    return [=](GroupedInputs<T> in, GroupedShape shape, void* c = memory) {
      return refusal([&] { launch(in, static_cast<Bf16*>(c), shape, nullptr); });
    };
  };
  expect(std::string("grouped_gemm_naive: "), refused_by(grouped_gemm_naive<T>));
  expect(std::string("grouped_gemm_wgmma: "), refused_by(grouped_gemm_wgmma<T>));
}

TEST(GroupedGemm, NoOutputsDoNothing) {
  for_each_launcher<Bf16>([](const auto&, const auto& refused) {
    EXPECT_EQ(refused({}, {0, 8, 64, 1}, nullptr), "");
    EXPECT_EQ(refused({}, {1, 0, 64, 1}, nullptr), "");
  });
}

TEST(GroupedGemm, NullAndMisalignedPointersAreRefused) {
  for_each_launcher<E4m3>([](const std::string& name, const auto& refused) {
    auto wrong = inputs<E4m3>();
    wrong.a = nullptr;
    EXPECT_EQ(refused(wrong, small), name + "a is null");
    wrong = inputs<E4m3>();
    wrong.b += 8;
    EXPECT_EQ(refused(wrong, small), name + "b is not aligned to 16 bytes");
    wrong = inputs<E4m3>();
    wrong.offsets = nullptr;
    EXPECT_EQ(refused(wrong, small), name + "offsets is null");
    wrong = inputs<E4m3>();
    wrong.scales = nullptr;
    EXPECT_EQ(refused(wrong, small), name + "scales is null");
    EXPECT_EQ(refused(inputs<E4m3>(), small, nullptr), name + "c is null");
  });
}

TEST(GroupedGemm, ShapesThatTilesDoNotCoverAreRefused) {
  for_each_launcher<Bf16>([](const std::string& name, const auto& refused) {
    const auto in = inputs<Bf16>();
    EXPECT_EQ(refused(in, {1, 8, 32, 1}),
              name + "rows=1 n=8 k=32 experts=1: k must be a multiple of 64, n of 8");
    EXPECT_EQ(refused(in, {1, 12, 64, 1}),
              name + "rows=1 n=12 k=64 experts=1: k must be a multiple of 64, n of 8");
    EXPECT_EQ(refused(in, {1, 8, 0, 1}),
              name + "rows=1 n=8 k=0 experts=1: k and experts must be at least 1");
    EXPECT_EQ(refused(in, {1, 8, 64, 0}),
              name + "rows=1 n=8 k=64 experts=0: k and experts must be at least 1");
  });
  for_each_launcher<E4m3>([](const std::string& name, const auto& refused) {
    EXPECT_EQ(refused(inputs<E4m3>(), {1, 8, 24, 1}),
              name + "rows=1 n=8 k=24 experts=1: k must be a multiple of 16, n of 8");
  });
}

TEST(GroupedGemm, ExtentsThatTmaDoesNotCountAreRefused) {
  for_each_launcher<Bf16>([](const std::string&, const auto& refused) {
    EXPECT_NE(refused(inputs<Bf16>(), {1, 8, 64, std::size_t{1} << 26}).find("at most 2147482623"),
              std::string::npos);
    EXPECT_NE(refused(inputs<Bf16>(), {std::size_t{1} << 31, 8, 64, 1}).find("at most 2147482623"),
              std::string::npos);
  });
}

TEST(GroupedGemm, CublasRefusesOffsetsOfOtherRowsOrExperts) {
  EXPECT_EQ(refusal([] { CublasGrouped gemm({1, 8, 64, 2}, {0, 1}); }),
            "CublasGrouped: 2 offsets, 3 are needed");
  for (const std::vector<std::int32_t>& wrong :
       {std::vector<std::int32_t>{0, 5, 9}, {1, 5, 8}, {0, 9, 8}}) {
    EXPECT_EQ(refusal([&] { CublasGrouped gemm({8, 8, 64, 2}, wrong); }),
              "CublasGrouped: offsets must rise from 0 to rows=8");
  }
}

}  // namespace
}  // namespace warpgauge::kernels
