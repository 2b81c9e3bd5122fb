// SPDX-License-Identifier: Apache-2.0
// Products of scaled 8-bit floats, compared with the reference in double precision, and the
// reference with a sum on the host.
#include <cmath>
#include <random>
#include <stdexcept>

#include "kernels/device_test.hpp"
#include "kernels/gemm/cublaslt.hpp"
#include "kernels/quantized/scaled.hpp"

namespace warpgauge::kernels {
namespace {

using E4m3 = __nv_fp8_e4m3;
using Bf16 = __nv_bfloat16;

/// Powers of two from 1/2 to 4, so that products with integers stay exact.
std::vector<float> powers_of_two(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(n);
  for (float& value : values) {
    value = std::ldexp(1.0F, static_cast<int>(generator() % 4) - 1);
  }
  return values;
}

/// Inputs of a product: integers up to 8 and scales that are powers of two. Sums of 128 terms are
/// very probably below 2^12, which the tensor cores keep, and all sums below 2^24 quarters.
struct Inputs {
  explicit Inputs(GemmShape of)
      : shape(of),
        a(small_integers<E4m3>(of.m * of.k, 1)),
        b(small_integers<E4m3>(of.n * of.k, 2)),
        a_scales(powers_of_two(of.m * scale_blocks(of.k), 3)),
        b_scales(powers_of_two(scale_blocks(of.n) * scale_blocks(of.k), 4)) {}

  ScaledRows rows() const { return {a.data(), a_scales.data()}; }
  ScaledTiles tiles() const { return {b.data(), b_scales.data()}; }

  GemmShape shape;
  DeviceArray<E4m3> a, b;
  DeviceArray<float> a_scales, b_scales;
};

class ScaledGemmTest : public DeviceTest {
 protected:
  std::vector<double> reference(const Inputs& inputs, std::size_t first, std::size_t count) {
    GuardedOutput<double> expected(count);
    scaled_gemm_reference(inputs.rows(), inputs.tiles(), expected.data(), inputs.shape, first,
                          count, stream());
    synchronize();
    return expected.values();
  }

  /// Launched and captured, a rung gives each result of the reference rounded to bf16.
  void expect_exact(const ScaledRung& rung, const Inputs& inputs) {
    const GemmShape shape = inputs.shape;
    SCOPED_TRACE(::testing::Message()
                 << rung.name << " " << shape.m << " x " << shape.n << " x " << shape.k);
    const std::size_t outputs = shape.m * shape.n;
    expect_rounded<Bf16>(stream(), reference(inputs, 0, outputs), [&](Bf16* c) {
      rung.launch(inputs.rows(), inputs.tiles(), c, shape, stream());
    });
  }
};

TEST_F(ScaledGemmTest, ReferenceIsTheSumOnTheHost) {
  constexpr GemmShape shape{3, 136, 272};
  const std::size_t k_blocks = scale_blocks(shape.k);
  const Inputs inputs(shape);
  const auto a = small_integers<E4m3>(shape.m * shape.k, 1);
  const auto b = small_integers<E4m3>(shape.n * shape.k, 2);
  const auto a_scales = powers_of_two(shape.m * k_blocks, 3);
  const auto b_scales = powers_of_two(scale_blocks(shape.n) * k_blocks, 4);
  std::vector<double> expected(shape.m * shape.n);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::size_t row = i / shape.n;
    const std::size_t column = i % shape.n;
    for (std::size_t k = 0; k < shape.k; ++k) {
      const auto scale = double{a_scales[k / 128 * shape.m + row]} *
                         double{b_scales[column / 128 * k_blocks + k / 128]};
      expected[i] += static_cast<double>(a[row * shape.k + k]) *
                     static_cast<double>(b[column * shape.k + k]) * scale;
    }
  }
  expect_same(reference(inputs, 0, expected.size()), expected);
  const std::vector<double> window(expected.begin() + 100, expected.begin() + 300);
  expect_same(reference(inputs, 100, 200), window);
}

TEST_F(ScaledGemmTest, NaiveIsExactForSmallIntegers) {
  for (const GemmShape shape : {GemmShape{1, 8, 16}, {33, 136, 400}}) {
    expect_exact({"scaled_gemm_naive", scaled_gemm_naive}, Inputs(shape));
  }
}

// The smallest shape; edges inside a box, a tile, a block of scales and a stage; terms that wrap
// around the ring and end in its middle; more than two tiles per multiprocessor; clusters with
// blocks outside the matrix.
TEST_F(ScaledGemmTest, WgmmaRungsAreExactForSmallIntegers) {
  if (!has_wgmma()) {
    GTEST_SKIP() << "wgmma needs compute capability 9.0";
  }
  for (const GemmShape shape : {GemmShape{1, 8, 16},
                                {128, 256, 128},
                                {65, 136, 48},
                                {257, 520, 784},
                                {17, 264, 1168},
                                {3080, 1288, 144}}) {
    const Inputs inputs(shape);
    for (const ScaledRung& rung : scaled_wgmma_ladder) {
      expect_exact(rung, inputs);
    }
  }
}

TEST_F(ScaledGemmTest, CublasLtTakesTheSameScales) {
  if (!has_wgmma()) {
    GTEST_SKIP() << "these scales need compute capability 9.0";
  }
  constexpr GemmShape shape{136, 272, 1024};
  const Inputs inputs(shape);
  CublasLtGemm<E4m3, Bf16> gemm(shape, GemmB::transposed, LtChoice::first, Fp8Sums::fp32_scaled);
  const std::vector<double> expected = reference(inputs, 0, shape.m * shape.n);
  GuardedOutput<Bf16> c(expected.size());
  gemm(inputs.a.data(), inputs.a_scales.data(), inputs.b.data(), inputs.b_scales.data(), c.data(),
       stream());
  synchronize();
  expect_within(c.values(), expected, [](double value) { return 8 + 0x1p-8 * std::abs(value); });
}

TEST_F(ScaledGemmTest, CublasLtRefusesScalesThatItWouldPad) {
  EXPECT_THROW((CublasLtGemm<E4m3, Bf16>({16, 16, 128}, GemmB::transposed, LtChoice::first,
                                         Fp8Sums::fp32_scaled)),
               std::invalid_argument);
}

}  // namespace
}  // namespace warpgauge::kernels
