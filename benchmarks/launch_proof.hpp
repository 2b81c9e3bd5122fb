// SPDX-License-Identifier: Apache-2.0
// How the launch benchmarks prove that their kernels ran, also where the fixed pointers of a graph
// exclude rotated buffers.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <warpgauge/core/operation_facts.hpp>
#include <warpgauge/cuda/device_array.hpp>
#include <warpgauge/cuda/graph.hpp>
#include <warpgauge/cuda/seeded_data.hpp>
#include <warpgauge/cuda/stream.hpp>
#include <warpgauge/gpu/graph_inspection.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "kernels/launch/blocks.hpp"
#include "kernels/launch/chain.hpp"
#include "kernels/launch/probes.hpp"

namespace warpgauge {

// Results are read back on the benchmark's stream. The default stream would change later times
// (warpgauge/cuda/device_array.hpp).

/// Every launched kernel must have run exactly once.
class Tally {
 public:
  /// A kernel that adds `step` to the count. After each launch, call launched().
  Operation counting(std::uint64_t step) {
    return [count = count_.data(), step](const Iteration& at) {
      kernels::tally(count, step, at.stream);
    };
  }
  void launched(std::uint64_t counts) { launched_ += counts; }

  /// Throws WrongResult unless all earlier launches on `stream` were counted.
  void require(cudaStream_t stream) const {
    const unsigned long long counted = count_.download(stream).front();
    if (counted != launched_) {
      throw WrongResult("kernels that were launched count to " + std::to_string(launched_) +
                        ", those that ran to " + std::to_string(counted));
    }
  }

 private:
  DeviceArray<unsigned long long> count_ = zeroed<unsigned long long>(1);
  std::uint64_t launched_ = 0;
};

/// Throws WrongResult unless `operation` issues `kernel` (kernels/launch/probes.hpp) exactly
/// `times` times, each as one warp, and nothing else: read from a captured stream. An empty kernel
/// leaves no other trace: only a synchronisation without an error shows that it ran.
inline void require_launches(const Operation& operation, const void* kernel, std::size_t times,
                             const Iteration& at) {
  const Graph issued = Graph::capture(at.stream, [&] { operation(at); });
  const OperationFacts facts = inspect(issued, 0);
  if (facts.nodes() != times || facts.kernels.size() != times) {
    throw WrongResult("the operation issues " + std::to_string(facts.kernels.size()) +
                      " kernels in " + std::to_string(facts.nodes()) + " nodes, not " +
                      std::to_string(times) + " kernels");
  }
  const char* symbol = nullptr;
  WARPGAUGE_CHECK(cudaFuncGetName(&symbol, kernel));
  const std::string name = readable_kernel_name(symbol);
  for (const KernelFacts& launched : facts.kernels) {
    constexpr std::array<unsigned, 3> one_block{1, 1, 1};
    constexpr std::array<unsigned, 3> one_warp{32, 1, 1};
    const bool known = !launched.known || launched.name == name;
    if (!known || launched.grid != one_block || launched.block != one_warp) {
      throw WrongResult("the operation launches " + launched.name + ", " +
                        std::to_string(launched.grid[0]) + " blocks of " +
                        std::to_string(launched.block[0]) + " along x, not one warp of " + name);
    }
  }
}

/// `operation`, which must launch the empty kernel once, with this many bytes of arguments.
inline Operation one_empty(GpuCase& gpu, std::size_t argument_bytes, Operation operation) {
  gpu.verify([=](const Iteration& at) {
    require_launches(operation, kernels::empty_kernel(argument_bytes), 1, at);
  });
  return operation;
}

/// An operation of one launch of `blocks` blocks, which exchange their numbers in groups of `group`
/// (kernels/launch/blocks.hpp); their results are verified.
inline Operation exchanging(GpuCase& gpu, std::size_t blocks, std::size_t group,
                            const std::function<void(const Iteration&, float*)>& launch) {
  const auto out = gpu.output<float>(blocks);
  gpu.verify(out, {}, [group](const Iteration& at, Window window, double* expected) {
    kernels::exchange_reference(expected, window.first, window.count, group, at.stream);
  });
  return [=](const Iteration& at) { launch(at, out[at]); };
}

/// A chain of 16 small kernels, each of which depends on the one before: each adds 1 to 4096
/// floats.
inline constexpr std::size_t chain_floats = 4096;
inline constexpr unsigned chain_kernels = 16;
inline constexpr double chain_flops = 16.0 * 4096;

/// Each addition to |x| < 1.5 rounds a sum below 17.5 once; a missing one is an error of 1.
inline constexpr Tolerance chain_rounding{.absolute = 16 * 17.5 * unit_roundoff<float>};

/// One kernel of the chain.
using Step = void (*)(const float*, float*, std::size_t, cudaStream_t);

inline void in_steps(unsigned length, Step step, const float* in, float* out, cudaStream_t stream) {
  step(in, out, chain_floats, stream);
  for (unsigned kernel = 1; kernel < length; ++kernel) {
    step(out, out, chain_floats, stream);
  }
}

inline void in_one_kernel(const float* in, float* out, cudaStream_t stream) {
  kernels::add_one_fused(in, out, chain_floats, chain_kernels, stream);
}

/// The memory of a chain, always the same, so that a graph can hold it.
class ChainMemory {
 public:
  ChainMemory() {
    const Stream stream;
    detail::fill_seeded(in_.data(), chain_floats, 1, 0, stream.get());
    poison(stream.get());
  }
  const float* in() const { return in_.data(); }
  float* out() { return out_.data(); }

  /// Throws WrongResult unless a whole chain has run on `stream` since the last check.
  void require(cudaStream_t stream) {
    const std::vector<float> before = in_.download(stream);
    const std::vector<float> after = out_.download(stream);
    for (std::size_t i = 0; i < chain_floats; ++i) {
      const double expected = static_cast<double>(before[i]) + chain_kernels;
      if (!(std::abs(static_cast<double>(after[i]) - expected) <= chain_rounding.absolute)) {
        throw WrongResult("element " + std::to_string(i) + " at the end of the chain is " +
                          std::to_string(after[i]) + ", not " + std::to_string(expected));
      }
    }
    poison(stream);
  }

 private:
  void poison(cudaStream_t stream) {
    out_.fill_bytes(0xff, stream);  // NaN
    WARPGAUGE_CHECK(cudaStreamSynchronize(stream));
  }
  DeviceArray<float> in_{chain_floats};
  DeviceArray<float> out_{chain_floats};
};

}  // namespace warpgauge
