// SPDX-License-Identifier: Apache-2.0
// Arguments that the launchers of this family refuse, or that need no work, before any CUDA call.
// Needs no GPU.
#include <gtest/gtest.h>

#include <string>

#include <warpgauge/testing/refusal.hpp>
#include "kernels/norm/norm.hpp"

namespace warpgauge::kernels {
namespace {

// Never read or written: every call below ends before a launch.
alignas(16) float memory[8];
float* const aligned = memory;
float* const shifted = memory + 1;
auto* const halves = reinterpret_cast<__nv_bfloat16*>(memory);
auto* const bytes = reinterpret_cast<__nv_fp8_e4m3*>(memory);

TEST(Norm, RmsNormRefusesBadArguments) {
  const auto message = [](const float* in, float* out, float* scales, RowsShape shape) {
    return refusal([&] { rms_norm(in, aligned, out, scales, shape, 0.0F, nullptr); });
  };
  EXPECT_EQ(message(nullptr, nullptr, nullptr, {0, 8}), "");
  EXPECT_EQ(message(nullptr, nullptr, nullptr, {8, 0}), "");
  EXPECT_EQ(message(nullptr, aligned, aligned, {1, 8}), "rms_norm: in is null");
  EXPECT_EQ(message(aligned, shifted, aligned, {1, 8}), "rms_norm: out is not aligned to 16 bytes");
  EXPECT_EQ(message(aligned, aligned, nullptr, {1, 8}), "rms_norm: scales is null");
  EXPECT_EQ(message(aligned, aligned, aligned, {1, 33}),
            "rms_norm: rows of 33; it takes multiples of 4 up to 65536");
}

TEST(Norm, RmsNormOfASumRefusesBadArguments) {
  const auto message = [](const float* residual, float* sum) {
    return refusal([&] {
      rms_norm_residual(aligned, residual, aligned, sum, aligned, aligned, {1, 8}, 0.0F, nullptr);
    });
  };
  EXPECT_EQ(message(nullptr, aligned), "rms_norm_residual: residual is null");
  EXPECT_EQ(message(aligned, shifted), "rms_norm_residual: sum is not aligned to 16 bytes");
}

TEST(Norm, QuantisedRmsNormRefusesBadArguments) {
  const auto message = [](__nv_fp8_e4m3* out, RowsShape shape) {
    return refusal([&] { rms_norm_e4m3(halves, halves, out, aligned, shape, 0.0F, nullptr); });
  };
  EXPECT_EQ(message(bytes + 4, {1, 8}), "rms_norm_e4m3: out is not aligned to 8 bytes");
  EXPECT_EQ(message(bytes, {1, 12}),
            "rms_norm_e4m3: rows of 12; it takes multiples of 8 up to 131072");
}

TEST(Norm, BackwardPassesRefuseBadArguments) {
  const auto rms = [](const float* dy, float* partials, RowsShape shape) {
    return refusal([&] {
      rms_norm_backward(dy, aligned, aligned, aligned, aligned, aligned, partials, shape, nullptr);
    });
  };
  EXPECT_EQ(rms(nullptr, nullptr, {8, 0}), "");
  EXPECT_EQ(rms(nullptr, aligned, {1, 8}), "rms_norm_backward: dy is null");
  EXPECT_EQ(rms(aligned, shifted, {1, 8}),
            "rms_norm_backward: partials is not aligned to 16 bytes");
  EXPECT_EQ(rms(aligned, aligned, {1, 32772}),
            "rms_norm_backward: rows of 32772; it takes multiples of 4 up to 32768");
  EXPECT_EQ(refusal([] {
              layer_norm_backward(aligned, aligned, aligned, nullptr, aligned, aligned, aligned,
                                  aligned, aligned, {1, 8}, nullptr);
            }),
            "layer_norm_backward: means is null");
  EXPECT_EQ(refusal([] {
              rms_norm_backward<float>(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                       nullptr, {0, 8}, nullptr);
            }),
            "rms_norm_backward: dgamma is null");
}

}  // namespace
}  // namespace warpgauge::kernels
