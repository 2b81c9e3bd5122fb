// SPDX-License-Identifier: Apache-2.0
// Operations on floats, by every launcher that has them.
#include "kernels/elementwise/elementwise_test.hpp"

namespace warpgauge::kernels {
namespace {

template <class Op>
class ElementwiseTest : public TransformTest<Op, float, float> {};
using Ops = ::testing::Types<Copy, Scale, Square, Pow2, Affine, Chain, Gelu, GeluTanh>;
TYPED_TEST_SUITE(ElementwiseTest, Ops);

TYPED_TEST(ElementwiseTest, ReferenceMatchesFormula) {
  this->expect_reference_matches_formula();
}

TYPED_TEST(ElementwiseTest, VectorMatchesFormula) {
  this->expect_matches_formula(transform_vector<TypeParam>);
}

TYPED_TEST(ElementwiseTest, ScalarMatchesFormula) {
  this->expect_matches_formula(transform_scalar<TypeParam>);
}

TYPED_TEST(ElementwiseTest, GridStrideMatchesFormula) {
  this->expect_matches_formula(transform_grid_stride<TypeParam>);
}

TYPED_TEST(ElementwiseTest, ThrustMatchesFormula) {
  this->expect_matches_formula(transform_thrust<TypeParam>);
}

TYPED_TEST(ElementwiseTest, CubMatchesFormula) {
  if (!cub_transforms()) {
    GTEST_SKIP() << "compiled without cub::DeviceTransform";
  }
  this->expect_matches_formula(transform_cub<TypeParam>);
}

}  // namespace
}  // namespace warpgauge::kernels
