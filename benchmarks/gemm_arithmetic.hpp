// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the gemm benchmarks: name, operation count, and tolerance of the results.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>

#include <warpgauge/gpu_benchmark.hpp>
#include "kernels/gemm/gemm.hpp"

namespace warpgauge {

/// The type that the hardware multiplies: the element type, or TF32 for some float benchmarks.
struct Arithmetic {
  std::string name;  ///< as in benchmark names
  bool tf32 = false;
  double relative_error = 0;  ///< upper bound of the mean relative error of a product
  double spread = 0;          ///< upper bound of the standard deviation of a product's other errors
  double spread_of_term = 0;  ///< added to `spread` for each term of the sum
};
// A float truncated to 11 bits loses up to 2^-10 of its value, and a product up to 2^-9. The root
// mean square of a product is 1.09. (Rounding instead of truncation halves both errors.)
inline const Arithmetic tf32{"tf32", true, 0x1p-9, 1.09 * 0x1p-10};
// Sums of a few dozen products keep 13 bits below their leading bit before they are added in fp32.
// Such a sum is below 128 and a multiple of 2^-8, so only its last bit may be lost.
inline const Arithmetic e4m3{"e4m3", false, 0, 0x1p-9};
// The tensor cores keep the whole sum: every 32 terms truncate it by up to 2^-13 of its value, and
// partial sums are within 3 * 1.09 sqrt(k). tolerance() allows 8 sqrt(k) times the spread.
inline const Arithmetic e4m3_in_tensor_cores{"e4m3", false, 0, e4m3.spread,
                                             0x1p-13 / 32 * 3 * 1.09 / 8};
// Products reach 36 instead of 2.25; as e4m3 otherwise.
inline const Arithmetic nvfp4{"nvfp4", false, 0, 16 * e4m3.spread};
template <class T>
Arithmetic of_elements() {
  return {element_name<T>};
}

inline double flops(kernels::GemmShape shape) {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
         static_cast<double>(shape.k);
}

/// Sums in fp32: the error of a dot product of k terms of at most 2.25 is at most k u sum|a b|
/// (u = 2^-24; Higham 2002, "Accuracy and Stability of Numerical Algorithms", 3.1), and typically
/// u sqrt(k) |c|, about u k. The tolerance, 8 * 2.25 u k, is far above that and far below one wrong
/// term, 0.25 or more. Storing as T rounds once more. For bf16 that is up to 0.3 at k = 4096, where
/// |c| is about 70, so there an error shows only if several terms are wrong.
/// The mean error of the products scales the sum. The rest is a random walk of k steps; the
/// tolerance is eight times its standard deviation.
template <class T>
Tolerance tolerance(std::size_t k, const Arithmetic& arithmetic) {
  const auto terms = static_cast<double>(k);
  const double spread = arithmetic.spread + arithmetic.spread_of_term * terms;
  return {.absolute = unit_roundoff<float> * 2.25 * 8 * terms + 8 * spread * std::sqrt(terms),
          .relative = unit_roundoff<T> + arithmetic.relative_error};
}

}  // namespace warpgauge
