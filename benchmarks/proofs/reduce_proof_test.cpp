// SPDX-License-Identifier: Apache-2.0
// verify_largest() detects a maximum over only some elements, which random inputs rarely reveal.
#include "benchmarks/reduce_proof.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include <warpgauge/testing/case_required.hpp>
#include "kernels/reduce/reduce.hpp"

namespace warpgauge {
namespace {

constexpr std::size_t count = std::size_t{1} << 20;

class ReduceProofTest : public CaseRequired {
 protected:
  using Max = std::function<void(const float*, float*, std::size_t, cudaStream_t)>;

  /// The failure message of a benchmark of `max`, which receives all elements.
  std::string said_of(const Max& max) {
    return failure([&] {
      GpuCase fixture = make();
      const auto in = fixture.input<float>(count);
      const auto out = fixture.output<float>(1);
      fixture.verify(out, {}, [=](const Iteration& at, Window, double* expected) {
        kernels::max_reference(in[at], expected, count, at.stream);
      });
      verify_largest(fixture, in, out, max);
      fixture.replay([=](const Iteration& at) { max(in[at], out[at], count, at.stream); });
    });
  }

  /// A maximum over only the `size` elements from `first` on.
  static Max of_window(std::size_t first, std::size_t size) {
    return [=, reduction = std::make_shared<kernels::GridReduction>()](
               const float* in, float* out, std::size_t, cudaStream_t stream) {
      reduction->max(in + first, out, size, stream);
    };
  }
};

TEST_F(ReduceProofTest, TheLargestOfAllPasses) {
  EXPECT_EQ(said_of(of_window(0, count)), "no failure");
}

TEST_F(ReduceProofTest, EitherEndIsMissed) {
  EXPECT_NE(said_of(of_window(4, count - 4)).find("elements is number 0, 2"), std::string::npos);
  EXPECT_NE(said_of(of_window(0, count - 1)).find("elements is number 1048575, 3"),
            std::string::npos);
}

TEST_F(ReduceProofTest, EitherHalfIsMissed) {
  EXPECT_NE(said_of(of_window(0, count / 2)), "no failure");
  EXPECT_NE(said_of(of_window(count / 2, count / 2)), "no failure");
}

TEST_F(ReduceProofTest, PlacesReachEveryFortieth) {
  constexpr std::size_t n = 4000;
  for (const std::size_t iteration : {0, 1, 7, 511}) {
    std::vector<bool> reached(40);
    for (std::size_t i = 0; i < 64; ++i) {
      const std::size_t index = spread_index(i, n, iteration);
      ASSERT_LT(index, n);
      reached[index / 100] = true;
    }
    EXPECT_EQ(std::count(reached.begin(), reached.end(), false), 0) << iteration;
  }
}

}  // namespace
}  // namespace warpgauge
