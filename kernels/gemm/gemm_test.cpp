// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm.hpp"

#include <cmath>
#include <stdexcept>

#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

// One element; edges on every side of a tile; whole tiles only; edges again after many tiles.
constexpr GemmShape shapes[] = {{1, 1, 1},    {31, 1, 2},      {1, 33, 5},     {32, 32, 32},
                                {33, 17, 65}, {128, 128, 128}, {257, 129, 511}};

class GemmTest : public DeviceTest {
 protected:
  template <class T>
  struct Inputs {
    explicit Inputs(GemmShape shape)
        : host_a(random_values_as<T>(shape.m * shape.k, 1)),
          host_b(random_values_as<T>(shape.k * shape.n, 2)),
          device_a(host_a),
          device_b(host_b) {}
    const T* a() const { return device_a.data(); }
    const T* b() const { return device_b.data(); }
    std::vector<T> host_a, host_b;
    DeviceArray<T> device_a, device_b;
  };

  template <class T>
  static std::vector<double> multiply_on_host(const Inputs<T>& inputs, GemmShape shape) {
    std::vector<double> c(shape.m * shape.n);
    for (std::size_t row = 0; row < shape.m; ++row) {
      for (std::size_t i = 0; i < shape.k; ++i) {
        for (std::size_t column = 0; column < shape.n; ++column) {
          c[row * shape.n + column] += static_cast<double>(inputs.host_a[row * shape.k + i]) *
                                       static_cast<double>(inputs.host_b[i * shape.n + column]);
        }
      }
    }
    return c;
  }

  /// Expects |actual - expected| <= absolute + relative |expected| everywhere; names the first
  /// element that fails.
  template <class T>
  static void expect_close(const std::vector<T>& actual, const std::vector<double>& expected,
                           double absolute, double relative = 0) {
    ASSERT_EQ(actual.size(), expected.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const double tolerance = absolute + relative * std::abs(expected[i]);
      const double value = static_cast<double>(actual[i]);
      if (!(std::abs(value - expected[i]) <= tolerance) && ++wrong == 1) {
        ADD_FAILURE() << "c[" << i << "] = " << value << ", not " << expected[i] << " within "
                      << tolerance;
      }
    }
    EXPECT_EQ(wrong, 0U);
  }

  /// 2 k units in the last place of 1 in fp32. Rounding errors of signed terms add up like a random
  /// walk, to less than 0.5 k here; tensor cores truncate instead of rounding, once for several
  /// terms. A lost term is off by 0.25 or more, and TF32 by 1e-3, so both fail.
  static double sum_tolerance(GemmShape shape) {
    return 2 * static_cast<double>(shape.k) * std::numeric_limits<float>::epsilon();
  }

  /// The relative error of storing the sum. A float stores it as it is. A bf16 has 8 bits of
  /// significand and rounds by at most half a unit in the last, 2^-8 of the value: 0.05 at the
  /// usual |c| = sqrt(k / 3) <= 13. A lost term still exceeds that, and so do sums kept in bf16.
  template <class T>
  static constexpr double storing_tolerance() {
    return std::is_same_v<T, float> ? 0 : 0x1p-8;
  }

  /// Compares launch, called directly and captured, with gemm_reference for every shape.
  template <class T, class Launcher>
  void expect_matches_reference(Launcher& launch) const {
    for (const GemmShape shape : shapes) {
      SCOPED_TRACE(::testing::Message() << shape.m << " x " << shape.n << " x " << shape.k);
      const std::size_t outputs = shape.m * shape.n;
      const Inputs<T> inputs(shape);
      GuardedOutput<double> expected(outputs);
      GuardedOutput<T> direct(outputs);
      GuardedOutput<T> replayed(outputs);
      gemm_reference(inputs.a(), inputs.b(), expected.data(), shape, 0, outputs, stream());
      launch(inputs.a(), inputs.b(), direct.data(), shape, stream());
      synchronize();
      expect_close(direct.values(), expected.values(), sum_tolerance(shape),
                   storing_tolerance<T>());
      capture_and_replay(stream(),
                         [&] { launch(inputs.a(), inputs.b(), replayed.data(), shape, stream()); });
      expect_close(replayed.values(), expected.values(), sum_tolerance(shape),
                   storing_tolerance<T>());
    }
  }

  template <class T>
  void expect_reference_matches_the_host() const {
    for (const GemmShape shape : shapes) {
      SCOPED_TRACE(::testing::Message() << shape.m << " x " << shape.n << " x " << shape.k);
      const Inputs<T> inputs(shape);
      GuardedOutput<double> expected(shape.m * shape.n);
      capture_and_replay(stream(), [&] {
        gemm_reference(inputs.a(), inputs.b(), expected.data(), shape, 0, shape.m * shape.n,
                       stream());
      });
      expect_close(expected.values(), multiply_on_host(inputs, shape),
                   2 * static_cast<double>(shape.k) * std::numeric_limits<double>::epsilon());
    }
  }

  template <class T>
  void expect_cublas_refuses_bad_arguments() const {
    const DeviceArray<T> in(std::vector<T>(2));
    GuardedOutput<T> out(1);
    const T* const input = in.data();
    const T* const none = nullptr;
    const T* const between =
        reinterpret_cast<const T*>(reinterpret_cast<const char*>(input) + sizeof(T) / 2);
    T* const no_output = nullptr;
    CublasGemm gemm;
    EXPECT_THROW(gemm(none, input, out.data(), {1, 1, 1}, stream()), std::invalid_argument);
    EXPECT_THROW(gemm(input, none, out.data(), {1, 1, 1}, stream()), std::invalid_argument);
    EXPECT_THROW(gemm(input, input, no_output, {1, 1, 1}, stream()), std::invalid_argument);
    EXPECT_THROW(gemm(between, input, out.data(), {1, 1, 1}, stream()), std::invalid_argument);
    EXPECT_THROW(gemm(input, input, out.data(), {1, 1, 0}, stream()), std::invalid_argument);
    EXPECT_NO_THROW(gemm(none, none, no_output, {0, 1, 1}, stream()));
    constexpr GemmShape past_int{std::size_t{1} << 31, 1, 1};
    EXPECT_THROW(gemm(input, input, out.data(), past_int, stream()), std::invalid_argument);
  }
};

TEST_F(GemmTest, ReferenceMatchesTheHost) {
  expect_reference_matches_the_host<float>();
}

TEST_F(GemmTest, ReferenceOfBf16MatchesTheHost) {
  expect_reference_matches_the_host<__nv_bfloat16>();
}

TEST_F(GemmTest, ReferenceOfAWindowIsThatWindowOfTheWhole) {
  constexpr GemmShape shape{33, 17, 65};
  constexpr std::size_t first = 16;  // the last column of row 0, so that the window crosses rows
  constexpr std::size_t count = 40;
  const Inputs<float> inputs(shape);
  GuardedOutput<double> window(count);
  gemm_reference(inputs.a(), inputs.b(), window.data(), shape, first, count, stream());
  synchronize();
  const std::vector<double> whole = multiply_on_host(inputs, shape);
  const std::vector<double> expected(whole.begin() + first, whole.begin() + first + count);
  expect_close(window.values(), expected, 1e-12);
}

TEST_F(GemmTest, NaiveMatchesReference) {
  expect_matches_reference<float>(gemm_naive);
}

TEST_F(GemmTest, TiledMatchesReference) {
  expect_matches_reference<float>(gemm_tiled);
}

TEST_F(GemmTest, CublasMatchesReference) {
  CublasGemm gemm;
  expect_matches_reference<float>(gemm);
}

TEST_F(GemmTest, CublasOfBf16MatchesReference) {
  CublasGemm gemm;
  expect_matches_reference<__nv_bfloat16>(gemm);
}

TEST_F(GemmTest, CublasWorksAfterAMoveAndWithBothTypes) {
  CublasGemm first;
  CublasGemm second = std::move(first);
  expect_matches_reference<__nv_bfloat16>(second);
  expect_matches_reference<float>(second);
}

TEST_F(GemmTest, CublasHasAVersion) {
  EXPECT_EQ(cublas_version().find("1"), 0U) << cublas_version();
}

TEST_F(GemmTest, CublasRefusesBadArguments) {
  expect_cublas_refuses_bad_arguments<float>();
}

TEST_F(GemmTest, CublasOfBf16RefusesBadArguments) {
  expect_cublas_refuses_bad_arguments<__nv_bfloat16>();
}

}  // namespace
}  // namespace warpgauge::kernels
