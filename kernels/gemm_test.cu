// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.hpp"

#include <cmath>
#include <stdexcept>

#include "kernels/device_test.cuh"

namespace warpgauge::kernels {
namespace {

// One element, edges on every side of a tile, whole tiles only, edges again behind many tiles.
constexpr GemmShape shapes[] = {{1, 1, 1},    {31, 1, 2},      {1, 33, 5},     {32, 32, 32},
                                {33, 17, 65}, {128, 128, 128}, {257, 129, 511}};

class GemmTest : public DeviceTest {
 protected:
  struct Inputs {
    explicit Inputs(GemmShape shape)
        : host_a(random_values(shape.m * shape.k, 1)),
          host_b(random_values(shape.k * shape.n, 2)),
          device_a(host_a),
          device_b(host_b) {}
    const float* a() const { return thrust::raw_pointer_cast(device_a.data()); }
    const float* b() const { return thrust::raw_pointer_cast(device_b.data()); }
    std::vector<float> host_a, host_b;
    thrust::device_vector<float> device_a, device_b;
  };

  static std::vector<double> multiply_on_host(const Inputs& inputs, GemmShape shape) {
    std::vector<double> c(shape.m * shape.n);
    for (std::size_t row = 0; row < shape.m; ++row) {
      for (std::size_t i = 0; i < shape.k; ++i) {
        for (std::size_t column = 0; column < shape.n; ++column) {
          c[row * shape.n + column] += static_cast<double>(inputs.host_a[row * shape.k + i]) *
                                       inputs.host_b[i * shape.n + column];
        }
      }
    }
    return c;
  }

  /// Expects |actual - expected| <= tolerance everywhere; names the first that is not.
  template <class T>
  static void expect_close(const std::vector<T>& actual, const std::vector<double>& expected,
                           double tolerance) {
    ASSERT_EQ(actual.size(), expected.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const double error = std::abs(actual[i] - expected[i]);
      if (!(error <= tolerance) && ++wrong == 1) {
        ADD_FAILURE() << "c[" << i << "] = " << actual[i] << ", not " << expected[i] << " within "
                      << tolerance;
      }
    }
    EXPECT_EQ(wrong, 0U);
  }

  /// 2 k units in the last place of 1. Rounding errors of signed terms add up like a random walk,
  /// to under 0.5 k here; one lost term is off by 0.25 or more, and TF32 by 1e-3, so both fail.
  static double tolerance(GemmShape shape) {
    return 2 * static_cast<double>(shape.k) * std::numeric_limits<float>::epsilon();
  }

  /// launch, on its own and captured, against gemm_reference for every shape.
  template <class Launcher>
  void expect_matches_reference(Launcher& launch) const {
    for (const GemmShape shape : shapes) {
      SCOPED_TRACE(::testing::Message() << shape.m << " x " << shape.n << " x " << shape.k);
      const std::size_t outputs = shape.m * shape.n;
      const Inputs inputs(shape);
      GuardedOutput<double> expected(outputs);
      GuardedOutput<float> direct(outputs);
      GuardedOutput<float> replayed(outputs);
      gemm_reference(inputs.a(), inputs.b(), expected.data(), shape, 0, outputs, stream());
      launch(inputs.a(), inputs.b(), direct.data(), shape, stream());
      synchronize();
      expect_close(direct.values(), expected.values(), tolerance(shape));
      capture_and_replay(stream(),
                         [&] { launch(inputs.a(), inputs.b(), replayed.data(), shape, stream()); });
      expect_close(replayed.values(), expected.values(), tolerance(shape));
    }
  }
};

TEST_F(GemmTest, ReferenceMatchesTheHost) {
  for (const GemmShape shape : shapes) {
    SCOPED_TRACE(::testing::Message() << shape.m << " x " << shape.n << " x " << shape.k);
    const Inputs inputs(shape);
    GuardedOutput<double> expected(shape.m * shape.n);
    capture_and_replay(stream(), [&] {
      gemm_reference(inputs.a(), inputs.b(), expected.data(), shape, 0, shape.m * shape.n,
                     stream());
    });
    expect_close(expected.values(), multiply_on_host(inputs, shape),
                 2 * static_cast<double>(shape.k) * std::numeric_limits<double>::epsilon());
  }
}

TEST_F(GemmTest, ReferenceOfAPartIsThatPartOfTheWhole) {
  constexpr GemmShape shape{33, 17, 65};
  constexpr std::size_t first = 16;  // the last column of row 0, so that the part crosses rows
  constexpr std::size_t count = 40;
  const Inputs inputs(shape);
  GuardedOutput<double> part(count);
  gemm_reference(inputs.a(), inputs.b(), part.data(), shape, first, count, stream());
  synchronize();
  const std::vector<double> whole = multiply_on_host(inputs, shape);
  const std::vector<double> expected(whole.begin() + first, whole.begin() + first + count);
  expect_close(part.values(), expected, 1e-12);
}

TEST_F(GemmTest, NaiveMatchesReference) {
  expect_matches_reference(gemm_naive);
}

TEST_F(GemmTest, TiledMatchesReference) {
  expect_matches_reference(gemm_tiled);
}

TEST_F(GemmTest, CublasMatchesReference) {
  CublasGemm gemm;
  expect_matches_reference(gemm);
}

TEST_F(GemmTest, CublasWorksAfterAMove) {
  CublasGemm first;
  CublasGemm second = std::move(first);
  expect_matches_reference(second);
}

TEST_F(GemmTest, CublasTellsItsVersion) {
  EXPECT_EQ(cublas_version().find("1"), 0U) << cublas_version();
}

TEST_F(GemmTest, CublasRefusesWhatItsIntCannotCount) {
  const thrust::device_vector<float> in(1);
  GuardedOutput<float> out(1);
  const float* const input = thrust::raw_pointer_cast(in.data());
  const GemmShape shape{std::size_t{1} << 31, 1, 1};
  CublasGemm gemm;
  EXPECT_THROW(gemm(input, input, out.data(), shape, stream()), std::invalid_argument);
}

TEST_F(GemmTest, CublasRefusesBadPointersAndNoTerms) {
  const thrust::device_vector<float> in(1);
  GuardedOutput<float> out(1);
  const float* const input = thrust::raw_pointer_cast(in.data());
  CublasGemm gemm;
  EXPECT_THROW(gemm(nullptr, input, out.data(), {1, 1, 1}, stream()), std::invalid_argument);
  EXPECT_THROW(gemm(input, nullptr, out.data(), {1, 1, 1}, stream()), std::invalid_argument);
  EXPECT_THROW(gemm(input, input, nullptr, {1, 1, 1}, stream()), std::invalid_argument);
  EXPECT_THROW(gemm(input, input, out.data(), {1, 1, 0}, stream()), std::invalid_argument);
  EXPECT_NO_THROW(gemm(nullptr, nullptr, nullptr, {0, 1, 1}, stream()));
}

}  // namespace
}  // namespace warpgauge::kernels
