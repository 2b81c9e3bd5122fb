// SPDX-License-Identifier: Apache-2.0
// Verifies that a maximum takes all elements into account.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>

#include <warpgauge/gpu_benchmark.hpp>

namespace warpgauge {

/// The i-th of many test indices in n elements: the first, the last, and then steps by the golden
/// ratio, which spread evenly whatever their number. `iteration` shifts them.
inline std::size_t spread_index(std::size_t i, std::size_t n, std::size_t iteration) {
  if (i < 2) {
    return i * (n - 1);
  }
  constexpr double golden = 0.6180339887498949;
  double whole = 0;
  const double fraction = std::modf(static_cast<double>(i + iteration) * golden, &whole);
  return static_cast<std::size_t>(fraction * static_cast<double>(n));
}

/// Verifies that largest_of(iteration) is the largest element of `in`, wherever it lies. With
/// random elements, a reduction that leaves out half of them may still find the maximum. So a
/// larger element is put into one place after the other: this finds a reduction that leaves out a
/// fortieth of the elements in a row, or either end. kernels/reduce/reduce_test.cpp tests single
/// elements.
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

/// The same for call(in, out, n, stream), which writes its result to `out` on the device.
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
