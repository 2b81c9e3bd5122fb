// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.hpp"

#include <cmath>

#include "kernels/device_test.cuh"

namespace warpgauge::kernels {
namespace {

// Around a vector, a warp, a block; many blocks; many blocks with a tail.
constexpr std::size_t sizes[] = {0, 1, 3, 4, 5, 31, 32, 33, 1023, 4096, 1000003};

// Written out again, not through the functors that the kernels use.
double formula(Copy, double x) {
  return x;
}
double formula(Square, double x) {
  return x * x;
}
double formula(Affine, double x) {
  return 2 * x + 3;
}

template <class Op>
class ElementwiseTest : public DeviceTest {
 protected:
  using Launcher = void (*)(const float*, float*, std::size_t, cudaStream_t);

  /// Expects out to be formula(in) rounded once: half a unit in the last place.
  static void expect_transformed(const std::vector<float>& in, const std::vector<double>& expected,
                                 const std::vector<float>& out) {
    constexpr double half_ulp = std::numeric_limits<float>::epsilon() / 2;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double error = std::abs(out[i] - expected[i]);
      if (!(error <= half_ulp * std::abs(expected[i])) && ++wrong == 1) {
        ADD_FAILURE() << "out[" << i << "] = " << out[i] << ", not " << expected[i] << ", of "
                      << in.size();
      }
    }
    EXPECT_EQ(wrong, 0U);
  }

  /// launch, on its own or captured, against transform_reference for every size.
  void expect_matches_reference(Launcher launch) const {
    for (const std::size_t n : sizes) {
      SCOPED_TRACE(n);
      const std::vector<float> host_in = random_values(n, static_cast<unsigned>(n));
      const thrust::device_vector<float> in(host_in);
      const float* const input = thrust::raw_pointer_cast(in.data());
      GuardedOutput<double> expected(n);
      GuardedOutput<float> direct(n);
      transform_reference<Op>(input, expected.data(), n, stream());
      launch(input, direct.data(), n, stream());
      synchronize();
      expect_transformed(host_in, expected.values(), direct.values());
      if (n == 0) {
        continue;  // nothing is launched, so nothing is captured
      }
      GuardedOutput<float> replayed(n);
      capture_and_replay(stream(), [&] { launch(input, replayed.data(), n, stream()); });
      expect_transformed(host_in, expected.values(), replayed.values());
    }
  }
};

using Ops = ::testing::Types<Copy, Square, Affine>;
TYPED_TEST_SUITE(ElementwiseTest, Ops);

TYPED_TEST(ElementwiseTest, ReferenceIsExactAgainstTheHost) {
  for (const std::size_t n : sizes) {
    SCOPED_TRACE(n);
    const std::vector<float> host_in = random_values(n, 7);
    const thrust::device_vector<float> in(host_in);
    GuardedOutput<double> expected(n);
    transform_reference<TypeParam>(thrust::raw_pointer_cast(in.data()), expected.data(), n,
                                   this->stream());
    this->synchronize();
    const std::vector<double> actual = expected.values();
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(actual[i], formula(TypeParam{}, host_in[i])) << i;
    }
  }
}

TYPED_TEST(ElementwiseTest, ReferenceCanBeCaptured) {
  const std::vector<float> host_in = random_values(33, 8);
  const thrust::device_vector<float> in(host_in);
  GuardedOutput<double> expected(host_in.size());
  capture_and_replay(this->stream(), [&] {
    transform_reference<TypeParam>(thrust::raw_pointer_cast(in.data()), expected.data(),
                                   host_in.size(), this->stream());
  });
  const std::vector<double> actual = expected.values();
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i], formula(TypeParam{}, host_in[i])) << i;
  }
}

TYPED_TEST(ElementwiseTest, ScalarMatchesReference) {
  this->expect_matches_reference(transform_scalar<TypeParam>);
}

TYPED_TEST(ElementwiseTest, Vec4MatchesReference) {
  this->expect_matches_reference(transform_vec4<TypeParam>);
}

TYPED_TEST(ElementwiseTest, ThrustMatchesReference) {
  this->expect_matches_reference(transform_thrust<TypeParam>);
}

}  // namespace
}  // namespace warpgauge::kernels
