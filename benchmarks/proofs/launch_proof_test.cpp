// SPDX-License-Identifier: Apache-2.0
// The launch checks detect missing launches, extra launches and launches of another kernel.
#include "benchmarks/launch_proof.hpp"

#include <gtest/gtest.h>

#include <warpgauge/cuda/sm_clock.hpp>
#include <warpgauge/testing/case_required.hpp>
#include "benchmarks/launch_graphs.hpp"

namespace warpgauge {
namespace {

class LaunchProofTest : public CaseRequired {
 protected:
  static Operation empty(std::size_t bytes = 0) {
    return [bytes](const Iteration& at) { kernels::launch_empty(bytes, at.stream); };
  }
  static Operation twice(const Operation& operation) {
    return [operation](const Iteration& at) {
      operation(at);
      operation(at);
    };
  }
  /// The failure if `operation` does not launch the empty kernel without arguments `times` times.
  std::string said_of(const Operation& operation, std::size_t times = 1) {
    return failure(
        [&] { require_launches(operation, kernels::empty_kernel(0), times, {gpu().stream(), 0}); });
  }
  /// The failure of a graph of `kernels` kernels, expected to run once, after `launches` launches.
  std::string said_of_graph(std::size_t kernels, const Operation& kernel, int launches) {
    const Graph graph = graph_of(kernels, kernel);
    ExecutableGraph executable(graph);
    return failure([&] {
      require_runs(
          [&](const Iteration& at) {
            for (int i = 0; i < launches; ++i) {
              executable.launch(at.stream);
            }
          },
          executable, graph, {gpu().stream(), 0});
    });
  }
};

TEST_F(LaunchProofTest, EachEmptyKernelIsFound) {
  for (const std::size_t bytes : kernels::empty_argument_bytes) {
    EXPECT_EQ(failure([&] {
                require_launches(empty(bytes), kernels::empty_kernel(bytes), 1,
                                 {gpu().stream(), 0});
              }),
              "no failure");
  }
  EXPECT_EQ(said_of(twice(empty()), 2), "no failure");
}

TEST_F(LaunchProofTest, NoneAndTooManyAreRefused) {
  const Operation nothing = [](const Iteration&) {};
  EXPECT_EQ(said_of(nothing), "the operation issues 0 kernels in 0 nodes, not 1 kernels");
  EXPECT_EQ(said_of(twice(empty())), "the operation issues 2 kernels in 2 nodes, not 1 kernels");
  EXPECT_EQ(said_of(empty(), 2), "the operation issues 1 kernels in 1 nodes, not 2 kernels");
}

TEST_F(LaunchProofTest, AnotherKernelIsRefused) {
  EXPECT_NE(said_of(empty(64)).find("the operation launches "), std::string::npos)
      << said_of(empty(64));
  const Operation wait = [](const Iteration& at) { detail::delay(1'000, at.stream); };
  EXPECT_NE(said_of(wait).find("not one warp of "), std::string::npos) << said_of(wait);
}

TEST_F(LaunchProofTest, AGraphOfEachEmptyKernelRuns) {
  for (const std::size_t bytes : kernels::empty_argument_bytes) {
    EXPECT_EQ(said_of_graph(1, empty(bytes), 1), "no failure");
  }
}

TEST_F(LaunchProofTest, AGraphThatIsNotLaunchedOnceIsFoundOut) {
  EXPECT_EQ(said_of_graph(1, empty(), 0),
            "kernels that were launched count to 1, those that ran to 0");
  EXPECT_EQ(said_of_graph(1, empty(), 2),
            "kernels that were launched count to 1, those that ran to 2");
}

TEST_F(LaunchProofTest, AGraphOfMoreOrLessThanAKernelIsFoundOut) {
  EXPECT_NE(said_of_graph(2, empty(), 1), "no failure");
  EXPECT_NE(said_of_graph(1, [](const Iteration&) {}, 1), "no failure");
}

TEST_F(LaunchProofTest, ABenchmarkOfWorkThatLaunchesNothingFails) {
  const std::string message = failure([&] {
    GpuCase fixture = make();
    fixture.issue(one_empty(fixture, 0, [](const Iteration&) {}));
  });
  EXPECT_NE(message.find("the operation issues 0 kernels"), std::string::npos) << message;
}

}  // namespace
}  // namespace warpgauge
