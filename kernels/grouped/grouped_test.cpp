// SPDX-License-Identifier: Apache-2.0
// Grouped products, compared with the reference in double precision, and the reference with a sum
// on the host.
#include <numeric>

#include "kernels/device_test.hpp"
#include "kernels/grouped/cublas.hpp"
#include "kernels/grouped/grouped.hpp"

namespace warpgauge::kernels {
namespace {

using Bf16 = __nv_bfloat16;
using E4m3 = __nv_fp8_e4m3;

std::vector<std::int32_t> offsets_of(const std::vector<std::int32_t>& sizes) {
  std::vector<std::int32_t> offsets(sizes.size() + 1);
  std::partial_sum(sizes.begin(), sizes.end(), offsets.begin() + 1);
  return offsets;
}

/// Factors of experts' results: powers of two, which keep them exact.
std::vector<float> scales_of(std::size_t experts) {
  std::vector<float> scales(experts);
  for (std::size_t i = 0; i < experts; ++i) {
    scales[i] = static_cast<float>(1U << i % 3);
  }
  return scales;
}

/// Inputs of a product of experts with `sizes` rows: integers up to 8. Sums are very probably below
/// 2^12, which the tensor cores keep.
template <class T>
struct Inputs {
  Inputs(const std::vector<std::int32_t>& sizes, std::size_t n, std::size_t k)
      : host_offsets(offsets_of(sizes)),
        shape{static_cast<std::size_t>(host_offsets.back()), n, k, sizes.size()},
        a(small_integers<T>(shape.rows * k, 1)),
        b(small_integers<T>(shape.experts * k * n, 2)),
        offsets(host_offsets),
        scales(scales_of(shape.experts)) {}

  GroupedInputs<T> get() const { return {a.data(), b.data(), offsets.data(), scales.data()}; }

  std::vector<std::int32_t> host_offsets;
  GroupedShape shape;
  DeviceArray<T> a, b;
  DeviceArray<std::int32_t> offsets;
  DeviceArray<float> scales;
};

class GroupedGemmTest : public DeviceTest {
 protected:
  template <class T>
  std::vector<double> reference(const Inputs<T>& inputs, std::size_t first, std::size_t count) {
    GuardedOutput<double> expected(count);
    grouped_gemm_reference(inputs.get(), expected.data(), inputs.shape, first, count, stream());
    synchronize();
    return expected.values();
  }

  /// Launched and captured, launch(inputs, c, shape, stream) gives each result of the reference
  /// rounded to bf16.
  template <class T, class Launch>
  void expect_exact(const Inputs<T>& inputs, const Launch& launch) {
    const GroupedShape shape = inputs.shape;
    SCOPED_TRACE(::testing::Message() << shape.experts << " experts, " << shape.rows << " x "
                                      << shape.n << " x " << shape.k);
    const std::size_t outputs = shape.rows * shape.n;
    expect_rounded<Bf16>(stream(), reference(inputs, 0, outputs),
                         [&](Bf16* c) { launch(inputs.get(), c, shape, stream()); });
  }

  template <class T>
  void expect_reference_is_the_sum_on_the_host() {
    const std::vector<std::int32_t> sizes{2, 0, 3};
    constexpr std::size_t n = 8;
    constexpr std::size_t k = 64;
    const Inputs<T> inputs(sizes, n, k);
    const auto a = small_integers<T>(5 * k, 1);
    const auto b = small_integers<T>(3 * k * n, 2);
    constexpr bool row_major = sizeof(T) == 2;
    std::vector<double> expected(5 * n);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::size_t row = i / n;
      const std::size_t column = i % n;
      const std::size_t expert = row < 2 ? 0 : 2;
      for (std::size_t term = 0; term < k; ++term) {
        const std::size_t in_b = row_major ? term * n + column : column * k + term;
        expected[i] +=
            static_cast<double>(a[row * k + term]) * static_cast<double>(b[expert * k * n + in_b]);
      }
      expected[i] *= row_major ? 1.0 : double{scales_of(3)[expert]};
    }
    expect_same(reference(inputs, 0, expected.size()), expected);
    const std::vector<double> window(expected.begin() + 13, expected.begin() + 30);
    expect_same(reference(inputs, 13, window.size()), window);
  }

  /// One row; experts without rows at the beginning, in between and at the end; rows that end
  /// inside a tile, inside a consumer's half of it and with it; more experts than lanes; more tiles
  /// than multiprocessors; terms that wrap around the ring, and a last stage that is not full.
  template <class T, class Launch>
  void expect_exact_with_unequal_experts(const Launch& launch) {
    constexpr bool is_bf16 = sizeof(T) == 2;
    expect_exact(Inputs<T>({1}, 8, 64), launch);
    expect_exact(Inputs<T>({0, 128, 0, 0, 64, 65, 1, 256, 63, 129, 0}, 264, is_bf16 ? 192 : 208),
                 launch);
    std::vector<std::int32_t> sizes(70);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sizes[i] = static_cast<std::int32_t>(i * i * 7 % 97);
    }
    expect_exact(Inputs<T>(sizes, 520, is_bf16 ? 384 : 656), launch);
    expect_exact(Inputs<T>(std::vector<std::int32_t>(33, 3), 8, 64), launch);
  }
};

constexpr auto naive = [](auto... arguments) { grouped_gemm_naive(arguments...); };
constexpr auto wgmma = [](auto... arguments) { grouped_gemm_wgmma(arguments...); };

TEST_F(GroupedGemmTest, ReferenceIsTheSumOnTheHost) {
  expect_reference_is_the_sum_on_the_host<Bf16>();
  expect_reference_is_the_sum_on_the_host<E4m3>();
}

TEST_F(GroupedGemmTest, NaiveIsExactWithUnequalExperts) {
  expect_exact_with_unequal_experts<Bf16>(naive);
  expect_exact_with_unequal_experts<E4m3>(naive);
}

TEST_F(GroupedGemmTest, WgmmaIsExactWithUnequalExperts) {
  if (!has_wgmma()) {
    GTEST_SKIP() << "wgmma needs compute capability 9.0";
  }
  expect_exact_with_unequal_experts<Bf16>(wgmma);
  expect_exact_with_unequal_experts<E4m3>(wgmma);
}

TEST_F(GroupedGemmTest, CublasIsExactWithUnequalExperts) {
  const std::vector<std::int32_t> sizes{0, 128, 0, 65, 1, 17};
  const Inputs<Bf16> inputs(sizes, 264, 192);
  CublasGrouped gemm(inputs.shape, inputs.host_offsets);
  expect_exact(inputs, [&](auto in, auto* c, GroupedShape, cudaStream_t to) { gemm(in, c, to); });
}

}  // namespace
}  // namespace warpgauge::kernels
