// SPDX-License-Identifier: Apache-2.0
// Graphs that the launch benchmarks create, launch and update.
#pragma once

#include <cstddef>
#include <memory>

#include <warpgauge/cuda/graph.hpp>
#include <warpgauge/cuda/stream.hpp>
#include "benchmarks/launch_proof.hpp"

namespace warpgauge {

/// A graph with `nodes` repetitions of what `operation` launches, in sequence.
inline Graph graph_of(std::size_t nodes, const Operation& operation, cudaStream_t stream) {
  return Graph::capture(stream, [&] {
    for (std::size_t node = 0; node < nodes; ++node) {
      operation(Iteration{stream, 0});
    }
  });
}

inline Graph graph_of(std::size_t nodes, const Operation& operation) {
  const Stream stream;
  return graph_of(nodes, operation, stream.get());
}

/// Launches `graph`, which is already uploaded.
inline Operation launching(const Graph& graph) {
  const Stream stream;
  const auto executable = std::make_shared<const ExecutableGraph>(graph, stream.get());
  stream.synchronize();
  return [executable](const Iteration& at) { executable->launch(at.stream); };
}

/// Throws WrongResult unless `launch` runs the only kernel of `executable`, which was made from
/// `graph`. With a counting kernel in its place, each launch must count once; with the kernel back
/// in place, none may count. Leaves a new `executable` that was never updated.
inline void require_runs(const Operation& launch, ExecutableGraph& executable, const Graph& graph,
                         const Iteration& at) {
  Tally tally;
  executable.update(graph_of(1, tally.counting(1), at.stream));
  launch(at);
  tally.launched(1);
  tally.require(at.stream);
  executable = ExecutableGraph(graph, at.stream);
  launch(at);
  tally.require(at.stream);
}

/// Launches a graph of the single launch `kernel`, and verifies that it runs.
inline Operation launching_proven(GpuCase& gpu, const Operation& kernel) {
  const Stream stream;
  const auto graph = std::make_shared<const Graph>(graph_of(1, kernel, stream.get()));
  const auto executable = std::make_shared<ExecutableGraph>(*graph, stream.get());
  stream.synchronize();
  const Operation launch = [executable](const Iteration& at) { executable->launch(at.stream); };
  gpu.verify([=](const Iteration& at) { require_runs(launch, *executable, *graph, at); });
  return launch;
}

/// Two graphs of the same kernels with different arguments, and an executable graph that is created
/// or updated from each of them alternately.
class Remade {
 public:
  explicit Remade(std::size_t nodes) : nodes_(nodes) {}

  const Graph& next() {
    in_ones_ = !in_ones_;
    return in_ones_ ? ones_ : thousands_;
  }
  ExecutableGraph& executable() { return executable_; }
  void capture_anew(cudaStream_t stream) {
    captured_ = true;
    ones_ = graph_of(nodes_, tally_.counting(1), stream);
  }

  /// The executable graph must count like the graph that it was last made from, or, if none was
  /// made executable, like the graph captured last.
  void require(const Iteration& at) {
    if (captured_) {
      executable_ = ExecutableGraph(ones_);
    }
    executable_.launch(at.stream);
    tally_.launched(nodes_ * (in_ones_ ? 1 : 1000));
    tally_.require(at.stream);
  }

 private:
  std::size_t nodes_;
  Tally tally_;
  Graph ones_ = graph_of(nodes_, tally_.counting(1));
  Graph thousands_ = graph_of(nodes_, tally_.counting(1000));
  ExecutableGraph executable_{ones_};
  bool in_ones_ = true;
  bool captured_ = false;
};

}  // namespace warpgauge
