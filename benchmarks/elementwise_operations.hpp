// SPDX-License-Identifier: Apache-2.0
// The operations of the family elementwise, by name, with the tolerances of their results.
#pragma once

#include <type_traits>

#include <warpgauge/cuda/elements.hpp>
#include "kernels/elementwise/elementwise.hpp"

namespace warpgauge {

inline constexpr double u = unit_roundoff<float>;

/// An operation, by its name in benchmarks, and the largest error of its result in float for
/// |x| < 1.5: one rounding by default. kernels/elementwise/elementwise_test.hpp derives the others.
struct MeasuredOperation {
  const char* name;
  Tolerance in_float{.relative = u};
};
template <class Op>
inline constexpr MeasuredOperation measured{};
template <>
inline constexpr MeasuredOperation measured<kernels::Copy>{"copy", {}};
template <>
inline constexpr MeasuredOperation measured<kernels::Scale>{"scale"};
template <>
inline constexpr MeasuredOperation measured<kernels::Square>{"square"};
template <>
inline constexpr MeasuredOperation measured<kernels::Pow2>{"pow", {.relative = 8 * u}};
template <>
inline constexpr MeasuredOperation measured<kernels::Affine>{"affine"};
template <>
inline constexpr MeasuredOperation measured<kernels::Chain>{"chain_fused", {.absolute = 4.5 * u}};
template <>
inline constexpr MeasuredOperation measured<kernels::Gelu>{"gelu",
                                                           {.absolute = 3 * u, .relative = 2 * u}};
template <>
inline constexpr MeasuredOperation measured<kernels::GeluTanh>{"gelu_tanh",
                                                               measured<kernels::Gelu>.in_float};
// Roundings of a x and of the sum; |a x| <= 0.75 * 1.5.
template <>
inline constexpr MeasuredOperation measured<kernels::Axpy>{"axpy",
                                                           {.absolute = 1.125 * u, .relative = u}};

/// This error, plus that of the rounding to Out, if there is one.
template <class Op, class In, class Out>
constexpr Tolerance tolerance() {
  constexpr bool exact =
      std::is_same_v<Out, float> || (std::is_same_v<Op, kernels::Copy> && std::is_same_v<In, Out>);
  constexpr double stored = exact ? 0 : unit_roundoff<Out>;
  return {.absolute = measured<Op>.in_float.absolute * (1 + stored),
          .relative = measured<Op>.in_float.relative * (1 + stored) + stored};
}

}  // namespace warpgauge
