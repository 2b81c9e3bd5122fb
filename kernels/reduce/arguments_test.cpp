// SPDX-License-Identifier: Apache-2.0
// Arguments that the launchers of this family refuse, or that need no work, before any CUDA call.
// Needs no GPU. Refusals that need an object with GPU memory are in the tests of the kernels.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/testing/refusal.hpp>
#include "kernels/memory/transpose.hpp"
#include "kernels/reduce/histogram.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/reduce/rows.hpp"
#include "kernels/reduce/scan.hpp"

namespace warpgauge::kernels {
namespace {

// Never read or written: every call below ends before a launch.
alignas(16) float memory[8];
float* const aligned = memory;
float* const between_vectors = memory + 1;
float* const between_floats = reinterpret_cast<float*>(reinterpret_cast<char*>(memory) + 2);
double* const doubles = reinterpret_cast<double*>(memory);
double* const between_doubles = reinterpret_cast<double*>(memory + 1);
std::int32_t integers[4];
auto* const between_integers =
    reinterpret_cast<std::int32_t*>(reinterpret_cast<char*>(integers) + 2);

constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();

bool names(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(Reduce, ReferencesRefuseBadPointers) {
  EXPECT_EQ(refusal([] { dot_reference(nullptr, aligned, doubles, 1, nullptr); }),
            "dot_reference: a is null");
  EXPECT_EQ(refusal([] { dot_reference(aligned, between_floats, doubles, 1, nullptr); }),
            "dot_reference: b is not aligned to 4 bytes");
  EXPECT_EQ(refusal([] { dot_reference(nullptr, nullptr, nullptr, 0, nullptr); }),
            "dot_reference: expected is null");
  EXPECT_EQ(refusal([] { max_reference(nullptr, doubles, 1, nullptr); }),
            "max_reference: in is null");
  EXPECT_EQ(refusal([] { max_reference(aligned, between_doubles, 1, nullptr); }),
            "max_reference: expected is not aligned to 8 bytes");
}

TEST(Reduce, CubRefusesMoreThanItCounts) {
  constexpr std::size_t past_cub = 256 * max_grid_blocks + 1;
  EXPECT_EQ(refusal([] { CubDot{past_cub}; }),
            "CubDot: 549755813633 elements are more than 549755813632");
  EXPECT_EQ(refusal([] { CubMax{past_cub}; }),
            "CubMax: 549755813633 elements are more than 549755813632");
}

TEST(Reduce, ThrustRefusesBadArguments) {
  EXPECT_EQ(sum_thrust(nullptr, 0, nullptr), 0);
  EXPECT_EQ(refusal([] { sum_thrust(nullptr, 1, nullptr); }), "sum_thrust: in is null");
  EXPECT_EQ(refusal([] { sum_thrust(between_floats, 1, nullptr); }),
            "sum_thrust: in is not aligned to 4 bytes");
  EXPECT_EQ(refusal([] { sum_thrust(aligned, huge, nullptr); }),
            "sum_thrust: 18446744073709551615 elements are more than 2305843009213693951");
  EXPECT_EQ(dot_thrust(nullptr, nullptr, 0, nullptr), 0);
  EXPECT_EQ(refusal([] { dot_thrust(nullptr, aligned, 1, nullptr); }), "dot_thrust: a is null");
  EXPECT_EQ(refusal([] { dot_thrust(aligned, between_floats, 1, nullptr); }),
            "dot_thrust: b is not aligned to 4 bytes");
  EXPECT_EQ(refusal([] { dot_thrust(aligned, aligned, huge, nullptr); }),
            "dot_thrust: 18446744073709551615 elements are more than 2305843009213693951");
  EXPECT_EQ(refusal([] { max_thrust(nullptr, 1, nullptr); }), "max_thrust: in is null");
  EXPECT_EQ(refusal([] { max_thrust(between_floats, 1, nullptr); }),
            "max_thrust: in is not aligned to 4 bytes");
  EXPECT_EQ(refusal([] { max_thrust(aligned, huge, nullptr); }),
            "max_thrust: 18446744073709551615 elements are more than 2305843009213693951");
}

/// launch(in, out, shape) takes pointers aligned to 16 bytes if it works on vectors, else to
/// floats.
template <class Launch>
void expect_refuses_bad_rows(const Launch& launch, bool of_vectors) {
  const auto message = [&](const float* in, float* out, RowsShape shape) {
    return refusal([&] { launch(in, out, shape); });
  };
  float* const misaligned = of_vectors ? between_vectors : between_floats;
  const std::string alignment = of_vectors ? "aligned to 16" : "aligned to 4";
  EXPECT_EQ(message(nullptr, nullptr, {0, 8}), "");
  EXPECT_EQ(message(nullptr, nullptr, {8, 0}), "");
  EXPECT_PRED2(names, message(nullptr, aligned, {1, 8}), "in is null");
  EXPECT_PRED2(names, message(aligned, nullptr, {1, 8}), "out is null");
  EXPECT_PRED2(names, message(misaligned, aligned, {1, 8}), "in is not " + alignment);
  EXPECT_PRED2(names, message(aligned, misaligned, {1, 8}), "out is not " + alignment);
  EXPECT_PRED2(names, message(aligned, aligned, {huge / 8, 8}), "64-bit difference");
}

TEST(Rows, SoftmaxRefusesBadArguments) {
  const auto held = [](const float* in, float* out, RowsShape shape) {
    softmax(in, out, shape, nullptr);
  };
  expect_refuses_bad_rows(held, true);
  expect_refuses_bad_rows(
      [](const float* in, float* out, RowsShape shape) { softmax_online(in, out, shape, nullptr); },
      false);
  EXPECT_EQ(refusal([&] { held(aligned, aligned, {1, 33}); }),
            "softmax: rows of 33; it takes multiples of 4 up to 65536");
  EXPECT_EQ(refusal([&] { held(aligned, aligned, {1, 65540}); }),
            "softmax: rows of 65540; it takes multiples of 4 up to 65536");
}

TEST(Rows, LayerNormRefusesBadArguments) {
  const auto held = [](const float* in, float* out, RowsShape shape) {
    layer_norm(in, aligned, aligned, out, shape, 0.0F, nullptr);
  };
  const auto online = [](const float* gamma, const float* beta, RowsShape shape) {
    layer_norm_online(aligned, gamma, beta, aligned, shape, 0.0F, nullptr);
  };
  expect_refuses_bad_rows(held, true);
  expect_refuses_bad_rows(
      [](const float* in, float* out, RowsShape shape) {
        layer_norm_online(in, aligned, aligned, out, shape, 0.0F, nullptr);
      },
      false);
  EXPECT_EQ(refusal([&] { held(aligned, aligned, {1, 65540}); }),
            "layer_norm: rows of 65540; it takes multiples of 4 up to 65536");
  EXPECT_EQ(
      refusal([] { layer_norm<float>(aligned, nullptr, aligned, aligned, {1, 8}, 0.0F, nullptr); }),
      "layer_norm: gamma is null");
  EXPECT_EQ(refusal([] {
              layer_norm<float>(aligned, aligned, between_vectors, aligned, {1, 8}, 0.0F, nullptr);
            }),
            "layer_norm: beta is not aligned to 16 bytes");
  EXPECT_EQ(refusal([&] { online(between_floats, aligned, {1, 8}); }),
            "layer_norm_online: gamma is not aligned to 4 bytes");
  EXPECT_EQ(refusal([&] { online(aligned, nullptr, {1, 8}); }), "layer_norm_online: beta is null");
  constexpr std::size_t past_a_float = (std::size_t{512} << 24) + 1;
  EXPECT_EQ(refusal([&] { online(aligned, aligned, {1, past_a_float}); }),
            "layer_norm_online: 8589934593 elements are more than 8589934592");
}

TEST(Rows, ReferencesRefuseBadArguments) {
  const auto softmax_window = [](const float* in, double* expected, std::size_t first,
                                 std::size_t count) {
    return refusal([=] { softmax_reference(in, expected, {2, 3}, first, count, nullptr); });
  };
  const auto norm_window = [](const float* gamma, double* expected, std::size_t first,
                              std::size_t count) {
    return refusal([=] {
      layer_norm_reference(aligned, gamma, aligned, expected, {2, 3}, 0.0F, first, count, nullptr);
    });
  };
  EXPECT_EQ(softmax_window(nullptr, nullptr, 9, 0), "");
  EXPECT_EQ(softmax_window(nullptr, doubles, 0, 1), "softmax_reference: in is null");
  EXPECT_EQ(softmax_window(aligned, between_doubles, 0, 1),
            "softmax_reference: expected is not aligned to 8 bytes");
  EXPECT_EQ(softmax_window(aligned, doubles, 5, 2),
            "softmax_reference: 2 elements from 5 end past the 6 of the matrix");
  EXPECT_NE(softmax_window(aligned, doubles, 1, huge), "");  // first + count wraps to 0
  EXPECT_EQ(norm_window(nullptr, doubles, 0, 1), "layer_norm_reference: gamma is null");
  EXPECT_EQ(norm_window(aligned, doubles, 7, 1),
            "layer_norm_reference: 1 elements from 7 end past the 6 of the matrix");
}

template <class Launcher>
void expect_refuses_bad_transpose(Launcher launch, bool of_vectors) {
  const auto message = [&](const float* in, float* out, TransposeShape shape) {
    return refusal([&] { launch(in, out, shape, nullptr); });
  };
  float* const misaligned = of_vectors ? between_vectors : between_floats;
  const std::string alignment = of_vectors ? "aligned to 16" : "aligned to 4";
  EXPECT_EQ(message(nullptr, nullptr, {0, 4}), "");
  EXPECT_EQ(message(nullptr, nullptr, {4, 0}), "");
  EXPECT_PRED2(names, message(nullptr, aligned, {4, 4}), "in is null");
  EXPECT_PRED2(names, message(aligned, nullptr, {4, 4}), "out is null");
  EXPECT_PRED2(names, message(misaligned, aligned, {4, 4}), "in is not " + alignment);
  EXPECT_PRED2(names, message(aligned, misaligned, {4, 4}), "out is not " + alignment);
  EXPECT_PRED2(names, message(aligned, aligned, {huge / 8, 8}), "64-bit difference");
  EXPECT_PRED2(names, message(aligned, aligned, {std::size_t{1} << 38, 4}),
               "more than 2147483647 tiles");
}

TEST(Transpose, BadArgumentsAreRefused) {
  expect_refuses_bad_transpose(transpose_naive, false);
  expect_refuses_bad_transpose(transpose_tiled, false);
  expect_refuses_bad_transpose(transpose_padded, false);
  expect_refuses_bad_transpose(transpose_vec4, true);
  EXPECT_EQ(refusal([] { transpose_vec4(aligned, aligned, {31, 32}, nullptr); }),
            "transpose_vec4: 31 rows of 32; both must be multiples of 4");
  EXPECT_EQ(refusal([] { transpose_vec4(aligned, aligned, {32, 33}, nullptr); }),
            "transpose_vec4: 32 rows of 33; both must be multiples of 4");
}

TEST(Transpose, ReferenceRefusesAPartPastTheEnd) {
  const auto reference = [](std::size_t first, std::size_t count) {
    return refusal([=] { transpose_reference(aligned, doubles, {2, 3}, first, count, nullptr); });
  };
  EXPECT_EQ(reference(5, 2), "transpose_reference: 2 elements from 5 end past the 6 of the matrix");
  EXPECT_NE(reference(1, huge), "");  // first + count wraps to 0
  EXPECT_EQ(reference(7, 0), "");     // nothing to do
}

template <class Launcher, class Bins>
void expect_refuses_bad_histogram(Launcher launch, Bins* bins, Bins* misaligned) {
  const auto message = [&](const std::int32_t* keys, Bins* out, std::size_t n) {
    return refusal([&] { launch(keys, out, n, BinOf{255}, nullptr); });
  };
  const auto* const keys = reinterpret_cast<const std::int32_t*>(memory);
  EXPECT_PRED2(names, message(nullptr, bins, 1), "keys is null");
  EXPECT_PRED2(names, message(between_integers, bins, 1), "keys is not aligned");
  EXPECT_PRED2(names, message(keys, nullptr, 1), "is null");
  EXPECT_PRED2(names, message(keys, nullptr, 0), "is null");
  EXPECT_PRED2(names, message(keys, misaligned, 1), "is not aligned");
  EXPECT_PRED2(names, message(keys, bins, std::size_t{1} << 31),
               "2147483648 elements are more than 2147483647");
}

TEST(Histogram, BadArgumentsAreRefused) {
  expect_refuses_bad_histogram(histogram_global, integers, between_integers);
  expect_refuses_bad_histogram(histogram_shared, integers, between_integers);
  expect_refuses_bad_histogram(histogram_reference, doubles, between_doubles);
  EXPECT_EQ(refusal([] {
              histogram_shared(reinterpret_cast<const std::int32_t*>(between_vectors), integers, 1,
                               BinOf{255}, nullptr);
            }),
            "histogram_shared: keys is not aligned to 16 bytes");
  EXPECT_EQ(refusal([] { CubHistogram{std::size_t{1} << 31}; }),
            "CubHistogram: 2147483648 elements are more than 2147483647");
}

TEST(Scan, BadArgumentsAreRefused) {
  const auto reference = [](const std::int32_t* in, double* expected, std::size_t first,
                            std::size_t count) {
    return refusal([=] { scan_reference(in, expected, first, count, nullptr); });
  };
  EXPECT_EQ(reference(nullptr, nullptr, 1, 0), "");
  EXPECT_EQ(reference(nullptr, doubles, 0, 1), "scan_reference: in is null");
  EXPECT_EQ(reference(between_integers, doubles, 0, 1),
            "scan_reference: in is not aligned to 4 bytes");
  EXPECT_EQ(reference(integers, between_doubles, 0, 1),
            "scan_reference: expected is not aligned to 8 bytes");
  EXPECT_NE(reference(integers, doubles, 1, huge), "");  // first + count wraps to 0
  constexpr std::size_t past_int = std::size_t{1} << 31;
  EXPECT_EQ(refusal([] { CubScan{past_int}; }),
            "CubScan: 2147483648 elements are more than 2147483647");
  EXPECT_EQ(refusal([] { ThrustScan{past_int}; }),
            "ThrustScan: 2147483648 elements are more than 2147483647");
}

}  // namespace
}  // namespace warpgauge::kernels
