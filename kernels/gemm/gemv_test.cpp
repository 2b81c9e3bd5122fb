// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm.hpp"

#include "kernels/device_test.hpp"
#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels {
namespace {

struct Size {
  std::size_t n, k;
};

// One element; columns and rows that end inside a block's; rows aligned and not aligned to 16
// bytes, fewer and more of them than a block has in flight.
constexpr Size sizes[] = {{1, 1},  {31, 33},    {33, 5},    {40, 128},
                          {64, 7}, {257, 1025}, {72, 2051}, {1000, 129}};

class GemvTest : public DeviceTest {
 protected:
  /// Sums of k terms in fp32 are within 2 k units in the last place of 1; a lost term is 0.25 or
  /// more. Storing them has a roundoff of `roundoff`.
  template <class T>
  void expect_matches_reference(double roundoff) {
    for (const Size size : sizes) {
      SCOPED_TRACE(::testing::Message() << size.n << " x " << size.k);
      const DeviceArray<T> a(random_values_as<T>(size.k, 1));
      const DeviceArray<T> b(random_values_as<T>(size.k * size.n, 2));
      GuardedOutput<double> expected(size.n);
      GuardedOutput<T> direct(size.n);
      GuardedOutput<T> replayed(size.n);
      gemm_reference(a.data(), b.data(), expected.data(), {1, size.n, size.k}, 0, size.n, stream());
      gemv(a.data(), b.data(), direct.data(), size.n, size.k, stream());
      synchronize();
      const double sum = 2 * static_cast<double>(size.k) * std::numeric_limits<float>::epsilon();
      const auto most = [=](double value) { return sum + roundoff * std::abs(value); };
      expect_within(direct.values(), expected.values(), most);
      capture_and_replay(
          stream(), [&] { gemv(a.data(), b.data(), replayed.data(), size.n, size.k, stream()); });
      expect_within(replayed.values(), expected.values(), most);
    }
  }
};

TEST_F(GemvTest, OfBf16MatchesReference) {
  expect_matches_reference<__nv_bfloat16>(0x1p-8);
}

TEST_F(GemvTest, OfF16MatchesReference) {
  expect_matches_reference<__half>(0x1p-11);
}

}  // namespace
}  // namespace warpgauge::kernels
