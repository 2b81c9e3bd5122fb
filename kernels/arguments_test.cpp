// SPDX-License-Identifier: Apache-2.0
// Arguments that the launchers refuse, or that need no work, before any CUDA call. Needs no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/testing/refusal.hpp>
#include "kernels/gemm/gemm.hpp"
#include "kernels/launch/probes.hpp"
#include "kernels/reduce/reduce.hpp"

namespace warpgauge::kernels {
namespace {

// Never read or written: every call below ends before a launch.
alignas(16) float memory[8];
float* const aligned = memory;
float* const between_floats = reinterpret_cast<float*>(reinterpret_cast<char*>(memory) + 2);
double* const doubles = reinterpret_cast<double*>(memory);
double* const between_doubles = reinterpret_cast<double*>(memory + 1);

constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();

template <class Launcher>
void expect_refuses_bad_gemm(Launcher launch) {
  const auto message = [&](const float* a, const float* b, float* c, GemmShape shape) {
    return refusal([&] { launch(a, b, c, shape, nullptr); });
  };
  const auto names = [](const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  };
  EXPECT_EQ(message(nullptr, nullptr, nullptr, {0, 1, 1}), "");
  EXPECT_EQ(message(nullptr, nullptr, nullptr, {1, 0, 1}), "");
  EXPECT_PRED2(names, message(aligned, aligned, aligned, {1, 1, 0}), "k must be at least 1");
  EXPECT_PRED2(names, message(nullptr, aligned, aligned, {1, 1, 1}), "a is null");
  EXPECT_PRED2(names, message(aligned, nullptr, aligned, {1, 1, 1}), "b is null");
  EXPECT_PRED2(names, message(aligned, aligned, nullptr, {1, 1, 1}), "c is null");
  EXPECT_PRED2(names, message(between_floats, aligned, aligned, {1, 1, 1}), "aligned to 4");
  EXPECT_PRED2(names, message(aligned, aligned, aligned, {huge, 1, 2}), "64-bit difference");
  EXPECT_PRED2(names, message(aligned, aligned, aligned, {1, huge, 2}), "64-bit difference");
  EXPECT_PRED2(names, message(aligned, aligned, aligned, {huge / 4, 8, 1}), "64-bit difference");
  EXPECT_PRED2(names, message(aligned, aligned, aligned, {std::size_t{1} << 36, 33, 1}),
               "more than 2147483647 tiles");
}

TEST(Gemm, NaiveRefusesBadArguments) {
  expect_refuses_bad_gemm(gemm_naive);
}

TEST(Gemm, TiledRefusesBadArguments) {
  expect_refuses_bad_gemm(gemm_tiled);
}

TEST(Gemm, ReferenceRefusesAWindowPastTheEnd) {
  const auto reference = [](std::size_t first, std::size_t count) {
    return refusal(
        [=] { gemm_reference(aligned, aligned, doubles, {2, 3, 4}, first, count, nullptr); });
  };
  EXPECT_EQ(reference(5, 2), "gemm_reference: 2 elements from 5 end past the 6 of C");
  EXPECT_EQ(reference(7, 1), "gemm_reference: 1 elements from 7 end past the 6 of C");
  EXPECT_NE(reference(1, huge), "");  // first + count wraps to 0
  EXPECT_EQ(reference(7, 0), "");     // nothing to do
}

TEST(Gemm, ReferenceOfBf16RefusesBadPointers) {
  const auto* const whole = reinterpret_cast<const __nv_bfloat16*>(memory);
  const auto* const halved =
      reinterpret_cast<const __nv_bfloat16*>(reinterpret_cast<const char*>(memory) + 1);
  const auto reference = [](const __nv_bfloat16* a, const __nv_bfloat16* b) {
    return refusal([=] { gemm_reference(a, b, doubles, {2, 3, 4}, 0, 6, nullptr); });
  };
  EXPECT_EQ(reference(nullptr, whole), "gemm_reference: a is null");
  EXPECT_EQ(reference(whole, halved), "gemm_reference: b is not aligned to 2 bytes");
}

TEST(Gemm, CublasRefusesAnEmptyWorkspace) {
  EXPECT_EQ(refusal([] { CublasGemm(0); }),
            "CublasGemm: a workspace of 0 bytes, at least 1 is needed");
}

TEST(Reduce, ReferenceRefusesBadPointers) {
  const auto reference = [](const float* in, double* expected, std::size_t n) {
    return refusal([=] { sum_reference(in, expected, n, nullptr); });
  };
  EXPECT_EQ(reference(nullptr, doubles, 1), "sum_reference: in is null");
  EXPECT_EQ(reference(between_floats, doubles, 1), "sum_reference: in is not aligned to 4 bytes");
  EXPECT_EQ(reference(aligned, nullptr, 1), "sum_reference: expected is null");
  EXPECT_EQ(reference(nullptr, nullptr, 0), "sum_reference: expected is null");
  EXPECT_EQ(reference(aligned, between_doubles, 1),
            "sum_reference: expected is not aligned to 8 bytes");
}

TEST(Reduce, CubRefusesMoreThanItCounts) {
  constexpr std::size_t past_cub = 256 * max_grid_blocks + 1;
  EXPECT_EQ(refusal([] { CubSum{past_cub}; }),
            "CubSum: 549755813633 elements are more than 549755813632");
}

TEST(Spin, NoBlocksAndTooManyAreRefused) {
  EXPECT_EQ(refusal([] { spin(1, 0, nullptr, nullptr); }),
            "spin: 0 blocks; at least 1 and at most 2147483647 can be launched");
  EXPECT_NE(refusal([] { spin(1, 2'147'483'648U, nullptr, nullptr); }), "");
}

TEST(Empty, UnknownArgumentSizesAreRefused) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{63}, std::size_t{4095}, huge}) {
    EXPECT_NE(refusal([=] { launch_empty(bytes, nullptr); }), "") << bytes;
  }
}

TEST(Empty, EverySizeHasItsOwnKernel) {
  for (const std::size_t bytes : empty_argument_bytes) {
    const auto same = [=](std::size_t other) { return empty_kernel(other) == empty_kernel(bytes); };
    EXPECT_EQ(std::count_if(empty_argument_bytes.begin(), empty_argument_bytes.end(), same), 1);
  }
}

}  // namespace
}  // namespace warpgauge::kernels
