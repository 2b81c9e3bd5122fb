// SPDX-License-Identifier: Apache-2.0
// Products with 4-bit weights, compared with the reference in double precision, and the reference
// with a sum on the host.
#include <random>

#include "kernels/device_test.hpp"
#include "kernels/quantized/int4.hpp"

namespace warpgauge::kernels {
namespace {

using Bf16 = __nv_bfloat16;

/// A product's inputs: integers up to 8, any weights, and scales that are powers of two, so that
/// all sums are exact in fp32.
struct Inputs {
  explicit Inputs(GemmShape of)
      : shape(of),
        host_a(small_integers<Bf16>(of.m * of.k, 1)),
        host_words(of.n * of.k / 8),
        host_scales(of.n * of.k / int4_group) {
    std::mt19937 generator(2);
    for (std::uint32_t& word : host_words) {
      word = static_cast<std::uint32_t>(generator());
    }
    for (Bf16& scale : host_scales) {
      scale = static_cast<Bf16>(std::ldexp(1.0F, static_cast<int>(generator() % 4) - 2));
    }
    a.emplace(host_a);
    words.emplace(host_words);
    scales.emplace(host_scales);
  }

  Int4Weights weights() const { return {words->data(), scales->data()}; }

  GemmShape shape;
  std::vector<Bf16> host_a;
  std::vector<std::uint32_t> host_words;
  std::vector<Bf16> host_scales;
  std::optional<DeviceArray<Bf16>> a;
  std::optional<DeviceArray<std::uint32_t>> words;
  std::optional<DeviceArray<Bf16>> scales;
};

class Int4GemmTest : public DeviceTest {
 protected:
  std::vector<double> reference(const Inputs& inputs, std::size_t first, std::size_t count) {
    GuardedOutput<double> expected(count);
    int4_gemm_reference(inputs.a->data(), inputs.weights(), expected.data(), inputs.shape, first,
                        count, stream());
    synchronize();
    return expected.values();
  }

  template <class Launch>
  void expect_exact(GemmShape shape, const Launch& launch) {
    SCOPED_TRACE(::testing::Message() << shape.m << " x " << shape.n << " x " << shape.k);
    const Inputs inputs(shape);
    const std::size_t outputs = shape.m * shape.n;
    expect_rounded<Bf16>(stream(), reference(inputs, 0, outputs), [&](Bf16* c) {
      launch(inputs.a->data(), inputs.weights(), c, shape, stream());
    });
  }
};

TEST_F(Int4GemmTest, ReferenceIsTheSumOnTheHost) {
  constexpr GemmShape shape{3, 32, 256};
  const Inputs inputs(shape);
  std::vector<double> expected(shape.m * shape.n);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::size_t row = i / shape.n;
    const std::size_t column = i % shape.n;
    for (std::size_t k = 0; k < shape.k; ++k) {
      const Int4Place place = int4_place(k, column, shape.k);
      const auto q = static_cast<int>(inputs.host_words[place.word] >> place.shift & 15U) - 8;
      expected[i] += static_cast<double>(inputs.host_a[row * shape.k + k]) * q *
                     static_cast<double>(inputs.host_scales[k / int4_group * shape.n + column]);
    }
  }
  expect_same(reference(inputs, 0, expected.size()), expected);
  const std::vector<double> window(expected.begin() + 17, expected.begin() + 70);
  expect_same(reference(inputs, 17, window.size()), window);
}

// Every weight has a place of its own.
TEST_F(Int4GemmTest, PlacesAreDistinct) {
  constexpr std::size_t n = 32;
  constexpr std::size_t k = 256;
  std::vector<int> used(n * k);
  for (std::size_t column = 0; column < n; ++column) {
    for (std::size_t term = 0; term < k; ++term) {
      const Int4Place place = int4_place(term, column, k);
      ASSERT_LT(place.word * 8 + place.shift / 4, used.size());
      EXPECT_EQ(used[place.word * 8 + place.shift / 4]++, 0);
    }
  }
}

TEST_F(Int4GemmTest, NaiveIsExactForSmallIntegers) {
  expect_exact({1, 16, 128}, int4_gemm_naive);
  expect_exact({33, 48, 256}, int4_gemm_naive);
}

// One group; pieces that do not fill a block; groups that do not fill the warps, and several rounds
// of them with a part of the last; each number of rows that chooses another tile, full and not.
TEST_F(Int4GemmTest, MmaIsExactForSmallIntegers) {
  for (const std::size_t m : {1U, 3U, 4U, 5U, 8U, 9U, 13U, 16U}) {
    for (const GemmShape shape : {GemmShape{m, 16, 128}, {m, 48, 640}, {m, 80, 5504}}) {
      expect_exact(shape, int4_gemm_mma);
    }
  }
}

}  // namespace
}  // namespace warpgauge::kernels
