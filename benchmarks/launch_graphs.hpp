// SPDX-License-Identifier: Apache-2.0
// Graphs that the launch benchmarks make, launch and change.
#pragma once

#include <cstddef>
#include <memory>

#include <warpgauge/cuda/graph.hpp>
#include <warpgauge/cuda/stream.hpp>
#include "benchmarks/launch_proof.hpp"

namespace warpgauge {

/// The graph of `nodes` times what `operation` launches, in a row.
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

/// Launches `graph`, which is on the device already.
inline Operation launching(const Graph& graph) {
  const Stream stream;
  const auto executable = std::make_shared<const ExecutableGraph>(graph, stream.get());
  stream.synchronize();
  return [executable](const Iteration& at) { executable->launch(at.stream); };
}

/// Throws WrongResult unless `launch` runs `executable`, made of `graph`, which is one kernel, and
/// that kernel: in its place one that counts does so once a launch, and not once it is gone again.
/// Leaves a new `executable`, as a program launches one, and not the one that was changed.
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

/// Launches a graph of `kernel`, which is one launch, and verifies that this runs it.
inline Operation launching_proven(GpuCase& gpu, const Operation& kernel) {
  const Stream stream;
  const auto graph = std::make_shared<const Graph>(graph_of(1, kernel, stream.get()));
  const auto executable = std::make_shared<ExecutableGraph>(*graph, stream.get());
  stream.synchronize();
  const Operation launch = [executable](const Iteration& at) { executable->launch(at.stream); };
  gpu.verify([=](const Iteration& at) { require_runs(launch, *executable, *graph, at); });
  return launch;
}

/// Two graphs of the same kernels with other arguments, and an executable one that is made anew or
/// changed, from one and the other alternately.
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

  /// The executable graph must count as the graph does that it was last made from; where no graph
  /// is made executable, the one that was captured last.
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
