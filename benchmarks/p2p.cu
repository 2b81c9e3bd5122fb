// SPDX-License-Identifier: Apache-2.0
// Between two GPUs: copies by copy engines and by multiprocessors, atomic additions, and latency.
// Bound by the link, NVLink or PCI Express; small copies and latency by the round trip.
// limit_fraction is the fraction of the link's rate, in both directions if both are used. The
// current device pushes to its peer (the next visible device) or pulls from it. One graph works on
// both devices, and an operation starts after the previous one has ended on both, so nothing is
// pipelined (github.com/NVIDIA/nccl/issues/1984). `bytes` counts one direction. Skipped without two
// GPUs that can access each other's memory.
// Needs 2 GPUs.
#include <memory>

#include <warpgauge/core/units.hpp>
#include <warpgauge/cuda/device_array.hpp>
#include <warpgauge/gpu/peer.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include <warpgauge/program/run_context.hpp>
#include "benchmarks/memcpy_ways.hpp"
#include "kernels/memory/cache.hpp"
#include "kernels/memory/copy.hpp"
#include "kernels/p2p/p2p.hpp"

namespace {

using namespace warpgauge;

constexpr Way push{Memory::device, Memory::peer};
constexpr Way pull{Memory::peer, Memory::device};

using Floats = Buffer<float>;
using Copy = Operation (*)(const Floats& from, const Floats& to);

/// Uses a copy engine of the stream's device. With unified addressing this call is equivalent to
/// cudaMemcpyPeerAsync, which cannot be captured.
Operation by_engine(const Floats& from, const Floats& to) {
  return [=](const Iteration& at) {
    WARPGAUGE_CHECK(cudaMemcpyAsync(to[at], from[at], from.count() * sizeof(float),
                                    cudaMemcpyDefault, at.stream));
  };
}

/// Uses the multiprocessors of the stream's device, 16 bytes per thread.
Operation by_kernel(const Floats& from, const Floats& to) {
  return [=](const Iteration& at) {
    kernels::copy_bytes(from[at], to[at], from.count() * sizeof(float), at.stream);
  };
}

/// A copy with verification registered; the caller times it.
Operation verified_copy(GpuCase& gpu, Copy copy, Way way) {
  const std::size_t count = gpu.param("bytes") / sizeof(float);
  const auto from = gpu.input<float>(count, way.from);
  const auto to = gpu.output<float>(count, way.to);
  gpu.verify_copy(to, from);
  return copy(from, to);
}

auto one_way(Copy copy, Way way) {
  return [=](GpuCase& gpu) {
    gpu.moves_bytes(gpu.param("bytes"), gpu.peer().link());
    gpu.replay(verified_copy(gpu, copy, way));
  };
}

/// Both devices push to or pull from each other at once. The time is that of the slower copy.
auto both_ways(Copy copy, Way here, Way there) {
  return [=](GpuCase& gpu) {
    const Peer& peer = gpu.peer();
    gpu.moves_bytes(2 * gpu.param("bytes"), peer.link().both_ways());
    const Operation ours = verified_copy(gpu, copy, here);
    const Operation theirs = verified_copy(gpu, copy, there);
    gpu.replay([=, &peer](const Iteration& at) { peer.run(at, theirs, ours); });
  };
}

/// One thread makes dependent loads through a ring in the peer's memory. The row's time divided by
/// `loads` is the latency of a read.
auto chase(CacheState cache_state) {
  return [=](GpuCase& gpu) {
    const std::size_t bytes = gpu.param("bytes");
    const std::size_t loads = gpu.param("loads");
    const auto ring =
        gpu.peer().on_it([=] { return std::make_shared<const kernels::ChaseRing>(bytes); });
    const auto out = gpu.output<std::int32_t>(1);
    gpu.verify(out, {}, [=](const Iteration& at, Window, double* expected) {
      ring->reference((at.slot + 1) * loads, expected, at.stream);
    });
    // Each operation starts where the previous one ended, so it does not reload the same lines.
    gpu.replay([=](const Iteration& at) { (*ring)(at.slot* loads, loads, out[at], at.stream); },
               cache_state);
  };
}

/// A flag goes back and forth between kernels on both devices. Time divided by `rounds` is twice
/// the latency of a write. If the kernels do not overlap, both give up and the row is an error.
void ping_pong(GpuCase& gpu) {
  const Peer& peer = gpu.peer();
  const std::size_t rounds = gpu.param("rounds");
  const auto flag = [] {
    return std::make_shared<DeviceArray<std::uint32_t>>(zeroed<std::uint32_t>(1));
  };
  const auto ours = flag();
  const auto theirs = peer.on_it(flag);
  const auto served = gpu.output<std::int32_t>(1);
  const auto answered = gpu.output<std::int32_t>(1, Memory::peer);
  const auto all = [=](const Iteration&, std::size_t) { return static_cast<double>(rounds); };
  gpu.verify(served, {}, all);
  gpu.verify(answered, {}, all);
  gpu.replay([=, &peer](const Iteration& at) {
    peer.run(
        at,
        [&](const Iteration& there) {
          kernels::ping_pong(theirs->data(), ours->data(), rounds, false, answered[there],
                             there.stream);
        },
        [&](const Iteration& here) {
          kernels::ping_pong(ours->data(), theirs->data(), rounds, true, served[here], here.stream);
        });
  });
}

/// Additions to integers in the peer's memory. With `returning` each addition of a thread waits for
/// its previous one, so with one thread the time divided by `adds` is the latency of an addition.
auto atomic_adds(bool returning) {
  return [=](GpuCase& gpu) {
    const Peer& peer = gpu.peer();
    peer.require_atomics();
    const kernels::AddShape shape{gpu.param("threads"), gpu.param("adds")};
    const auto counters = peer.on_it([=] {
      return std::make_shared<DeviceArray<std::uint32_t>>(zeroed<std::uint32_t>(shape.threads));
    });
    const auto values = gpu.input<std::int32_t>(shape.threads);
    const auto out = gpu.output<std::int32_t>(shape.threads);
    // Packet headers are larger than the added values, so the link's rate is not the ceiling.
    gpu.moves_bytes(product({shape.threads, shape.adds, sizeof(std::int32_t)}), std::nullopt);
    gpu.verify(out, {}, [=](const Iteration& at, std::size_t i) {
      const auto value = static_cast<std::uint32_t>(static_cast<std::int32_t>(values(at, i)));
      return static_cast<double>(
          static_cast<std::int32_t>(value * static_cast<std::uint32_t>(shape.adds)));
    });
    gpu.replay([=](const Iteration& at) {
      kernels::atomic_add(values[at], counters->data(), out[at], shape, returning, at.stream);
    });
  };
}

const ContextRegistration uuid{"peer_gpu_uuid", peer_uuid};
const ContextRegistration link{"peer_link", peer_link};

const GpuBenchmark copies[] = {
    {"p2p/push", bytes({4 * kibi, 256 * mebi}, 4 * kibi, gibi), one_way(by_engine, push)},
    {"p2p/pull", bytes({256 * mebi}, 4 * kibi, gibi), one_way(by_engine, pull)},
    {"p2p/push_both_ways", bytes({256 * mebi}, 4 * kibi, gibi), both_ways(by_engine, push, pull)},
    {"p2p/pull_both_ways", bytes({}, 4 * kibi, gibi), both_ways(by_engine, pull, push)},
};

const GpuBenchmark copies_by_kernel[] = {
    {"p2p/push_by_kernel", bytes({4 * kibi, 256 * mebi}, 4 * kibi, gibi), one_way(by_kernel, push)},
    {"p2p/pull_by_kernel", bytes({256 * mebi}, 4 * kibi, gibi), one_way(by_kernel, pull)},
    {"p2p/push_both_ways_by_kernel", bytes({}, 4 * kibi, gibi), both_ways(by_kernel, push, pull)},
    {"p2p/pull_both_ways_by_kernel", bytes({}, 4 * kibi, gibi), both_ways(by_kernel, pull, push)},
};

// 256 MiB and 1 GiB exceed the peer's L2; 2 MiB fits in it but not in an L1.
const GpuBenchmark chase_memory{
    "p2p/chase", {{"bytes", {256 * mebi}, {gibi}}, {"loads", {1000}}}, chase(CacheState::cold)};
const GpuBenchmark chase_l2{
    "p2p/chase_hot", {{"bytes", {}, {2 * mebi}}, {"loads", {16'384}}}, chase(CacheState::hot)};
const GpuBenchmark flag{"p2p/ping_pong", {{"rounds", {1000}}}, ping_pong};

const GpuBenchmark adds{
    "p2p/atomic_add", {{"threads", {131'072}}, {"adds", {64}}}, atomic_adds(false)};
const GpuBenchmark adds_that_return{
    "p2p/atomic_add_returning", {{"threads", {1, 131'072}}, {"adds", {64}}}, atomic_adds(true)};

}  // namespace
