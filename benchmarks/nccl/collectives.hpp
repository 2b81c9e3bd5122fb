// SPDX-License-Identifier: Apache-2.0
// The inputs, outputs and expected results of each collective, by rank. Needs no NCCL or device.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <warpgauge/peer/channel.hpp>

namespace warpgauge {

enum class Collective : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,  ///< from rank 0
  all_to_all,
};

/// As in benchmark names.
inline std::string name_of(Collective collective) {
  constexpr std::array<const char*, 5> names{"all_reduce", "all_gather", "reduce_scatter",
                                             "broadcast", "all_to_all"};
  return names.at(static_cast<std::size_t>(collective));
}

/// A collective of `bytes` over `ranks` ranks. `bytes` is the size of nccl-tests
/// (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md): the larger of a rank's input and output.
class Shape {
 public:
  Shape(Collective which, std::size_t of_ranks, std::size_t bytes, std::size_t of_element)
      : collective(which),
        ranks(of_ranks),
        block(std::max<std::size_t>(1, bytes / of_element / (in_blocks() ? of_ranks : 1))),
        element_bytes(of_element) {}

  /// Elements that a rank sends and receives.
  std::size_t inputs() const { return sends_blocks() ? ranks * block : block; }
  std::size_t outputs() const { return gets_blocks() ? ranks * block : block; }
  std::size_t bytes() const { return std::max(inputs(), outputs()) * element_bytes; }

  /// These bytes divided by the time are the bandwidth of the slowest link: nccl-tests' bus
  /// bandwidth, which does not depend on the number of ranks.
  double bus_bytes() const {
    const double others = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
    const double share = collective == Collective::all_reduce  ? 2 * others
                         : collective == Collective::broadcast ? 1
                                                               : others;
    return share * static_cast<double>(bytes());
  }

  /// Offsets of a rank's input and output in the shared buffer of an in-place operation.
  std::size_t input_in_place(std::size_t rank) const { return sends_blocks() ? 0 : own(rank); }
  std::size_t output_in_place(std::size_t rank) const { return gets_blocks() ? 0 : own(rank); }

  Collective collective;
  std::size_t ranks;
  std::size_t block;  ///< elements per rank
  std::size_t element_bytes;

 private:
  bool in_blocks() const { return sends_blocks() || gets_blocks(); }
  bool sends_blocks() const {
    return collective == Collective::reduce_scatter || collective == Collective::all_to_all;
  }
  bool gets_blocks() const {
    return collective == Collective::all_gather || collective == Collective::all_to_all;
  }
  std::size_t own(std::size_t rank) const { return in_blocks() ? rank * block : 0; }
};

/// A collective of which a process is one rank.
struct RankedShape {
  Shape shape;
  std::size_t rank = 0;
  bool in_place = false;
  std::size_t rotation_bytes = 0;  ///< that the buffers' slots cover together

  /// To the other ranks, which know their own rank; and back.
  Message message() const {
    return {"operation",
            {static_cast<std::uint64_t>(shape.collective), shape.bytes(), shape.element_bytes,
             in_place ? 1U : 0U, rotation_bytes}};
  }
  static RankedShape in(const Message& message, std::size_t ranks, std::size_t rank) {
    const auto& numbers = message.numbers;
    return {Shape(static_cast<Collective>(numbers.at(0)), ranks, numbers.at(1), numbers.at(2)),
            rank, numbers.at(3) != 0, numbers.at(4)};
  }
};

/// Element `index` of a rank's input: an integer from 1 to 8, so that sums of 32 ranks are exact in
/// every type. SplitMix64's finaliser (Steele, Lea, Flood 2014) over seed, rank and index.
__host__ __device__ inline float input_value(std::uint64_t seed, std::size_t rank,
                                             std::size_t index) {
  std::uint64_t z = seed + rank * 0xd1342543de82ef95ULL + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<float>(1 + (z >> 61));
}

/// Element `index` of a rank's output. `maximum`: reductions take the maximum instead of the sum.
__host__ __device__ inline float output_value(const Shape& shape, bool maximum, std::uint64_t seed,
                                              std::size_t rank, std::size_t index) {
  const std::size_t block = shape.block;
  switch (shape.collective) {
    case Collective::all_gather:
      return input_value(seed, index / block, index % block);
    case Collective::broadcast:
      return input_value(seed, 0, index);
    case Collective::all_to_all:
      return input_value(seed, index / block, rank * block + index % block);
    case Collective::all_reduce:
    case Collective::reduce_scatter:
      break;
  }
  const bool scatters = shape.collective == Collective::reduce_scatter;
  const std::size_t at = scatters ? rank * block + index : index;
  float value = 0;
  for (std::size_t source = 0; source < shape.ranks; ++source) {
    const float one = input_value(seed, source, at);
    value = !maximum ? value + one : one > value ? one : value;
  }
  return value;
}

}  // namespace warpgauge
