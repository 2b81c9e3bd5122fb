// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "kernels/device_test.cuh"

namespace warpgauge::kernels {
namespace {

// Nothing, one element, around a warp, a block or two of work, many blocks with a tail.
constexpr std::size_t sizes[] = {0, 1, 31, 33, 1024, 1025, 4096, 1000003};

class ReduceTest : public DeviceTest {
 protected:
  /// The sum of n = in.size() elements by each launch, on its own and captured.
  template <class T, class Launch>
  std::vector<T> sums(const std::vector<float>& host_in, Launch& launch) const {
    const thrust::device_vector<float> in(host_in);
    const float* const input = thrust::raw_pointer_cast(in.data());
    GuardedOutput<T> direct(1);
    GuardedOutput<T> replayed(1);
    launch(input, direct.data(), host_in.size(), stream());
    synchronize();
    capture_and_replay(stream(), [&] { launch(input, replayed.data(), host_in.size(), stream()); });
    return {direct.values()[0], replayed.values()[0]};
  }

  /// Expects both sums to be `expected` within tolerance, and the same.
  template <class T>
  static void expect_sums(const std::vector<T>& sums, double expected, double tolerance) {
    for (const T sum : sums) {
      EXPECT_TRUE(std::abs(sum - expected) <= tolerance)
          << sum << ", not " << expected << " within " << tolerance;
    }
    EXPECT_EQ(sums[0], sums[1]) << "the order of the additions may not change between calls";
  }

  /// Whole numbers of 1 to 7: every sum of n of them is exact in float, in any order, so that one
  /// that is lost or counted twice shows.
  static std::vector<float> small_integers(std::size_t n) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = static_cast<float>(i % 7 + 1);
    }
    return values;
  }

  static double sum_on_host(const std::vector<float>& in) {
    return std::accumulate(in.begin(), in.end(), 0.0);
  }
};

TEST_F(ReduceTest, ReferenceMatchesTheHost) {
  for (const std::size_t n : sizes) {
    SCOPED_TRACE(n);
    // n u sum|x| is more than any order of the additions can err by (Higham 2002, "Accuracy and
    // Stability of Numerical Algorithms", 4.2), and |x| <= 1; the host's sum errs as much.
    const double tolerance = 2 * static_cast<double>(n) * static_cast<double>(n) * 0.5 * 0x1p-52;
    const std::vector<float> in = random_values(n, 3);
    expect_sums(sums<double>(in, sum_reference), sum_on_host(in), tolerance);
    const std::vector<float> integers = small_integers(n);
    expect_sums(sums<double>(integers, sum_reference), sum_on_host(integers), 0);
  }
}

TEST_F(ReduceTest, CubMatchesReference) {
  for (const std::size_t n : sizes) {
    SCOPED_TRACE(n);
    CubSum sum(n);
    // An addition errs by at most u = 2^-24 of its result. Partial sums of m terms of either sign
    // are a random walk of about sqrt(m), and the errors of all additions on one level of the tree
    // another: u sqrt(n) together. Here no element goes through more than 64 levels (some 20 in its
    // thread, 8 in its block, as many again over the blocks), and this adds them as if all had one
    // sign. It is 0.004 at most: a lost element is off by 0.5 or more.
    const double tolerance = 64 * 0x1p-24 * std::sqrt(static_cast<double>(n));
    const std::vector<float> in = random_values(n, 4);
    expect_sums(sums<float>(in, sum), sums<double>(in, sum_reference)[0], tolerance);
    const std::vector<float> integers = small_integers(n);
    expect_sums(sums<float>(integers, sum), sum_on_host(integers), 0);
  }
}

TEST_F(ReduceTest, CubSumsFewerThanItWasMadeFor) {
  CubSum made_for_many(sizes[7]);
  CubSum moved = std::move(made_for_many);
  for (const std::size_t n : sizes) {
    SCOPED_TRACE(n);
    const std::vector<float> integers = small_integers(n);
    expect_sums(sums<float>(integers, moved), sum_on_host(integers), 0);
  }
}

TEST_F(ReduceTest, NothingSumsToZeroWhateverThePointer) {
  CubSum sum(0);
  GuardedOutput<float> out(1);
  GuardedOutput<double> expected(1);
  sum(nullptr, out.data(), 0, stream());
  sum_reference(nullptr, expected.data(), 0, stream());
  synchronize();
  EXPECT_EQ(out.values()[0], 0);
  EXPECT_EQ(expected.values()[0], 0);
}

TEST_F(ReduceTest, CubRefusesBadPointersAndMoreThanItWasMadeFor) {
  const thrust::device_vector<float> in(8);
  GuardedOutput<float> out(1);
  const float* const input = thrust::raw_pointer_cast(in.data());
  const auto* const between =
      reinterpret_cast<const float*>(reinterpret_cast<const char*>(input) + 2);
  CubSum sum(4);
  EXPECT_THROW(sum(nullptr, out.data(), 4, stream()), std::invalid_argument);
  EXPECT_THROW(sum(between, out.data(), 4, stream()), std::invalid_argument);
  EXPECT_THROW(sum(input, nullptr, 4, stream()), std::invalid_argument);
  EXPECT_THROW(sum(nullptr, nullptr, 0, stream()), std::invalid_argument);
  EXPECT_THROW(sum(input, out.data(), 5, stream()), std::invalid_argument);
}

}  // namespace
}  // namespace warpgauge::kernels
