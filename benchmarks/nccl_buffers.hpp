// SPDX-License-Identifier: Apache-2.0
// The ranks' buffers, filled, poisoned and compared on their devices. For .cu files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <warpgauge/cuda/compare.hpp>
#include <warpgauge/cuda/device_array.hpp>
#include <warpgauge/cuda/grid_stride.cuh>
#include <warpgauge/gpu/operation.hpp>
#include "benchmarks/nccl_collectives.hpp"
#include "benchmarks/nccl_ranks.hpp"

namespace warpgauge {
namespace detail {

template <class T>
__global__ void fill_inputs(T* values, std::size_t count, std::uint64_t seed, std::size_t rank) {
  for (std::size_t i = thread_index(); i < count; i += thread_count()) {
    values[i] = static_cast<T>(input_value(seed, rank, i));
  }
}

/// Lowers *wrong to the smallest index of an element that differs.
template <class T>
__global__ void find_wrong(const T* values, std::size_t count, Shape shape, bool maximum,
                           std::uint64_t seed, std::size_t rank, unsigned long long* wrong) {
  for (std::size_t i = thread_index(); i < count; i += thread_count()) {
    const float expected = output_value(shape, maximum, seed, rank, i);
    if (!(static_cast<float>(values[i]) == expected)) {
      atomicMin(wrong, static_cast<unsigned long long>(i));
    }
  }
}

}  // namespace detail

/// Inputs and outputs of every rank, in enough slots to cover `rotation_bytes`. In place, both
/// share a buffer, and reductions take the maximum because a sum would grow with each repetition.
template <class T>
class RankBuffers {
 public:
  /// Throws std::runtime_error if a device has too little memory.
  RankBuffers(const Ranks& ranks, const Shape& shape, bool in_place, std::size_t rotation_bytes)
      : ranks_(ranks), shape_(shape), in_place_(in_place) {
    // 256 bytes: the alignment of cudaMalloc. A replay has no more operations than most_slots.
    constexpr std::size_t alignment = 256 / sizeof(T);
    constexpr std::size_t most_slots = 512;
    const auto aligned = [](std::size_t count) {
      return (count + alignment - 1) / alignment * alignment;
    };
    input_stride_ = aligned(in_place ? std::max(shape.inputs(), shape.outputs()) : shape.inputs());
    output_stride_ = in_place ? 0 : aligned(shape.outputs());
    const std::size_t slot_bytes = (input_stride_ + output_stride_) * sizeof(T);
    slots_ = std::clamp<std::size_t>((rotation_bytes + slot_bytes - 1) / slot_bytes, 1, most_slots);
    ranks_.on_each([&](std::size_t) {
      arrays_.push_back({DeviceArray<T>(slots_ * input_stride_),
                         in_place ? DeviceArray<T>() : DeviceArray<T>(slots_ * output_stride_),
                         zeroed<unsigned long long>(1)});
    });
    renew();
  }
  ~RankBuffers() {
    try {
      ranks_.synchronize();
    } catch (const CudaError& error) {
      report_cuda_error(error.code(), "cudaDeviceSynchronize");
    }
  }
  RankBuffers(const RankBuffers&) = delete;
  RankBuffers& operator=(const RankBuffers&) = delete;

  const T* input(std::size_t rank, std::size_t slot) const {
    const std::size_t within = in_place_ ? shape_.input_in_place(rank) : 0;
    return arrays_[rank].inputs.data() + slot % slots_ * input_stride_ + within;
  }
  T* output(std::size_t rank, std::size_t slot) {
    Arrays& own = arrays_[rank];
    return in_place_
               ? own.inputs.data() + slot % slots_ * input_stride_ + shape_.output_in_place(rank)
               : own.outputs.data() + slot % slots_ * output_stride_;
  }

  Nccl::Reduction reduction() const {
    return in_place_ ? Nccl::Reduction::max : Nccl::Reduction::sum;
  }

  /// Writes new inputs to every slot of every rank and poisons the outputs.
  void renew() {
    ++seed_;
    ranks_.on_each([&](std::size_t rank) {
      const Stream stream;
      Arrays& arrays = arrays_[rank];
      arrays.inputs.fill_bytes(detail::untouched_byte, stream.get());
      if (!in_place_) {
        arrays.outputs.fill_bytes(detail::untouched_byte, stream.get());
      }
      for (std::size_t slot = 0; slot < slots_; ++slot) {
        const std::size_t count = shape_.inputs();
        T* const to = const_cast<T*>(input(rank, slot));
        detail::fill_inputs<<<detail::grid_stride_blocks(count), detail::grid_stride_threads, 0,
                              stream.get()>>>(to, count, seed_of(slot), rank);
        WARPGAUGE_CHECK(cudaGetLastError());
      }
      stream.synchronize();
    });
  }

  /// Throws WrongResult unless every rank's output in this slot is correct.
  void require_right(std::size_t slot) {
    constexpr unsigned long long none = ~0ULL;
    ranks_.synchronize();
    ranks_.on_each([&](std::size_t rank) {
      const Stream stream;
      const std::size_t count = shape_.outputs();
      const T* const values = output(rank, slot);
      DeviceArray<unsigned long long>& wrong = arrays_[rank].wrong;
      wrong.fill_bytes(detail::untouched_byte, stream.get());
      detail::find_wrong<<<detail::grid_stride_blocks(count), detail::grid_stride_threads, 0,
                           stream.get()>>>(values, count, shape_, in_place_, seed_of(slot), rank,
                                           wrong.data());
      WARPGAUGE_CHECK(cudaGetLastError());
      const unsigned long long first = wrong.download(stream.get()).front();
      if (first != none) {
        T got{};
        WARPGAUGE_CHECK(
            cudaMemcpyAsync(&got, values + first, sizeof(T), cudaMemcpyDefault, stream.get()));
        stream.synchronize();
        throw WrongResult(
            name_of(shape_.collective) + ": element " + std::to_string(first) + " of rank " +
            std::to_string(rank) + " is " + std::to_string(static_cast<float>(got)) + ", and not " +
            std::to_string(output_value(shape_, in_place_, seed_of(slot), rank, first)));
      }
    });
  }

 private:
  struct Arrays {
    DeviceArray<T> inputs;
    DeviceArray<T> outputs;
    DeviceArray<unsigned long long> wrong;
  };

  std::uint64_t seed_of(std::size_t slot) const { return seed_ * most_seeds + slot % slots_; }

  static constexpr std::uint64_t most_seeds = 1024;

  const Ranks& ranks_;
  Shape shape_;
  bool in_place_;
  std::size_t slots_ = 1;
  std::size_t input_stride_ = 0;
  std::size_t output_stride_ = 0;
  std::uint64_t seed_ = 0;
  std::vector<Arrays> arrays_;
};

/// One collective of all ranks on `slot`, to be passed to Ranks::issue() or Ranks::run().
template <class T>
Ranks::Issue issue_of(const Shape& shape, RankBuffers<T>& buffers, const Nccl& nccl,
                      std::size_t slot) {
  constexpr Nccl::Type type =
      sizeof(T) == sizeof(float) ? Nccl::Type::float32 : Nccl::Type::bfloat16;
  return [&shape, &buffers, &nccl, slot](std::size_t rank, const Ranks::Rank& own) {
    const T* const from = buffers.input(rank, slot);
    T* const to = buffers.output(rank, slot);
    const std::size_t block = shape.block;
    switch (shape.collective) {
      case Collective::all_reduce:
        return nccl.require(nccl.all_reduce(from, to, block, type, buffers.reduction(),
                                            own.communicator, own.stream),
                            "ncclAllReduce");
      case Collective::all_gather:
        return nccl.require(nccl.all_gather(from, to, block, type, own.communicator, own.stream),
                            "ncclAllGather");
      case Collective::reduce_scatter:
        return nccl.require(nccl.reduce_scatter(from, to, block, type, buffers.reduction(),
                                                own.communicator, own.stream),
                            "ncclReduceScatter");
      case Collective::broadcast:
        return nccl.require(nccl.broadcast(from, to, block, type, 0, own.communicator, own.stream),
                            "ncclBroadcast");
      case Collective::all_to_all:
        for (std::size_t other = 0; other < shape.ranks; ++other) {
          const auto peer = static_cast<int>(other);
          nccl.require(
              nccl.send(from + other * block, block, type, peer, own.communicator, own.stream),
              "ncclSend");
          nccl.require(
              nccl.receive(to + other * block, block, type, peer, own.communicator, own.stream),
              "ncclRecv");
        }
    }
  };
}

}  // namespace warpgauge
