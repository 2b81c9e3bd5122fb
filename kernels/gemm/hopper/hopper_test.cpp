// SPDX-License-Identifier: Apache-2.0
// Every Hopper rung matches the reference, launched and captured.
#include "kernels/gemm/hopper/hopper.hpp"

#include <cmath>

#include <warpgauge/cuda/elements.hpp>
#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

// The smallest shape; one tile of the first rung; edges inside an instruction, a box, a tile and a
// stage; terms that wrap around the ring several times and end in its middle; clusters in which one
// block has no outputs.
constexpr GemmShape shapes[] = {{1, 8, 8},       {64, 128, 64},   {63, 120, 56},
                                {65, 136, 72},   {128, 256, 256}, {129, 264, 200},
                                {257, 520, 648}, {300, 72, 1032}, {17, 264, 4104}};

class GemmWgmmaTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped() && !has_wgmma()) {
      GTEST_SKIP() << "wgmma needs compute capability 9.0";
    }
  }

  /// Runs every rung of T on inputs(n, seed), launched and captured, and calls
  /// expect(results, reference results, shape) for each.
  template <class T, class Expect>
  void expect_of_all_rungs(std::vector<T> (*inputs)(std::size_t, unsigned), GemmShape shape,
                           const Expect& expect) {
    const std::size_t outputs = shape.m * shape.n;
    const DeviceArray<T> a(inputs(shape.m * shape.k, 1));
    const DeviceArray<T> b(inputs(shape.k * shape.n, 2));
    GuardedOutput<double> reference(outputs);
    gemm_reference(a.data(), b.data(), reference.data(), shape, 0, outputs, stream());
    synchronize();
    const std::vector<double> expected = reference.values();
    for (const WgmmaRung<T>& rung : wgmma_ladder<T>) {
      SCOPED_TRACE(::testing::Message()
                   << rung.name << ' ' << shape.m << " x " << shape.n << " x " << shape.k);
      GuardedOutput<T> direct(outputs);
      GuardedOutput<T> replayed(outputs);
      rung.launch(a.data(), b.data(), direct.data(), shape, stream());
      synchronize();
      expect(direct.values(), expected, shape);
      capture_and_replay(
          stream(), [&] { rung.launch(a.data(), b.data(), replayed.data(), shape, stream()); });
      expect(replayed.values(), expected, shape);
    }
  }

  /// The tolerance is that of tensor_test.cpp.
  template <class T>
  void expect_all_rungs_match_the_reference() {
    for (const GemmShape shape : shapes) {
      expect_of_all_rungs<T>(
          random_values_as<T>, shape,
          [](const std::vector<T>& got, const std::vector<double>& expected, GemmShape of) {
            const double sum =
                2 * static_cast<double>(of.k) * std::numeric_limits<float>::epsilon();
            expect_within(got, expected,
                          [=](double value) { return sum + unit_roundoff<T> * std::abs(value); });
          });
    }
  }

  /// Inputs are integers up to 8. Products and sums up to 2^18 are exact in fp32 in any order, so
  /// each result is the exact one rounded to T.
  template <class T>
  static void expect_exact(const std::vector<T>& got, std::vector<double> expected, GemmShape) {
    for (double& value : expected) {
      value = static_cast<double>(static_cast<T>(value));
    }
    expect_same(got, expected);
  }
};

TEST_F(GemmWgmmaTest, RungsOfBf16MatchTheReference) {
  expect_all_rungs_match_the_reference<__nv_bfloat16>();
}

TEST_F(GemmWgmmaTest, RungsOfF16MatchTheReference) {
  expect_all_rungs_match_the_reference<__half>();
}

TEST_F(GemmWgmmaTest, RungsAreExactForSmallIntegers) {
  for (const GemmShape shape : shapes) {
    expect_of_all_rungs<__nv_bfloat16>(small_integers<__nv_bfloat16>, shape,
                                       expect_exact<__nv_bfloat16>);
    expect_of_all_rungs<__half>(small_integers<__half>, shape, expect_exact<__half>);
  }
}

// More than two tiles per multiprocessor and an odd number of tile rows: persistent blocks make
// several tiles, the ring continues from tile to tile, and the last group of tile rows is short.
TEST_F(GemmWgmmaTest, RungsAreExactForManyTiles) {
  expect_of_all_rungs<__nv_bfloat16>(small_integers<__nv_bfloat16>, {4104, 2568, 136},
                                     expect_exact<__nv_bfloat16>);
}

// Elements outside the matrices count as 0, whatever lies there in memory: a NaN or an infinity in
// one row of A appears in all of that row of C and in no other row.
TEST_F(GemmWgmmaTest, WhatIsNotFiniteShowsInItsRow) {
  using T = __nv_bfloat16;
  constexpr GemmShape shape{33, 40, 24};
  constexpr std::size_t nan_row = 3;
  constexpr std::size_t infinite_row = 32;
  std::vector<T> host_a = random_values_as<T>(shape.m * shape.k, 1);
  host_a[nan_row * shape.k] = T(std::bit_cast<float>(0x7FFFFFFFU));
  host_a[infinite_row * shape.k + shape.k - 1] = T(-std::numeric_limits<float>::infinity());
  const DeviceArray<T> a(host_a);
  const DeviceArray<T> b(random_values_as<T>(shape.k * shape.n, 2));
  for (const WgmmaRung<T>& rung : wgmma_ladder<T>) {
    SCOPED_TRACE(rung.name);
    GuardedOutput<T> c(shape.m * shape.n);
    rung.launch(a.data(), b.data(), c.data(), shape, stream());
    synchronize();
    const std::vector<T> values = c.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_FALSE(GuardedOutput<T>::is_poison(values[i])) << i << " is not written";
      const auto value = static_cast<float>(values[i]);
      EXPECT_EQ(std::isnan(value), i / shape.n == nan_row) << i;
      EXPECT_EQ(std::isinf(value), i / shape.n == infinite_row) << i;
    }
  }
}

}  // namespace
}  // namespace warpgauge::kernels
