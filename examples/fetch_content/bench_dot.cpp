// SPDX-License-Identifier: Apache-2.0
// The dot product of vectors in the first-level cache: host time.
#include <stdexcept>
#include <vector>

#include <warpgauge/host_benchmark.hpp>

#include "dot.hpp"

namespace {

using namespace warpgauge;

const HostBenchmark library{
    "dot/library/f64", {{"n", {1024}}}, [](HostCase& host) {
      const std::size_t n = host.param("n");
      const std::vector<double> x(n, 0.5), y(n, 2.0);
      host.host_calls({.call = [&] {
        if (dot(x, y) != static_cast<double>(n)) {
          throw std::runtime_error("wrong result: the dot product is another number");
        }
      }});
    }};

}  // namespace
