// SPDX-License-Identifier: Apache-2.0
// The dot product of vectors in the first-level cache.
#include <benchmark/benchmark.h>

#include <vector>

#include "dot.hpp"

namespace {

void BM_dot(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::vector<double> x(n, 0.5), y(n, 2.0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(dot(x, y));
  }
}
BENCHMARK(BM_dot)->Arg(1024)->MinTime(0.05);

}  // namespace
