// SPDX-License-Identifier: Apache-2.0
// How the largest of many is shown to be that of all of them.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>

#include <warpgauge/gpu_benchmark.hpp>

namespace warpgauge {

/// The i-th of many indices of n elements: the first, the last, and from there on by the golden
/// ratio, which spreads them evenly however many there are. `iteration` moves them.
inline std::size_t spread_index(std::size_t i, std::size_t n, std::size_t iteration) {
  if (i < 2) {
    return i * (n - 1);
  }
  constexpr double golden = 0.6180339887498949;
  double whole = 0;
  const double fraction = std::modf(static_cast<double>(i + iteration) * golden, &whole);
  return static_cast<std::size_t>(fraction * static_cast<double>(n));
}

/// Verifies that largest_of(iteration) is the largest element of `in` wherever that lies. Of random
/// elements the largest, or one as large, lies anywhere: half of them can be left out and it still
/// comes out. So a larger one is put into one place after the other, which shows what leaves out a
/// fortieth of the elements in a row, or either end; kernels/reduce/reduce_test.cpp shows single
/// ones.
template <class LargestOf>
void verify_largest(GpuCase& gpu, const Buffer<float>& in, const LargestOf& largest_of) {
  gpu.verify([=, n = in.count()](const Iteration& at) {
    constexpr std::size_t indices = 64;
    const auto copy = [&](float* to, const float* from) {
      WARPGAUGE_CHECK(cudaMemcpyAsync(to, from, sizeof(float), cudaMemcpyDefault, at.stream));
    };
    for (std::size_t i = 0; i < indices; ++i) {
      float* const element = in[at] + spread_index(i, n, at.slot);
      const float largest = 2 + static_cast<float>(i);  // inputs are below 1.5
      float kept = 0;
      copy(&kept, element);
      copy(element, &largest);
      const float found = largest_of(at);
      copy(element, &kept);
      WARPGAUGE_CHECK(cudaStreamSynchronize(at.stream));
      if (found != largest) {
        throw WrongResult("the largest of " + std::to_string(n) + " elements is number " +
                          std::to_string(element - in[at]) + ", " + std::to_string(largest) +
                          ", but the result is " + std::to_string(found));
      }
    }
  });
}

/// The same of call(in, out, n, stream), which leaves its result in `out` on the device.
template <class Call>
void verify_largest(GpuCase& gpu, const Buffer<float>& in, const Buffer<float>& out,
                    const Call& call) {
  verify_largest(gpu, in, [=](const Iteration& at) {
    float found = 0;
    call(in[at], out[at], in.count(), at.stream);
    WARPGAUGE_CHECK(cudaMemcpyAsync(&found, out[at], sizeof(found), cudaMemcpyDefault, at.stream));
    WARPGAUGE_CHECK(cudaStreamSynchronize(at.stream));
    return found;
  });
}

}  // namespace warpgauge
