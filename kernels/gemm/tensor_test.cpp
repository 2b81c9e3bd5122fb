// SPDX-License-Identifier: Apache-2.0
// Every rung on tensor cores against the reference, on its own and captured.
#include "kernels/gemm/tensor.hpp"

#include <cmath>
#include <cstring>

#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

// One element; edges on every side of a tile; rows that begin between 16 bytes, and past several
// tiles and stages; then the same with rows of whole 16 bytes: one chunk, edges, whole tiles, more
// than the eight rows of tiles that blocks visit together.
constexpr GemmShape shapes[] = {{1, 1, 1},       {31, 1, 2},     {1, 33, 5},     {33, 17, 65},
                                {129, 257, 175}, {16, 8, 8},     {31, 40, 24},   {128, 256, 64},
                                {145, 264, 200}, {300, 136, 40}, {1157, 264, 24}};

template <class T>
using Launcher = void (*)(const T*, const T*, T*, GemmShape, cudaStream_t);

template <class T>
struct Rung {
  const char* name;
  Launcher<T> launch;
  std::size_t shared_bytes = 0;  ///< of a block, where not every device has them
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

/// Those that this device can run.
template <class T>
std::vector<Rung<T>> rungs() {
  int device = 0;
  int present = 0;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetAttribute(&present, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
            cudaSuccess);
  std::vector<Rung<T>> all = all_rungs<T>();
  std::erase_if(all, [=](const Rung<T>& rung) {
    return rung.shared_bytes > static_cast<std::size_t>(present);
  });
  return all;
}

/// What the hardware multiplies: a float is rounded to the nearest of 11 bits of significand. None
/// of the inputs is a tie, which devices round differently.
template <class T>
T multiplied(T value) {
  return value;
}
template <>
float multiplied(float value) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000U) & 0xFFFFE000U);
}

/// What storing a sum as T adds: half a unit in the last place of 8 or 11 bits of significand.
template <class T>
constexpr double unit_roundoff = 0;
template <>
constexpr double unit_roundoff<__half> = 0x1p-11;
template <>
constexpr double unit_roundoff<__nv_bfloat16> = 0x1p-8;

class GemmTensorTest : public DeviceTest {
 protected:
  template <class T>
  static DeviceArray<T> on_device(std::vector<float> values) {
    for (float& value : values) {
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | 1U);  // no tie in TF32
    }
    return std::vector<T>(values.begin(), values.end());
  }

  template <class T>
  static DeviceArray<T> as_multiplied(const DeviceArray<T>& values) {
    std::vector<T> host(values.size());
    host = values.values();
    for (T& value : host) {
      value = multiplied(value);
    }
    return host;
  }

  template <class T>
  static const T* data(const DeviceArray<T>& values) {
    return values.data();
  }

  /// Products of values that are exact in T are exact in fp32, and 2 k units in the last place of 1
  /// cover their sums, as gemm_test.cpp tells; a lost term is off by 0.25 or more, and a float that
  /// is cut off instead of rounded by 1e-3. What is stored is rounded once.
  template <class T>
  static void expect_close(const std::vector<T>& actual, const std::vector<double>& expected,
                           GemmShape shape) {
    const double sum = 2 * static_cast<double>(shape.k) * std::numeric_limits<float>::epsilon();
    expect_within(actual, expected,
                  [=](double value) { return sum + unit_roundoff<T> * std::abs(value); });
  }

  template <class T>
  void expect_all_rungs_match_the_reference() {
    if (rungs<T>().empty()) {
      GTEST_SKIP() << "every rung of this type takes more shared memory than a block can have here";
    }
    for (const GemmShape shape : shapes) {
      const std::size_t outputs = shape.m * shape.n;
      const auto a = on_device<T>(random_values(shape.m * shape.k, 1));
      const auto b = on_device<T>(random_values(shape.k * shape.n, 2));
      GuardedOutput<double> expected(outputs);
      const auto a_multiplied = as_multiplied(a);
      const auto b_multiplied = as_multiplied(b);
      gemm_reference(data(a_multiplied), data(b_multiplied), expected.data(), shape, 0, outputs,
                     stream());
      synchronize();
      for (const Rung<T>& rung : rungs<T>()) {
        SCOPED_TRACE(::testing::Message()
                     << rung.name << ' ' << shape.m << " x " << shape.n << " x " << shape.k);
        GuardedOutput<T> direct(outputs);
        GuardedOutput<T> replayed(outputs);
        rung.launch(data(a), data(b), direct.data(), shape, stream());
        synchronize();
        expect_close(direct.values(), expected.values(), shape);
        capture_and_replay(
            stream(), [&] { rung.launch(data(a), data(b), replayed.data(), shape, stream()); });
        expect_close(replayed.values(), expected.values(), shape);
      }
    }
  }

  /// A NaN, of any payload, or an infinity in one row of A shows in that row of C, all of it, and
  /// in no other.
  template <class T>
  void expect_what_is_not_finite_shows_in_its_row() {
    if (rungs<T>().empty()) {
      GTEST_SKIP() << "every rung of this type takes more shared memory than a block can have here";
    }
    constexpr GemmShape shape{33, 40, 24};
    constexpr std::size_t nan_row = 3;
    constexpr std::size_t infinite_row = 20;
    std::vector<T> host_a = on_device<T>(random_values(shape.m * shape.k, 1)).values();
    const auto b = on_device<T>(random_values(shape.k * shape.n, 2));
    host_a[nan_row * shape.k + 5] = T(std::bit_cast<float>(0x7FFFFFFFU));
    host_a[infinite_row * shape.k + 7] = T(-std::numeric_limits<float>::infinity());
    const DeviceArray<T> a = host_a;
    for (const Rung<T>& rung : rungs<T>()) {
      SCOPED_TRACE(rung.name);
      GuardedOutput<T> c(shape.m * shape.n);
      rung.launch(data(a), data(b), c.data(), shape, stream());
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

TEST_F(GemmTensorTest, WhatIsNotFiniteShowsInItsRow) {
  expect_what_is_not_finite_shows_in_its_row<__nv_bfloat16>();
  expect_what_is_not_finite_shows_in_its_row<__half>();
  expect_what_is_not_finite_shows_in_its_row<float>();
}

}  // namespace
}  // namespace warpgauge::kernels
