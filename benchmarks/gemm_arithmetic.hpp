// SPDX-License-Identifier: Apache-2.0
// The kinds of arithmetic of the family gemm: what they are called, how much of it a product is,
// and how far its results may lie from the exact ones.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>

#include <warpgauge/gpu_benchmark.hpp>
#include "kernels/gemm/gemm.hpp"

namespace warpgauge {

/// What the hardware multiplies: the type of the elements, but for floats as TF32.
struct Arithmetic {
  std::string name;  ///< as names of benchmarks have it
  bool tf32 = false;
  double relative_error = 0;  ///< of a product, before it is added: its mean, at most
  double spread = 0;          ///< of what else a product errs by: its standard deviation, at most
  double spread_of_term = 0;  ///< added to `spread` for each term of the sum
};
// A float of which 11 bits are left loses up to 2^-10 of its value, a product 2^-9, and a product
// is 1.09 in the root mean square (half of that each where floats are rounded and not cut off).
inline const Arithmetic tf32{"tf32", true, 0x1p-9, 1.09 * 0x1p-10};
// Sums of a few dozen products keep 13 bits below their leading one before they are added in fp32:
// below 128, of products that are multiples of 2^-8, the last bit is lost or not.
inline const Arithmetic e4m3{"e4m3", false, 0, 0x1p-9};
// Where the tensor cores keep the whole sum: each 32 terms cut it off by up to 2^-13 of itself, and
// it is within 3 * 1.09 sqrt(k) on its way. tolerance() allows 8 sqrt(k) times the spread.
inline const Arithmetic e4m3_in_tensor_cores{"e4m3", false, 0, e4m3.spread,
                                             0x1p-13 / 32 * 3 * 1.09 / 8};
template <class T>
Arithmetic of_elements() {
  return {element_name<T>};
}

inline double flops(kernels::GemmShape shape) {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
         static_cast<double>(shape.k);
}

/// Sums in fp32: a dot product of k terms of at most 2.25 errs by at most k u sum|a b| (u = 2^-24;
/// Higham 2002, "Accuracy and Stability of Numerical Algorithms", 3.1), typically by u sqrt(k) |c|
/// or about u k: eight times 2.25 u k is far above that and far below one wrong term, 0.25 or more.
/// Stored as T it is rounded once more; as bf16 by up to 0.3 at k = 4096, where |c| is about 70, so
/// that there several terms must be wrong to show.
/// What products err by on average moves the sum by as much of itself; the rest is a random walk of
/// k steps, and allowed eight times its standard deviation.
template <class T>
Tolerance tolerance(std::size_t k, const Arithmetic& arithmetic) {
  const auto terms = static_cast<double>(k);
  const double spread = arithmetic.spread + arithmetic.spread_of_term * terms;
  return {.absolute = unit_roundoff<float> * 2.25 * 8 * terms + 8 * spread * std::sqrt(terms),
          .relative = unit_roundoff<T> + arithmetic.relative_error};
}

}  // namespace warpgauge
