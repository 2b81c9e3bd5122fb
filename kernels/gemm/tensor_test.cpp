// SPDX-License-Identifier: Apache-2.0
// Compares every rung on tensor cores, called directly and captured, with the reference.
#include "kernels/gemm/tensor.hpp"

#include <algorithm>
#include <cmath>

#include <warpgauge/cuda/current_device.hpp>
#include <warpgauge/cuda/elements.hpp>
#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

// One element; edges on every side of a tile; rows not aligned to 16 bytes, also over several tiles
// and stages. Then aligned rows: one chunk, edges, whole tiles, more than the eight rows of tiles
// that blocks visit together.
constexpr GemmShape shapes[] = {{1, 1, 1},       {31, 1, 2},     {1, 33, 5},     {33, 17, 65},
                                {129, 257, 175}, {16, 8, 8},     {31, 40, 24},   {128, 256, 64},
                                {145, 264, 200}, {300, 136, 40}, {1157, 264, 24}};

template <class T>
using Launcher = void (*)(const T*, const T*, T*, GemmShape, cudaStream_t);

template <class T>
struct Rung {
  const char* name;
  Launcher<T> launch;
  std::size_t shared_bytes = 0;  ///< of a block, if not every device has them
};

template <class T>
std::vector<Rung<T>> all_rungs() {
  if constexpr (std::is_same_v<T, float>) {
    return {{"gemm_mma_sync_tf32", gemm_mma_sync_tf32, gemm_mma_sync_shared_bytes}};
  } else {
    return {{"gemm_wmma", gemm_wmma<T>},
            {"gemm_wmma_staged", gemm_wmma_staged<T>, gemm_wmma_staged_shared_bytes},
            {"gemm_mma_sync", gemm_mma_sync<T>, gemm_mma_sync_shared_bytes}};
  }
}

/// The rungs that this device can run.
template <class T>
std::vector<Rung<T>> rungs() {
  const int present = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  std::vector<Rung<T>> all = all_rungs<T>();
  std::erase_if(all, [=](const Rung<T>& rung) {
    return rung.shared_bytes > static_cast<std::size_t>(present);
  });
  return all;
}

/// What the hardware multiplies: a float is rounded to the nearest of 11 bits of significand. No
/// input is a tie, which devices round differently.
template <class T>
T multiplied(T value) {
  return value;
}
template <>
float multiplied(float value) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000U) & 0xFFFFE000U);
}

/// random_values() as T holds them, without values that are ties when rounded to TF32.
template <class T>
std::vector<T> no_ties(std::size_t n, unsigned seed) {
  std::vector<float> values = random_values(n, seed);
  for (float& value : values) {
    value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | 1U);
  }
  return {values.begin(), values.end()};
}

class GemmTensorTest : public DeviceTest {
 protected:
  /// Runs every rung of T, directly and captured, on inputs(n, seed) in every shape. Checks each
  /// with expect(results, reference results of the inputs as they are multiplied, shape).
  template <class T, class Expect>
  void expect_of_all_rungs(std::vector<T> (*inputs)(std::size_t, unsigned), const Expect& expect) {
    if (rungs<T>().empty()) {
      GTEST_SKIP() << "every rung of this type takes more shared memory than a block can have here";
    }
    for (const GemmShape shape : shapes) {
      const std::size_t outputs = shape.m * shape.n;
      std::vector<T> host_a = inputs(shape.m * shape.k, 1);
      std::vector<T> host_b = inputs(shape.k * shape.n, 2);
      const DeviceArray<T> a(host_a);
      const DeviceArray<T> b(host_b);
      std::transform(host_a.begin(), host_a.end(), host_a.begin(), multiplied<T>);
      std::transform(host_b.begin(), host_b.end(), host_b.begin(), multiplied<T>);
      const DeviceArray<T> a_multiplied(host_a);
      const DeviceArray<T> b_multiplied(host_b);
      GuardedOutput<double> reference(outputs);
      gemm_reference(a_multiplied.data(), b_multiplied.data(), reference.data(), shape, 0, outputs,
                     stream());
      synchronize();
      for (const Rung<T>& rung : rungs<T>()) {
        SCOPED_TRACE(::testing::Message()
                     << rung.name << ' ' << shape.m << " x " << shape.n << " x " << shape.k);
        GuardedOutput<T> direct(outputs);
        GuardedOutput<T> replayed(outputs);
        rung.launch(a.data(), b.data(), direct.data(), shape, stream());
        synchronize();
        expect(direct.values(), reference.values(), shape);
        capture_and_replay(
            stream(), [&] { rung.launch(a.data(), b.data(), replayed.data(), shape, stream()); });
        expect(replayed.values(), reference.values(), shape);
      }
    }
  }

  /// Products of values that are exact in T are exact in fp32, and 2 k units in the last place of 1
  /// cover their sums, as gemm_test.cpp explains. A lost term is off by 0.25 or more, and a float
  /// truncated instead of rounded by 1e-3. 16-bit results are rounded once.
  template <class T>
  void expect_all_rungs_match_the_reference() {
    expect_of_all_rungs<T>(no_ties<T>, [](const std::vector<T>& got,
                                          const std::vector<double>& expected, GemmShape shape) {
      const double sum = 2 * static_cast<double>(shape.k) * std::numeric_limits<float>::epsilon();
      const double stored = sizeof(T) == 2 ? unit_roundoff<T> : 0;
      expect_within(got, expected, [=](double value) { return sum + stored * std::abs(value); });
    });
  }

  /// Products of integers up to 8, and sums of up to 256 of them, are exact in fp32 in any order.
  /// So a result is the exact one rounded to T.
  template <class T>
  void expect_all_rungs_are_exact() {
    expect_of_all_rungs<T>(small_integers<T>,
                           [](const std::vector<T>& got, std::vector<double> expected, GemmShape) {
                             for (double& value : expected) {
                               value = static_cast<double>(static_cast<T>(value));
                             }
                             expect_same(got, expected);
                           });
  }

  /// A NaN of any payload, or an infinity, in one row of A affects all of that row of C and no
  /// other row.
  template <class T>
  void expect_what_is_not_finite_shows_in_its_row() {
    if (rungs<T>().empty()) {
      GTEST_SKIP() << "every rung of this type takes more shared memory than a block can have here";
    }
    constexpr GemmShape shape{33, 40, 24};
    constexpr std::size_t nan_row = 3;
    constexpr std::size_t infinite_row = 20;
    std::vector<T> host_a = no_ties<T>(shape.m * shape.k, 1);
    const DeviceArray<T> b(no_ties<T>(shape.k * shape.n, 2));
    host_a[nan_row * shape.k + 5] = T(std::bit_cast<float>(0x7FFFFFFFU));
    host_a[infinite_row * shape.k + 7] = T(-std::numeric_limits<float>::infinity());
    const DeviceArray<T> a(host_a);
    for (const Rung<T>& rung : rungs<T>()) {
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
};

TEST_F(GemmTensorTest, RungsOfBf16MatchTheReference) {
  expect_all_rungs_match_the_reference<__nv_bfloat16>();
}

TEST_F(GemmTensorTest, RungsOfF16MatchTheReference) {
  expect_all_rungs_match_the_reference<__half>();
}

TEST_F(GemmTensorTest, RungsOfTf32MatchTheReferenceOfRoundedInputs) {
  expect_all_rungs_match_the_reference<float>();
}

TEST_F(GemmTensorTest, RungsOfBf16AreExactForSmallIntegers) {
  expect_all_rungs_are_exact<__nv_bfloat16>();
}

TEST_F(GemmTensorTest, RungsOfF16AreExactForSmallIntegers) {
  expect_all_rungs_are_exact<__half>();
}

TEST_F(GemmTensorTest, RungsOfTf32AreExactForSmallIntegers) {
  expect_all_rungs_are_exact<float>();
}

TEST_F(GemmTensorTest, WhatIsNotFiniteShowsInItsRow) {
  expect_what_is_not_finite_shows_in_its_row<__nv_bfloat16>();
  expect_what_is_not_finite_shows_in_its_row<__half>();
  expect_what_is_not_finite_shows_in_its_row<float>();
}

}  // namespace
}  // namespace warpgauge::kernels
