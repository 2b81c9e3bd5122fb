// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/nccl/buffers.hpp"

#include <cuda_bf16.h>

#include <algorithm>

#include <warpgauge/cuda/compare.hpp>
#include <warpgauge/cuda/grid_stride.cuh>

namespace warpgauge {
namespace {

template <class T>
__global__ void fill_inputs(T* values, std::size_t count, std::uint64_t seed, std::size_t rank) {
  for (std::size_t i = detail::thread_index(); i < count; i += detail::thread_count()) {
    values[i] = static_cast<T>(input_value(seed, rank, i));
  }
}

/// Lowers *wrong to the smallest index of an element that differs.
template <class T>
__global__ void find_wrong(const T* values, std::size_t count, Shape shape, bool maximum,
                           std::uint64_t seed, std::size_t rank, unsigned long long* wrong) {
  for (std::size_t i = detail::thread_index(); i < count; i += detail::thread_count()) {
    const float expected = output_value(shape, maximum, seed, rank, i);
    if (!(static_cast<float>(values[i]) == expected)) {
      atomicMin(wrong, static_cast<unsigned long long>(i));
    }
  }
}

template <class T>
void fill(void* values, std::size_t count, std::uint64_t seed, std::size_t rank,
          cudaStream_t stream) {
  fill_inputs<<<detail::grid_stride_blocks(count), detail::grid_stride_threads, 0, stream>>>(
      static_cast<T*>(values), count, seed, rank);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace

RankBuffers::RankBuffers(const RankedShape& of) : of_(of) {
  // 256 bytes: the alignment of cudaMalloc. A replay has no more operations than most_slots.
  constexpr std::size_t alignment = 256;
  constexpr std::size_t most_slots = 512;
  const Shape& shape = of.shape;
  const auto stride = [&](std::size_t elements) {
    return (elements * shape.element_bytes + alignment - 1) / alignment * alignment;
  };
  input_stride_ = stride(of.in_place ? std::max(shape.inputs(), shape.outputs()) : shape.inputs());
  output_stride_ = of.in_place ? 0 : stride(shape.outputs());
  const std::size_t slot_bytes = input_stride_ + output_stride_;
  slots_ =
      std::clamp<std::size_t>((of.rotation_bytes + slot_bytes - 1) / slot_bytes, 1, most_slots);
  inputs_ = DeviceArray<std::byte>(slots_ * input_stride_);
  if (!of.in_place) {
    outputs_ = DeviceArray<std::byte>(slots_ * output_stride_);
  }
}

void* RankBuffers::input(std::size_t slot) {
  const std::size_t within = of_.in_place ? of_.shape.input_in_place(of_.rank) : 0;
  return inputs_.data() + slot % slots_ * input_stride_ + within * of_.shape.element_bytes;
}

void* RankBuffers::output(std::size_t slot) {
  if (!of_.in_place) {
    return outputs_.data() + slot % slots_ * output_stride_;
  }
  const std::size_t within = of_.shape.output_in_place(of_.rank);
  return inputs_.data() + slot % slots_ * input_stride_ + within * of_.shape.element_bytes;
}

void RankBuffers::issue(const Nccl& nccl, Nccl::Communicator with, const Iteration& at) {
  const Shape& shape = of_.shape;
  const auto type =
      shape.element_bytes == sizeof(float) ? Nccl::Type::float32 : Nccl::Type::bfloat16;
  const auto reduction = of_.in_place ? Nccl::Reduction::max : Nccl::Reduction::sum;
  const void* const from = input(at.slot);
  void* const to = output(at.slot);
  const std::size_t block = shape.block;
  switch (shape.collective) {
    case Collective::all_reduce:
      return nccl.require(nccl.all_reduce(from, to, block, type, reduction, with, at.stream),
                          "ncclAllReduce");
    case Collective::all_gather:
      return nccl.require(nccl.all_gather(from, to, block, type, with, at.stream), "ncclAllGather");
    case Collective::reduce_scatter:
      return nccl.require(nccl.reduce_scatter(from, to, block, type, reduction, with, at.stream),
                          "ncclReduceScatter");
    case Collective::broadcast:
      return nccl.require(nccl.broadcast(from, to, block, type, 0, with, at.stream),
                          "ncclBroadcast");
    case Collective::all_to_all:
      break;
  }
  const std::size_t block_bytes = block * shape.element_bytes;
  nccl.require(nccl.group_start(), "ncclGroupStart");
  Nccl::Result result = Nccl::success;
  for (std::size_t other = 0; other < shape.ranks && result == Nccl::success; ++other) {
    const auto peer = static_cast<int>(other);
    const std::size_t offset = other * block_bytes;
    result =
        nccl.send(static_cast<const std::byte*>(from) + offset, block, type, peer, with, at.stream);
    if (result == Nccl::success) {
      result =
          nccl.receive(static_cast<std::byte*>(to) + offset, block, type, peer, with, at.stream);
    }
  }
  const Nccl::Result ended = nccl.group_end();
  nccl.require(result, "ncclSend or ncclRecv");
  nccl.require(ended, "ncclGroupEnd");
}

void RankBuffers::renew(std::uint64_t seed) {
  seed_ = seed;
  const Stream stream;
  inputs_.fill_bytes(detail::untouched_byte, stream.get());
  if (!of_.in_place) {
    outputs_.fill_bytes(detail::untouched_byte, stream.get());
  }
  const auto fill_one =
      of_.shape.element_bytes == sizeof(float) ? fill<float> : fill<__nv_bfloat16>;
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    fill_one(input(slot), of_.shape.inputs(), seed_of(slot), of_.rank, stream.get());
  }
  stream.synchronize();
}

std::string RankBuffers::fault(std::size_t slot) {
  return of_.shape.element_bytes == sizeof(float) ? fault_of<float>(slot)
                                                  : fault_of<__nv_bfloat16>(slot);
}

template <class T>
std::string RankBuffers::fault_of(std::size_t slot) {
  constexpr unsigned long long none = ~0ULL;
  const Stream stream;
  const std::size_t count = of_.shape.outputs();
  const T* const values = static_cast<T*>(output(slot));
  wrong_.fill_bytes(detail::untouched_byte, stream.get());
  find_wrong<<<detail::grid_stride_blocks(count), detail::grid_stride_threads, 0, stream.get()>>>(
      values, count, of_.shape, of_.in_place, seed_of(slot), of_.rank, wrong_.data());
  WARPGAUGE_CHECK(cudaGetLastError());
  const unsigned long long first = wrong_.download(stream.get()).front();
  if (first == none) {
    return "";
  }
  T got{};
  WARPGAUGE_CHECK(
      cudaMemcpyAsync(&got, values + first, sizeof(T), cudaMemcpyDefault, stream.get()));
  stream.synchronize();
  return name_of(of_.shape.collective) + ": element " + std::to_string(first) + " of rank " +
         std::to_string(of_.rank) + " is " + std::to_string(static_cast<float>(got)) +
         ", and not " +
         std::to_string(output_value(of_.shape, of_.in_place, seed_of(slot), of_.rank, first));
}

std::uint64_t RankBuffers::seed_of(std::size_t slot) const {
  constexpr std::uint64_t most_slots = 1024;
  return seed_ * most_slots + slot % slots_;
}

}  // namespace warpgauge
