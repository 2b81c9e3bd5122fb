// SPDX-License-Identifier: Apache-2.0
// The library whose speed is guarded.
#pragma once

#include <cstddef>
#include <vector>

inline double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += x[i] * y[i];
  }
  return sum;
}
