// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the elementwise launchers: formulas, the largest error that each result
// may have, and one comparison for all launchers.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/device_test.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace warpgauge::kernels {

// Sizes around vectors of 4 and 8, a warp and a block; many blocks; many blocks with a tail.
inline constexpr std::size_t elementwise_sizes[] = {0,  1,  3,  4,   5,    7,    8,      9,
                                                    31, 32, 33, 511, 1023, 4096, 1000003};

// Written out again, independently of the functors that the kernels use.
inline double formula(Copy, double x) {
  return x;
}
inline double formula(Scale, double x) {
  return 0.75 * x;
}
inline double formula(Square, double x) {
  return x * x;
}
inline double formula(Pow2, double x) {
  return std::pow(x, 2.0);
}
inline double formula(Affine, double x) {
  return 2 * x + 3;
}
inline double formula(Chain, double x) {
  return 0.75 * std::fmax(x + 0.25, 0.0) - 0.5;
}
inline double formula(Gelu, double x) {
  return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
}
inline double formula(GeluTanh, double x) {
  const double inner = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

/// The largest relative error of rounding to the nearest T.
template <class T>
inline constexpr double half_ulp = std::numeric_limits<T>::epsilon() / 2;
template <>
inline constexpr double half_ulp<__half> = 0x1p-11;
template <>
inline constexpr double half_ulp<__nv_bfloat16> = 0x1p-8;

/// The inputs of these tests: 2 <= |x| <= 4.
inline constexpr double most_input = 4;

// Largest error of the operation in float, in units of half_ulp<float>.
inline double roundings(Copy, double /*result*/) {
  return 0;
}
inline double roundings(Pow2, double result) {
  return 8 * std::abs(result);  // 4 units in the last place
}
/// Three roundings; that of x + bias counts 0.75 times, like the product's.
inline double roundings(Chain, double /*result*/) {
  constexpr double product = 0.75 * (most_input + 0.25);
  return 2 * product + (product + 0.5);
}
/// The bracket 1 + erf errs by 2 for erff (2 units in the last place), less than 1 for its argument
/// (two roundings times t erf'(t) <= 0.49) and 1 for the sum. Two products follow. tanhf errs by 1
/// unit in the last place, and its argument by four roundings times t / cosh(t)^2 <= 0.45.
inline double roundings(Gelu, double result) {
  return 0.5 * most_input * 4 + 2 * std::abs(result);
}
inline double roundings(GeluTanh, double result) {
  return roundings(Gelu{}, result);
}
template <class Op>
double roundings(Op, double result) {
  return std::abs(result);  // one operation that rounds
}

/// Largest error of op on an In that is computed in float and stored as Out.
template <class In, class Out, class Op>
double most_error(Op op, double result) {
  constexpr bool exact =
      std::is_same_v<Out, float> || (std::is_same_v<Op, Copy> && std::is_same_v<In, Out>);
  const double computed = roundings(op, result) * half_ulp<float>;
  const double stored = exact ? 0 : half_ulp<Out>;
  return computed + stored * (std::abs(result) + computed);
}

/// 2 <= |x| <= 4, of either sign, as the nearest T.
template <class T>
std::vector<T> random_elements(std::size_t n, unsigned seed) {
  std::vector<T> elements;
  for (const float value : random_values(n, seed)) {
    elements.push_back(static_cast<T>(most_input * value));
  }
  return elements;
}

template <class Op, class In, class Out>
class TransformTest : public DeviceTest {
 protected:
  using Launcher = void (*)(const In*, Out*, std::size_t, cudaStream_t, Op);

  /// Compares the results of launch, called directly and captured, with the formula for every size.
  void expect_matches_formula(Launcher launch) const {
    for (const std::size_t n : elementwise_sizes) {
      SCOPED_TRACE(n);
      const std::vector<In> host_in = random_elements<In>(n, static_cast<unsigned>(n));
      const DeviceArray<In> in(host_in);
      const In* const input = in.data();
      const std::vector<double> expected = formulas(host_in);
      GuardedOutput<Out> direct(n);
      launch(input, direct.data(), n, stream(), Op{});
      synchronize();
      expect_transformed(expected, direct.values());
      if (n == 0) {
        continue;  // nothing is launched, so nothing is captured
      }
      GuardedOutput<Out> replayed(n);
      capture_and_replay(stream(), [&] { launch(input, replayed.data(), n, stream(), Op{}); });
      expect_transformed(expected, replayed.values());
    }
  }

  /// Compares transform_reference, captured, with the formula. Both are in double, so they differ
  /// by a few roundings of that.
  void expect_reference_matches_formula() const {
    for (const std::size_t n : {std::size_t{1}, std::size_t{33}, std::size_t{4099}}) {
      const std::vector<In> host_in = random_elements<In>(n, 7);
      const DeviceArray<In> in(host_in);
      GuardedOutput<double> expected(n);
      capture_and_replay(
          stream(), [&] { transform_reference<Op, In>(in.data(), expected.data(), n, stream()); });
      expect_within(expected.values(), formulas(host_in), [](double) { return 1e-14; });
    }
  }

 private:
  static std::vector<double> formulas(const std::vector<In>& in) {
    std::vector<double> results;
    for (const In x : in) {
      results.push_back(formula(Op{}, static_cast<double>(x)));
    }
    return results;
  }

  static void expect_transformed(const std::vector<double>& expected, const std::vector<Out>& out) {
    expect_within(out, expected, [](double result) { return most_error<In, Out>(Op{}, result); });
  }
};

}  // namespace warpgauge::kernels
