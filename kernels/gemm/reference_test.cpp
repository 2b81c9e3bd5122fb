// SPDX-License-Identifier: Apache-2.0
// References that gemm_test.cpp does not cover: f16, e4m3, transposed B, windows of many tiles.
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/device_test.hpp"
#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels {
namespace {

class GemmReferenceTest : public DeviceTest {
 protected:
  /// Compares the elements of C from `first` on with a plain loop on the host.
  template <class T>
  void expect_matches_the_host(GemmShape shape, GemmB layout, std::size_t first,
                               std::size_t count) const {
    const std::vector<T> a = random_values_as<T>(shape.m * shape.k, 1);
    const std::vector<T> b = random_values_as<T>(shape.k * shape.n, 2);
    std::vector<double> expected(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = (first + i) / shape.n;
      const std::size_t column = (first + i) % shape.n;
      for (std::size_t j = 0; j < shape.k; ++j) {
        const T& of_b =
            layout == GemmB::row_major ? b[j * shape.n + column] : b[column * shape.k + j];
        expected[i] += static_cast<double>(a[row * shape.k + j]) * static_cast<double>(of_b);
      }
    }
    const DeviceArray<T> device_a(a);
    const DeviceArray<T> device_b(b);
    GuardedOutput<double> got(count);
    capture_and_replay(stream(), [&] {
      gemm_reference(device_a.data(), device_b.data(), got.data(), shape, first, count, stream(),
                     layout);
    });
    const double sum = 2 * static_cast<double>(shape.k) * std::numeric_limits<double>::epsilon();
    expect_within(got.values(), expected, [=](double) { return sum; });
  }
};

TEST_F(GemmReferenceTest, OfF16MatchesTheHost) {
  expect_matches_the_host<__half>({33, 17, 65}, GemmB::row_major, 0, 33 * 17);
}

TEST_F(GemmReferenceTest, OfE4m3MatchesTheHost) {
  expect_matches_the_host<__nv_fp8_e4m3>({33, 17, 65}, GemmB::row_major, 0, 33 * 17);
}

TEST_F(GemmReferenceTest, OfTransposedBMatchesTheHost) {
  expect_matches_the_host<__nv_fp8_e4m3>({33, 17, 65}, GemmB::transposed, 0, 33 * 17);
  expect_matches_the_host<float>({1, 31, 1}, GemmB::transposed, 0, 31);
}

TEST_F(GemmReferenceTest, WindowsOfManyTilesMatchTheHost) {
  constexpr GemmShape shape{67, 513, 33};
  expect_matches_the_host<float>(shape, GemmB::row_major, 0, shape.m * shape.n);
  expect_matches_the_host<float>(shape, GemmB::row_major, 512, 2);
  expect_matches_the_host<float>(shape, GemmB::row_major, 15 * 513 + 300, 40 * 513);
  expect_matches_the_host<float>(shape, GemmB::row_major, shape.m * shape.n - 1, 1);
}

}  // namespace
}  // namespace warpgauge::kernels
