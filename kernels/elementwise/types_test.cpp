// SPDX-License-Identifier: Apache-2.0
// Elements of 16 bits, and conversions from and to them.
#include "kernels/elementwise/elementwise_test.hpp"

namespace warpgauge::kernels {
namespace {

template <class Op, class T>
struct Of {};

template <class OpOfType>
class ElementwiseNarrowTest;
template <class O, class T>
class ElementwiseNarrowTest<Of<O, T>> : public TransformTest<O, T, T> {
 public:
  using Op = O;
  using Element = T;
};
using Narrow = ::testing::Types<
    Of<Copy, __half>, Of<Copy, __nv_bfloat16>, Of<Scale, __half>, Of<Scale, __nv_bfloat16>,
    Of<Square, __half>, Of<Square, __nv_bfloat16>, Of<Pow2, __half>, Of<Pow2, __nv_bfloat16>,
    Of<Affine, __half>, Of<Affine, __nv_bfloat16>, Of<Chain, __half>, Of<Chain, __nv_bfloat16>,
    Of<Gelu, __half>, Of<Gelu, __nv_bfloat16>, Of<GeluTanh, __half>, Of<GeluTanh, __nv_bfloat16>>;
TYPED_TEST_SUITE(ElementwiseNarrowTest, Narrow);

TYPED_TEST(ElementwiseNarrowTest, ReferenceMatchesFormula) {
  this->expect_reference_matches_formula();
}

TYPED_TEST(ElementwiseNarrowTest, VectorMatchesFormula) {
  this->expect_matches_formula(
      transform_vector<typename TestFixture::Op, typename TestFixture::Element>);
}

TYPED_TEST(ElementwiseNarrowTest, ScalarMatchesFormula) {
  this->expect_matches_formula(
      transform_scalar<typename TestFixture::Op, typename TestFixture::Element>);
}

TYPED_TEST(ElementwiseNarrowTest, GridStrideMatchesFormula) {
  this->expect_matches_formula(
      transform_grid_stride<typename TestFixture::Op, typename TestFixture::Element>);
}

TYPED_TEST(ElementwiseNarrowTest, ThrustMatchesFormula) {
  this->expect_matches_formula(
      transform_thrust<typename TestFixture::Op, typename TestFixture::Element>);
}

TYPED_TEST(ElementwiseNarrowTest, CubMatchesFormula) {
  if (!cub_transforms()) {
    GTEST_SKIP() << "compiled without cub::DeviceTransform";
  }
  this->expect_matches_formula(
      transform_cub<typename TestFixture::Op, typename TestFixture::Element>);
}

using Types = ::testing::Types<__half, __nv_bfloat16>;

template <class T>
class ElementwiseNarrowingTest : public TransformTest<Copy, float, T> {};
TYPED_TEST_SUITE(ElementwiseNarrowingTest, Types);

TYPED_TEST(ElementwiseNarrowingTest, VectorRoundsToNearest) {
  this->expect_matches_formula(transform_vector<Copy, float, TypeParam>);
}

TYPED_TEST(ElementwiseNarrowingTest, ThrustRoundsToNearest) {
  this->expect_matches_formula(transform_thrust<Copy, float, TypeParam>);
}

TYPED_TEST(ElementwiseNarrowingTest, CubRoundsToNearest) {
  if (!cub_transforms()) {
    GTEST_SKIP() << "compiled without cub::DeviceTransform";
  }
  this->expect_matches_formula(transform_cub<Copy, float, TypeParam>);
}

template <class T>
class ElementwiseWideningTest : public TransformTest<Copy, T, float> {};
TYPED_TEST_SUITE(ElementwiseWideningTest, Types);

TYPED_TEST(ElementwiseWideningTest, VectorIsExact) {
  this->expect_matches_formula(transform_vector<Copy, TypeParam, float>);
}

TYPED_TEST(ElementwiseWideningTest, ThrustIsExact) {
  this->expect_matches_formula(transform_thrust<Copy, TypeParam, float>);
}

TYPED_TEST(ElementwiseWideningTest, CubIsExact) {
  if (!cub_transforms()) {
    GTEST_SKIP() << "compiled without cub::DeviceTransform";
  }
  this->expect_matches_formula(transform_cub<Copy, TypeParam, float>);
}

TYPED_TEST(ElementwiseWideningTest, ReferenceIsExact) {
  this->expect_reference_matches_formula();
}

}  // namespace
}  // namespace warpgauge::kernels
