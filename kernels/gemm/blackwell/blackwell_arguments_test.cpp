// SPDX-License-Identifier: Apache-2.0
// Arguments for which gemm_tcgen05 throws or does nothing before any launch. Needs no GPU.
#include <gtest/gtest.h>

#include <cuda_bf16.h>

#include <string>

#include <warpgauge/testing/refusal.hpp>
#include "kernels/gemm/blackwell/blackwell.hpp"

namespace warpgauge::kernels {
namespace {

using T = __nv_bfloat16;

// Never read or written: every call below returns before a launch.
alignas(16) T memory[8];

std::string refusal_of(const T* a, T* c, GemmShape shape) {
  return refusal([=] { gemm_tcgen05<T>(a, memory, c, shape, nullptr); });
}

TEST(GemmTcgen05, NoOutputsDoNothing) {
  EXPECT_EQ(refusal_of(nullptr, nullptr, {0, 1, 1}), "");
  EXPECT_EQ(refusal_of(nullptr, nullptr, {1, 0, 0}), "");
}

TEST(GemmTcgen05, BadArgumentsAreRefused) {
  EXPECT_EQ(refusal_of(nullptr, memory, {1, 8, 8}), "gemm_tcgen05: a is null");
  EXPECT_EQ(refusal_of(memory, memory + 1, {1, 8, 8}),
            "gemm_tcgen05: c is not aligned to 16 bytes");
  EXPECT_EQ(refusal_of(memory, memory, {1, 8, 0}),
            "gemm_tcgen05: m=1 n=8 k=0 sums nothing: k must be at least 1");
  EXPECT_EQ(
      refusal_of(memory, memory, {1, 9, 8}),
      "gemm_tcgen05: m=1 n=9 k=8: TMA takes rows of whole 16 bytes: k must be a multiple of 8, "
      "n of 8");
  EXPECT_NE(refusal_of(memory, memory, {8, 8, std::size_t{1} << 32}).find("TMA counts to"),
            std::string::npos);
}

TEST(GemmTcgen05, MorePairsOfBlocksThanAGridHoldsAreRefused) {
  EXPECT_EQ(refusal_of(memory, memory, {std::size_t{1} << 23, std::size_t{1} << 23, 8}),
            "gemm_tcgen05: 2147483648 elements need more than 2147483647 blocks of 1");
}

}  // namespace
}  // namespace warpgauge::kernels
