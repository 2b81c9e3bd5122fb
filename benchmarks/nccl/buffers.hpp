// SPDX-License-Identifier: Apache-2.0
// A rank's buffers, filled, poisoned and compared on its device, and its calls. For .cu files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <warpgauge/cuda/compare.hpp>
#include <warpgauge/cuda/device_array.hpp>
#include <warpgauge/cuda/grid_stride.cuh>
#include <warpgauge/gpu/operation.hpp>
#include "benchmarks/nccl/library.hpp"
#include "benchmarks/nccl/messages.hpp"

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

/// What one rank does in a collective: its buffers, and the call.
class RankOperation {
 public:
  RankOperation() = default;
  virtual ~RankOperation() = default;
  RankOperation(const RankOperation&) = delete;
  RankOperation& operator=(const RankOperation&) = delete;

  /// The element of the barriers. The benchmark's, so that it counts among the device memory of
  /// every row, and not of a process's first alone.
  float* arrived() { return arrived_.data(); }

  /// Enqueues this rank's call; it runs when the stream reaches it.
  virtual void issue(const Nccl& nccl, Nccl::Communicator communicator, const Iteration& at) = 0;

  /// Writes new inputs to every slot and poisons the outputs. Ranks give the same seed.
  virtual void renew(std::uint64_t seed) = 0;

  /// What is wrong with the output in this slot; empty if it is right. The operation has ended.
  virtual std::string fault(std::size_t slot) = 0;

 private:
  DeviceArray<float> arrived_ = zeroed<float>(1);
};

/// Inputs and outputs of a rank, in enough slots to cover `rotation_bytes`. In place, both share a
/// buffer, and reductions take the maximum because a sum would grow with each repetition.
template <class T>
class RankBuffers : public RankOperation {
 public:
  /// Throws std::runtime_error if the device has too little memory.
  explicit RankBuffers(const RankedShape& of)
      : shape_(of.shape), rank_(of.rank), in_place_(of.in_place) {
    // 256 bytes: the alignment of cudaMalloc. A replay has no more operations than most_slots.
    constexpr std::size_t alignment = 256 / sizeof(T);
    constexpr std::size_t most_slots = 512;
    const auto aligned = [](std::size_t count) {
      return (count + alignment - 1) / alignment * alignment;
    };
    input_stride_ =
        aligned(in_place_ ? std::max(shape_.inputs(), shape_.outputs()) : shape_.inputs());
    output_stride_ = in_place_ ? 0 : aligned(shape_.outputs());
    const std::size_t slot_bytes = (input_stride_ + output_stride_) * sizeof(T);
    slots_ =
        std::clamp<std::size_t>((of.rotation_bytes + slot_bytes - 1) / slot_bytes, 1, most_slots);
    inputs_ = DeviceArray<T>(slots_ * input_stride_);
    outputs_ = in_place_ ? DeviceArray<T>() : DeviceArray<T>(slots_ * output_stride_);
  }

  const T* input(std::size_t slot) const {
    const std::size_t within = in_place_ ? shape_.input_in_place(rank_) : 0;
    return inputs_.data() + slot % slots_ * input_stride_ + within;
  }
  T* output(std::size_t slot) {
    return in_place_
               ? inputs_.data() + slot % slots_ * input_stride_ + shape_.output_in_place(rank_)
               : outputs_.data() + slot % slots_ * output_stride_;
  }

  void issue(const Nccl& nccl, Nccl::Communicator with, const Iteration& at) override {
    constexpr auto type = sizeof(T) == sizeof(float) ? Nccl::Type::float32 : Nccl::Type::bfloat16;
    const auto reduction = in_place_ ? Nccl::Reduction::max : Nccl::Reduction::sum;
    const T* const from = input(at.slot);
    T* const to = output(at.slot);
    const std::size_t block = shape_.block;
    switch (shape_.collective) {
      case Collective::all_reduce:
        return nccl.require(nccl.all_reduce(from, to, block, type, reduction, with, at.stream),
                            "ncclAllReduce");
      case Collective::all_gather:
        return nccl.require(nccl.all_gather(from, to, block, type, with, at.stream),
                            "ncclAllGather");
      case Collective::reduce_scatter:
        return nccl.require(nccl.reduce_scatter(from, to, block, type, reduction, with, at.stream),
                            "ncclReduceScatter");
      case Collective::broadcast:
        return nccl.require(nccl.broadcast(from, to, block, type, 0, with, at.stream),
                            "ncclBroadcast");
      case Collective::all_to_all:
        break;
    }
    nccl.require(nccl.group_start(), "ncclGroupStart");
    Nccl::Result result = Nccl::success;
    for (std::size_t other = 0; other < shape_.ranks && result == Nccl::success; ++other) {
      const auto peer = static_cast<int>(other);
      result = nccl.send(from + other * block, block, type, peer, with, at.stream);
      if (result == Nccl::success) {
        result = nccl.receive(to + other * block, block, type, peer, with, at.stream);
      }
    }
    const Nccl::Result ended = nccl.group_end();
    nccl.require(result, "ncclSend or ncclRecv");
    nccl.require(ended, "ncclGroupEnd");
  }

  void renew(std::uint64_t seed) override {
    seed_ = seed;
    const Stream stream;
    inputs_.fill_bytes(detail::untouched_byte, stream.get());
    if (!in_place_) {
      outputs_.fill_bytes(detail::untouched_byte, stream.get());
    }
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      const std::size_t count = shape_.inputs();
      T* const to = const_cast<T*>(input(slot));
      detail::fill_inputs<<<detail::grid_stride_blocks(count), detail::grid_stride_threads, 0,
                            stream.get()>>>(to, count, seed_of(slot), rank_);
      WARPGAUGE_CHECK(cudaGetLastError());
    }
    stream.synchronize();
  }

  std::string fault(std::size_t slot) override {
    constexpr unsigned long long none = ~0ULL;
    const Stream stream;
    const std::size_t count = shape_.outputs();
    const T* const values = output(slot);
    wrong_.fill_bytes(detail::untouched_byte, stream.get());
    detail::find_wrong<<<detail::grid_stride_blocks(count), detail::grid_stride_threads, 0,
                         stream.get()>>>(values, count, shape_, in_place_, seed_of(slot), rank_,
                                         wrong_.data());
    WARPGAUGE_CHECK(cudaGetLastError());
    const unsigned long long first = wrong_.download(stream.get()).front();
    if (first == none) {
      return "";
    }
    T got{};
    WARPGAUGE_CHECK(
        cudaMemcpyAsync(&got, values + first, sizeof(T), cudaMemcpyDefault, stream.get()));
    stream.synchronize();
    return name_of(shape_.collective) + ": element " + std::to_string(first) + " of rank " +
           std::to_string(rank_) + " is " + std::to_string(static_cast<float>(got)) + ", and not " +
           std::to_string(output_value(shape_, in_place_, seed_of(slot), rank_, first));
  }

 private:
  static constexpr std::uint64_t most_seeds = 1024;
  std::uint64_t seed_of(std::size_t slot) const { return seed_ * most_seeds + slot % slots_; }

  Shape shape_;
  std::size_t rank_;
  bool in_place_;
  std::size_t slots_ = 1;
  std::size_t input_stride_ = 0;
  std::size_t output_stride_ = 0;
  std::uint64_t seed_ = 0;
  DeviceArray<T> inputs_;
  DeviceArray<T> outputs_;
  DeviceArray<unsigned long long> wrong_ = zeroed<unsigned long long>(1);
};

inline std::unique_ptr<RankOperation> rank_operation(const RankedShape& of) {
  if (of.shape.element_bytes == sizeof(float)) {
    return std::make_unique<RankBuffers<float>>(of);
  }
  return std::make_unique<RankBuffers<__nv_bfloat16>>(of);
}

}  // namespace warpgauge
