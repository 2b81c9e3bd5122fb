// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce/reduce.hpp"

#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

// No elements; one; around a warp; the work of a block or two; many blocks with a tail.
constexpr std::size_t sizes[] = {0, 1, 31, 33, 1024, 1025, 4096, 8195, 1000003};
constexpr std::size_t most_elements = 1000003;
// Blocks of up to 16384 elements, at most two per SM, loop: more than twice on 132 SMs.
constexpr std::size_t more_than_a_grid_takes_at_once = 10'000'019;
constexpr double u = 0x1p-24;  // unit roundoff of float
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

class ReduceTest : public DeviceTest {
 protected:
  /// The results of launch(in..., out, n, stream) on arrays of n elements: called directly,
  /// captured, and a second time in the same graph.
  template <class T, class Launch, class... Inputs>
  std::vector<T> results(Launch& launch, const Inputs&... host_in) const {
    const auto on_device = std::make_tuple(DeviceArray<float>(host_in)...);
    const std::size_t n = std::get<0>(on_device).size();
    GuardedOutput<T> direct(1);
    GuardedOutput<T> replayed(1);
    GuardedOutput<T> second(1);
    const auto call = [&](T* out) {
      std::apply([&](const auto&... in) { launch(in.data()..., out, n, stream()); }, on_device);
    };
    call(direct.data());
    synchronize();
    capture_and_replay(stream(), [&] {
      call(replayed.data());
      call(second.data());
    });
    return {direct.values()[0], replayed.values()[0], second.values()[0]};
  }

  /// Expects all results to be `expected` within tolerance, and equal to each other.
  template <class T>
  static void expect_all(const std::vector<T>& results, double expected, double tolerance) {
    for (const T result : results) {
      EXPECT_TRUE(result == expected || std::abs(result - expected) <= tolerance)
          << result << ", not " << expected << " within " << tolerance;
      EXPECT_EQ(result, results[0]) << "the order of the operations may not change between calls";
    }
  }

  /// Integers from 1 to 7, or 0 and 1 if the sum would reach 2^24. Every sum of n of them, and of
  /// their products with 1, is exact in float in any order. So an element lost or counted twice
  /// shows, unless it is 0.
  static std::vector<float> small_integers(std::size_t n) {
    constexpr std::size_t exact_in_float = std::size_t{1} << 24;
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = static_cast<float>(n < exact_in_float / 7 ? i % 7 + 1 : i % 2);
    }
    return values;
  }

  static double sum_on_host(const std::vector<float>& in) {
    return std::accumulate(in.begin(), in.end(), 0.0);
  }

  static double dot_on_host(const std::vector<float>& a, const std::vector<float>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                              [](double x, double y) { return x * y; });
  }

  static double max_on_host(const std::vector<float>& in) {
    return std::accumulate(in.begin(), in.end(), -std::numeric_limits<double>::infinity(),
                           [](double a, double b) { return std::max(a, b); });
  }

  // An addition errs by at most u of its result. Partial sums of m terms of either sign are a
  // random walk of about sqrt(m), and so are the errors of all additions on one level of the tree:
  // together u sqrt(n). An element passes at most 64 levels here (some 20 in its thread, 10 in its
  // block, as many again over the blocks), added here as if all had one sign. The result is at most
  // 0.012; a lost element or product is off by 0.25 or more.
  static double random_sum_tolerance(std::size_t n) {
    return 64 * u * std::sqrt(static_cast<double>(n));
  }

  // No order of the additions errs by more than n u sum|x| (Higham 2002, "Accuracy and Stability of
  // Numerical Algorithms", 4.2), and |x| <= 1. The host's sum errs as much.
  static double reference_tolerance(std::size_t n) {
    return 2 * static_cast<double>(n) * static_cast<double>(n) * 0x1p-53;
  }

  template <class T = float, class Launch>
  void expect_sums(Launch& launch, std::size_t n, double tolerance) const {
    SCOPED_TRACE(n);
    const std::vector<float> in = random_values(n, 4);
    expect_all(results<T>(launch, in), sum_on_host(in), tolerance);
    const std::vector<float> integers = small_integers(n);
    expect_all(results<T>(launch, integers), sum_on_host(integers), 0);
  }

  template <class T = float, class Launch>
  void expect_dots(Launch& launch, std::size_t n, double tolerance) const {
    SCOPED_TRACE(n);
    const std::vector<float> a = random_values(n, 5);
    const std::vector<float> b = random_values(n, 6);
    expect_all(results<T>(launch, a, b), dot_on_host(a, b), tolerance);
    const std::vector<float> integers = small_integers(n);
    const std::vector<float> ones(n, 1);
    expect_all(results<T>(launch, integers, ones), sum_on_host(integers), 0);
    expect_all(results<T>(launch, ones, integers), sum_on_host(integers), 0);
  }

  /// The largest element is found at any position: the first, a middle one, the last.
  template <class T = float, class Launch>
  void expect_maxima(Launch& launch, std::size_t n) const {
    SCOPED_TRACE(n);
    std::vector<float> in = random_values(n, 7);
    for (float& value : in) {
      value -= 4;  // below any initial value of an output or a partial result
    }
    expect_all(results<T>(launch, in), max_on_host(in), 0);
    for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
      if (n > 0) {
        std::vector<float> peaked = in;
        peaked[at] = -2;
        expect_all(results<T>(launch, peaked), -2, 0);
      }
    }
  }

  template <class T = float, class Launch>
  void expect_max_keeps_nan(Launch& launch) const {
    for (const std::size_t n : {std::size_t{1}, std::size_t{33}, most_elements}) {
      for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
        std::vector<float> in = random_values(n, 8);
        in[n / 3] = infinity;
        in[at] = nan;
        for (const T result : results<T>(launch, in)) {
          EXPECT_TRUE(std::isnan(result)) << n << " elements, NaN at " << at;
          EXPECT_FALSE(GuardedOutput<T>::is_poison(result)) << "not written";
        }
      }
    }
    expect_all(results<T>(launch, std::vector<float>(33, -infinity)), double{-infinity}, 0);
  }

  template <class Launch>
  void expect_refuses_bad_arguments(Launch& launch, std::size_t most) const {
    const DeviceArray<float> in = zeroed<float>(8);
    GuardedOutput<float> out(1);
    const float* const input = in.data();
    const auto* const between =
        reinterpret_cast<const float*>(reinterpret_cast<const char*>(input) + 2);
    EXPECT_THROW(launch(nullptr, out.data(), 4, stream()), std::invalid_argument);
    EXPECT_THROW(launch(between, out.data(), 4, stream()), std::invalid_argument);
    EXPECT_THROW(launch(input, nullptr, 4, stream()), std::invalid_argument);
    EXPECT_THROW(launch(nullptr, nullptr, 0, stream()), std::invalid_argument);
    EXPECT_THROW(launch(input, out.data(), most + 1, stream()), std::invalid_argument);
  }
};

TEST_F(ReduceTest, ReferencesMatchTheHost) {
  for (const std::size_t n : sizes) {
    expect_sums<double>(sum_reference, n, reference_tolerance(n));
    expect_dots<double>(dot_reference, n, reference_tolerance(n));
    expect_maxima<double>(max_reference, n);
  }
  expect_max_keeps_nan<double>(max_reference);
}

TEST_F(ReduceTest, GridReductionMatchesTheHost) {
  GridReduction made;
  GridReduction reduction = std::move(made);
  const auto sum = [&](auto... arguments) { reduction.sum(arguments...); };
  const auto dot = [&](auto... arguments) { reduction.dot(arguments...); };
  const auto max = [&](auto... arguments) { reduction.max(arguments...); };
  for (const std::size_t n : sizes) {
    expect_sums(sum, n, random_sum_tolerance(n));
    expect_dots(dot, n, random_sum_tolerance(n));
    expect_maxima(max, n);
  }
  expect_sums(sum, more_than_a_grid_takes_at_once,
              random_sum_tolerance(more_than_a_grid_takes_at_once));
  expect_dots(dot, more_than_a_grid_takes_at_once,
              random_sum_tolerance(more_than_a_grid_takes_at_once));
  expect_maxima(max, more_than_a_grid_takes_at_once);
  expect_max_keeps_nan(max);
}

TEST_F(ReduceTest, CubMatchesTheHost) {
  for (const std::size_t n : sizes) {
    CubSum sum(n);
    CubDot dot(n);
    CubMax max(n);
    expect_sums(sum, n, random_sum_tolerance(n));
    expect_dots(dot, n, random_sum_tolerance(n));
    if (n > 0) {
      expect_maxima(max, n);
    }
  }
}

TEST_F(ReduceTest, CubSumsFewerThanItWasMadeFor) {
  CubSum made_for_many(most_elements);
  CubSum moved = std::move(made_for_many);
  for (const std::size_t n : sizes) {
    expect_sums(moved, n, random_sum_tolerance(n));
  }
}

TEST_F(ReduceTest, ThrustMatchesTheHost) {
  for (const std::size_t n : sizes) {
    SCOPED_TRACE(n);
    const std::vector<float> integers = small_integers(n);
    const DeviceArray<float> in(integers);
    const DeviceArray<float> ones(std::vector<float>(n, 1.0F));
    EXPECT_EQ(sum_thrust(in.data(), n, stream()), sum_on_host(integers));
    EXPECT_EQ(dot_thrust(in.data(), ones.data(), n, stream()), sum_on_host(integers));
    EXPECT_EQ(dot_thrust(ones.data(), in.data(), n, stream()), sum_on_host(integers));
    for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
      if (n > 0) {
        std::vector<float> peaked = random_values(n, 9);
        for (float& value : peaked) {
          value -= 4;  // below any initial value of a partial result
        }
        peaked[at] = -2;
        EXPECT_EQ(max_thrust(DeviceArray<float>(peaked).data(), n, stream()), -2);
      }
    }
  }
  EXPECT_EQ(max_thrust(nullptr, 0, stream()), -infinity);
}

TEST_F(ReduceTest, NothingIsNeutralWhateverThePointer) {
  CubSum cub(0);
  GridReduction reduction;
  GuardedOutput<float> sum_by_cub(1);
  GuardedOutput<float> sum(1);
  GuardedOutput<float> dot(1);
  GuardedOutput<float> max(1);
  cub(nullptr, sum_by_cub.data(), 0, stream());
  reduction.sum(nullptr, sum.data(), 0, stream());
  reduction.dot(nullptr, nullptr, dot.data(), 0, stream());
  reduction.max(nullptr, max.data(), 0, stream());
  synchronize();
  EXPECT_EQ(sum_by_cub.values()[0], 0);
  EXPECT_EQ(sum.values()[0], 0);
  EXPECT_EQ(dot.values()[0], 0);
  EXPECT_EQ(max.values()[0], -infinity);
}

TEST_F(ReduceTest, BadArgumentsAreRefused) {
  CubSum cub_sum(4);
  CubMax cub_max(4);
  expect_refuses_bad_arguments(cub_sum, 4);
  expect_refuses_bad_arguments(cub_max, 4);
  GridReduction reduction;
  constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(float);
  const auto sum = [&](auto... arguments) { reduction.sum(arguments...); };
  const auto max = [&](auto... arguments) { reduction.max(arguments...); };
  expect_refuses_bad_arguments(sum, most);
  expect_refuses_bad_arguments(max, most);
  // dot with a bad pointer on either side.
  const DeviceArray<float> in = zeroed<float>(8);
  const float* const input = in.data();
  const auto dot_refuses = [&](const auto& dot, std::size_t n) {
    const auto of_a = [&](const float* a, auto... rest) { dot(a, input, rest...); };
    const auto of_b = [&](const float* b, auto... rest) { dot(input, b, rest...); };
    expect_refuses_bad_arguments(of_a, n);
    expect_refuses_bad_arguments(of_b, n);
  };
  CubDot cub_dot(4);
  dot_refuses([&](auto... arguments) { cub_dot(arguments...); }, 4);
  dot_refuses([&](auto... arguments) { reduction.dot(arguments...); }, most);
}

}  // namespace
}  // namespace warpgauge::kernels
