// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce/rows_test.hpp"

namespace warpgauge::kernels {
namespace {

using Types = ::testing::Types<float, __nv_bfloat16>;
TYPED_TEST_SUITE(RowsTest, Types);

TYPED_TEST(RowsTest, ReferencesMatchTheHost) {
  const auto softmax_whole = [](auto* in, double* out, RowsShape shape, cudaStream_t stream) {
    softmax_reference(in, out, shape, 0, shape.rows * shape.columns, stream);
  };
  const auto layer_norm_whole = [](auto* in, auto* gamma, auto* beta, double* out, RowsShape shape,
                                   float by, cudaStream_t stream) {
    layer_norm_reference(in, gamma, beta, out, shape, by, 0, shape.rows * shape.columns, stream);
  };
  for (const RowsShape shape : any_shapes) {
    const auto values = random_values(shape.rows * shape.columns, 1);
    // Double errs by 2^-53, not by float's u.
    this->template expect_rows<double>(shape, values, this->softmax_of(softmax_whole),
                                       this->softmax_on_host, {1e-12, 0});
    this->template expect_rows<double>(shape, values, this->layer_norm_of(layer_norm_whole),
                                       this->layer_norm_on_host, {1e-11, 0});
  }
}

TYPED_TEST(RowsTest, ReferencesOfAWindowAreThatWindowOfTheWhole) {
  constexpr RowsShape shape{5, 33};
  constexpr std::size_t first = 32;  // the last column of row 0
  constexpr std::size_t count = 68;  // up to the first of row 3
  const typename TestFixture::Row in(random_values(shape.rows * shape.columns, 2));
  const typename TestFixture::Row ones(std::vector<float>(shape.columns, 1));
  GuardedOutput<double> whole(shape.rows * shape.columns);
  GuardedOutput<double> window(count);
  const auto expect_window = [&] {
    this->synchronize();
    const std::vector<double> all = whole.values();
    EXPECT_EQ(window.values(),
              std::vector<double>(all.begin() + first, all.begin() + first + count));
  };
  softmax_reference(in.data(), whole.data(), shape, 0, shape.rows * shape.columns, this->stream());
  softmax_reference(in.data(), window.data(), shape, first, count, this->stream());
  expect_window();
  const auto norm = [&](double* out, std::size_t from, std::size_t n) {
    layer_norm_reference(in.data(), ones.data(), ones.data(), out, shape, epsilon, from, n,
                         this->stream());
  };
  norm(whole.data(), 0, shape.rows * shape.columns);
  norm(window.data(), first, count);
  expect_window();
}

TYPED_TEST(RowsTest, SoftmaxMatchesTheHost) {
  for (const RowsShape shape : held_shapes<TypeParam>()) {
    this->expect_rows(shape, random_values(shape.rows * shape.columns, 4),
                      this->softmax_of(softmax<TypeParam>), this->softmax_on_host,
                      this->of_softmax);
    this->expect_even_shares(shape, softmax<TypeParam>);
    this->expect_few_share(shape.columns, softmax<TypeParam>);
    this->expect_no_overflow(shape, softmax<TypeParam>);
  }
}

TYPED_TEST(RowsTest, OnlineSoftmaxMatchesTheHost) {
  for (const RowsShape shape : any_shapes) {
    this->expect_rows(shape, random_values(shape.rows * shape.columns, 5),
                      this->softmax_of(softmax_online<TypeParam>), this->softmax_on_host,
                      this->of_softmax);
    this->expect_even_shares(shape, softmax_online<TypeParam>);
    this->expect_few_share(shape.columns, softmax_online<TypeParam>);
    this->expect_no_overflow(shape, softmax_online<TypeParam>);
  }
}

TYPED_TEST(RowsTest, SoftmaxOfExtremes) {
  this->expect_softmax_of_extremes(softmax<TypeParam>);
}

TYPED_TEST(RowsTest, OnlineSoftmaxOfExtremes) {
  this->expect_softmax_of_extremes(softmax_online<TypeParam>);
}

TYPED_TEST(RowsTest, LayerNormMatchesTheHost) {
  for (const RowsShape shape : held_shapes<TypeParam>()) {
    this->expect_rows(shape, random_values(shape.rows * shape.columns, 6),
                      this->layer_norm_of(layer_norm<TypeParam>), this->layer_norm_on_host,
                      this->of_layer_norm);
    this->expect_exact_moments(shape, layer_norm<TypeParam>);
    this->expect_few_apart(shape.columns, layer_norm<TypeParam>);
    this->expect_beta_of_constant_rows(shape, layer_norm<TypeParam>);
  }
}

TYPED_TEST(RowsTest, OnlineLayerNormMatchesTheHost) {
  for (const RowsShape shape : any_shapes) {
    this->expect_rows(shape, random_values(shape.rows * shape.columns, 7),
                      this->layer_norm_of(layer_norm_online<TypeParam>), this->layer_norm_on_host,
                      this->of_layer_norm);
    this->expect_few_apart(shape.columns, layer_norm_online<TypeParam>);
    this->expect_beta_of_constant_rows(shape, layer_norm_online<TypeParam>);
  }
}

}  // namespace
}  // namespace warpgauge::kernels
