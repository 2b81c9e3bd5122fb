// SPDX-License-Identifier: Apache-2.0
// The same by Google Benchmark alone.
#include <benchmark/benchmark.h>

#include <vector>

#include "dot.hpp"

namespace {

void dot_plain(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::vector<double> x(n, 0.5), y(n, 2.0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(dot(x, y));
  }
}
BENCHMARK(dot_plain)->Arg(1024)->MinTime(0.05);

}  // namespace
