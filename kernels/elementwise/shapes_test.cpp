// SPDX-License-Identifier: Apache-2.0
// Launchers with more arrays or other indices than one in and one out: axpy, the chain of four
// kernels, strided and misaligned copies.
#include "kernels/elementwise/elementwise_test.hpp"

namespace warpgauge::kernels {
namespace {

template <class T>
class AxpyTest : public DeviceTest {
 protected:
  using Launcher = void (*)(Axpy, const T*, const T*, T*, std::size_t, cudaStream_t);

  /// Compares the results of launch, called directly and captured, with a x + y for every size.
  void expect_matches_formula(Launcher launch) const {
    for (const std::size_t n : elementwise_sizes) {
      SCOPED_TRACE(n);
      const Inputs inputs(n);
      GuardedOutput<T> direct(n);
      launch(op, inputs.x(), inputs.y(), direct.data(), n, stream());
      synchronize();
      inputs.expect_axpy(direct.values());
      if (n == 0) {
        continue;  // nothing is launched, so nothing is captured
      }
      GuardedOutput<T> replayed(n);
      capture_and_replay(stream(),
                         [&] { launch(op, inputs.x(), inputs.y(), replayed.data(), n, stream()); });
      inputs.expect_axpy(replayed.values());
    }
  }

  void expect_reference_is_exact() const {
    const Inputs inputs(4099);
    GuardedOutput<double> expected(4099);
    capture_and_replay(stream(), [&] {
      axpy_reference(op, inputs.x(), inputs.y(), expected.data(), 4099, stream());
    });
    EXPECT_EQ(expected.values(), inputs.results);  // exact in double
  }

 private:
  static constexpr Axpy op{-1.25F};

  struct Inputs {
    explicit Inputs(std::size_t n)
        : host_x(random_elements<T>(n, 1)),
          host_y(random_elements<T>(n, 2)),
          device_x(host_x),
          device_y(host_y) {
      for (std::size_t i = 0; i < n; ++i) {
        results.push_back(-1.25 * static_cast<double>(host_x[i]) + static_cast<double>(host_y[i]));
      }
    }
    /// Two roundings in float, of the product (at most 5) and of the sum, and one rounding to T.
    void expect_axpy(const std::vector<T>& got) const {
      expect_within(got, results, [](double result) {
        const double computed = half_ulp<float> * (5 + std::abs(result));
        const double stored = std::is_same_v<T, float> ? 0 : half_ulp<T>;
        return computed + stored * (std::abs(result) + computed);
      });
    }
    const T* x() const { return device_x.data(); }
    const T* y() const { return device_y.data(); }

    std::vector<T> host_x, host_y;
    DeviceArray<T> device_x, device_y;
    std::vector<double> results;
  };
};

using Types = ::testing::Types<float, __half, __nv_bfloat16>;
TYPED_TEST_SUITE(AxpyTest, Types);

TYPED_TEST(AxpyTest, ReferenceIsExact) {
  this->expect_reference_is_exact();
}

TYPED_TEST(AxpyTest, VectorMatchesFormula) {
  this->expect_matches_formula(axpy_vector<TypeParam>);
}

TYPED_TEST(AxpyTest, ScalarMatchesFormula) {
  this->expect_matches_formula(axpy_scalar<TypeParam>);
}

TYPED_TEST(AxpyTest, GridStrideMatchesFormula) {
  this->expect_matches_formula(axpy_grid_stride<TypeParam>);
}

TYPED_TEST(AxpyTest, ThrustMatchesFormula) {
  this->expect_matches_formula(axpy_thrust<TypeParam>);
}

TYPED_TEST(AxpyTest, CubMatchesFormula) {
  if (!cub_transforms()) {
    GTEST_SKIP() << "compiled without cub::DeviceTransform";
  }
  this->expect_matches_formula(axpy_cub<TypeParam>);
}

template <class T>
class ChainOfFourTest : public DeviceTest {
 protected:
  using Launcher = void (*)(const Chain&, const T*, T*, T*, std::size_t, cudaStream_t);

  /// Compares launch, captured, with the formula for every size: after three kernels and four.
  void expect_matches_formula(Launcher launch) const {
    for (const std::size_t n : elementwise_sizes) {
      SCOPED_TRACE(n);
      const auto host_in = random_elements<T>(n, 3);
      const DeviceArray<T> in(host_in);
      GuardedOutput<T> scratch(n);
      GuardedOutput<T> out(n);
      const auto run = [&] { launch(Chain{}, in.data(), scratch.data(), out.data(), n, stream()); };
      if (n == 0) {
        run();  // nothing is launched, so nothing is captured
      } else {
        capture_and_replay(stream(), run);
      }
      std::vector<double> products;
      std::vector<double> results;
      for (const T x : host_in) {
        products.push_back(0.75 * std::fmax(static_cast<double>(x) + 0.25, 0.0));
        results.push_back(products.back() - 0.5);
      }
      // Each step rounds to T: x + bias (which counts like a rounding of the product), the product,
      // the sum. 1.01 covers second-order terms and the earlier rounding of each step to float.
      const double rounding = 1.01 * half_ulp<T>;
      expect_within(scratch.values(), products,
                    [=](double product) { return rounding * 2 * product; });
      expect_within(out.values(), results, [=](double result) {
        return rounding * (2 * (result + 0.5) + std::abs(result));
      });
    }
  }
};
TYPED_TEST_SUITE(ChainOfFourTest, Types);

TYPED_TEST(ChainOfFourTest, VectorMatchesFormula) {
  this->expect_matches_formula(chain_of_four<TypeParam>);
}

TYPED_TEST(ChainOfFourTest, ThrustMatchesFormula) {
  this->expect_matches_formula(chain_of_four_thrust<TypeParam>);
}

TYPED_TEST(ChainOfFourTest, CubMatchesFormula) {
  if (!cub_transforms()) {
    GTEST_SKIP() << "compiled without cub::DeviceTransform";
  }
  this->expect_matches_formula(chain_of_four_cub<TypeParam>);
}

class AccessTest : public DeviceTest {
 protected:
  /// launch(in, out, n) must write element first + i * stride of the input to out[i].
  template <class T, class Launch>
  void expect_copies(std::size_t first, std::size_t stride, Launch launch) const {
    for (const std::size_t n : elementwise_sizes) {
      SCOPED_TRACE(n);
      const std::vector<float> host_in = random_values(first + n * stride, 4);
      const DeviceArray<float> in(host_in);
      GuardedOutput<T> out(n);
      const auto run = [&] { launch(in.data(), out.data(), n, stream()); };
      if (n == 0) {
        run();
      } else {
        capture_and_replay(stream(), run);
      }
      const std::vector<T> got = out.values();
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < n; ++i) {
        wrong += got[i] == T{host_in[first + i * stride]} ? 0 : 1;
      }
      EXPECT_EQ(wrong, 0U);
    }
  }
};

TEST_F(AccessTest, StridedCopiesEveryStrideth) {
  for (const std::size_t stride : {1, 2, 5}) {
    SCOPED_TRACE(stride);
    expect_copies<float>(0, stride, [=](const float* in, float* out, std::size_t n, auto stream) {
      copy_strided(in, out, n, stride, stream);
    });
    expect_copies<double>(0, stride, [=](const float* in, double* out, std::size_t n, auto stream) {
      copy_strided_reference(in, out, n, stride, stream);
    });
  }
}

TEST_F(AccessTest, MisalignedCopiesFromTheSecondOn) {
  expect_copies<float>(1, 1, copy_misaligned);
}

}  // namespace
}  // namespace warpgauge::kernels
