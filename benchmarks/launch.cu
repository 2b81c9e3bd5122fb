// SPDX-License-Identifier: Apache-2.0
// The cost of starting work: the call on the host, the time from the call to the end of the work,
// and the device time from one kernel to the next. Bound by the driver and by the device's front
// end, unless a variant says otherwise.
#include <memory>
#include <string>

#include <warpgauge/gpu_benchmark.hpp>
#include "benchmarks/launch_graphs.hpp"
#include "benchmarks/launch_proof.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/launch/probes.hpp"

namespace {

using namespace warpgauge;

void need_hopper(const GpuCase& gpu, const char* what) {
  if (gpu.device().compute_major < 9) {
    throw Unsupported(std::string(what) + " needs compute capability 9.0");
  }
}

// How operations are measured, to be registered by name below.

using Make = Operation (*)(GpuCase&);

/// Host time of the call. The device keeps up, so nothing waits.
auto issued(Make make) {
  return [=](GpuCase& gpu) { gpu.issue(make(gpu)); };
}

/// Host time from the call until the host knows that the work has ended.
auto awaited(Make make) {
  return [=](GpuCase& gpu) { gpu.host_calls(synchronised(make(gpu))); };
}

/// Device time from one operation to the next on a stream.
auto queued(Make make) {
  return [=](GpuCase& gpu) { gpu.stream_period(make(gpu)); };
}

/// Device time as nodes of one graph.
auto replayed(Make make) {
  return [=](GpuCase& gpu) { gpu.replay(make(gpu)); };
}

// ---- One empty kernel, with 0 to 4 KiB of arguments. ----

Operation launch_empty(GpuCase& gpu) {
  const std::size_t bytes = gpu.param("argument_bytes");
  return one_empty(gpu, bytes,
                   [bytes](const Iteration& at) { kernels::launch_empty(bytes, at.stream); });
}

Operation launch_empty_graph(GpuCase& gpu) {
  return launching_proven(gpu, launch_empty(gpu));
}

const Axes arguments{{"argument_bytes", {0}, {64, 1024, 4096}}};
// The default suite has the awaited launch without arguments as sync/stream_behind_kernel.
const Axes some_arguments{{"argument_bytes", {}, {0, 4096}}};
const GpuBenchmark empty_kernels[] = {
    {"launch/stream_empty", {{"argument_bytes", {0, 4096}, {64, 1024}}}, issued(launch_empty)},
    {"launch/graph_empty", arguments, issued(launch_empty_graph)},
    {"launch/stream_empty_device", arguments, queued(launch_empty)},
    {"launch/graph_empty_device", arguments, replayed(launch_empty)},
    {"launch/stream_empty_end_to_end", some_arguments, awaited(launch_empty)},
    {"launch/graph_empty_end_to_end", some_arguments, awaited(launch_empty_graph)},
};

// ---- Blocks: many, cooperative, and in clusters. ----

constexpr std::size_t together = 128;  // blocks of one warp: any GPU has room for all at once

Operation launch_grid(GpuCase& gpu) {
  const std::size_t blocks = gpu.param("blocks");
  return exchanging(gpu, blocks, 1, [=](const Iteration& at, float* out) {
    kernels::number_blocks(out, blocks, at.stream);
  });
}

Operation launch_cooperative(GpuCase& gpu) {
  const auto middle = gpu.output<float>(together);
  gpu.verify(middle, {}, [](const Iteration& at, Window window, double* expected) {
    kernels::exchange_reference(expected, window.first, window.count, 1, at.stream);
  });
  return exchanging(gpu, together, together, [=](const Iteration& at, float* out) {
    kernels::exchange_in_grid(middle[at], out, together, at.stream);
  });
}

Operation launch_clusters(GpuCase& gpu) {
  need_hopper(gpu, "a cluster");
  const std::size_t cluster = gpu.param("cluster");
  return exchanging(gpu, together, cluster, [=](const Iteration& at, float* out) {
    kernels::exchange_in_cluster(out, together, cluster, at.stream);
  });
}

const Axes clusters{{"cluster", {8}, {1, 2, 4}}};
const GpuBenchmark blocks[] = {
    // Bound by the rate at which blocks are assigned to the multiprocessors.
    {"launch/grid_device",
     {{"blocks", {16384}, {1, 128, 1024, 131072, 1048576}}},
     replayed(launch_grid)},
    // The call, and on the device one barrier of all blocks, or of each cluster's.
    {"launch/cooperative", {}, issued(launch_cooperative)},
    {"launch/cooperative_device", {}, replayed(launch_cooperative)},
    {"launch/cluster", clusters, issued(launch_clusters)},
    {"launch/cluster_device", clusters, replayed(launch_clusters)},
};

// ---- Graphs by their number of nodes: kernels in sequence that count themselves. ----

Operation launch_nodes(GpuCase& gpu) {
  const auto tally = std::make_shared<Tally>();
  gpu.verify([tally](const Iteration& at) { tally->require(at.stream); });
  const std::size_t nodes = gpu.param("nodes");
  return [=, launch = launching(graph_of(nodes, tally->counting(1)))](const Iteration& at) {
    launch(at);
    tally->launched(nodes);
  };
}

// More kernels hardly lengthen the call; on the device they are the bound.
const Axes some_nodes{{"nodes", {10}, {1, 100, 1000}}};
const GpuBenchmark graph_launches[] = {
    {"launch/graph_launch", some_nodes, issued(launch_nodes)},
    {"launch/graph_launch_device", {{"nodes", {1}, {10, 100}}}, queued(launch_nodes)},
};

auto remaking(void (*make)(Remade&, cudaStream_t)) {
  return [=](GpuCase& gpu) {
    const auto graphs = std::make_shared<Remade>(gpu.param("nodes"));
    gpu.verify([graphs](const Iteration& at) { graphs->require(at); });
    gpu.host_calls([=](const Iteration& at) { make(*graphs, at.stream); });
  };
}

// Bound by the host alone: the driver walks the nodes. Instantiation includes the destruction of
// the earlier executable graph: neither can be repeated without the other.
const GpuBenchmark remade_graphs[] = {
    {"launch/graph_instantiate", some_nodes,
     remaking([](Remade& of, cudaStream_t) { of.executable() = ExecutableGraph(of.next()); })},
    {"launch/graph_update", some_nodes,
     remaking([](Remade& of, cudaStream_t) { of.executable().update(of.next()); })},
    {"launch/graph_capture", {{"nodes", {}, {100}}}, remaking([](Remade& of, cudaStream_t stream) {
       of.capture_anew(stream);
     })},
};

// ---- A chain of small kernels. ----

/// From the first call until the host knows that the chain has ended.
auto awaited_chain(Operation (*chain)(ChainMemory&)) {
  return [=](GpuCase& gpu) {
    const auto memory = std::make_shared<ChainMemory>();
    gpu.verify([memory](const Iteration& at) { memory->require(at.stream); });
    gpu.computes_flops(chain_flops);
    gpu.host_calls(synchronised(chain(*memory)));
  };
}

Operation one_by_one(ChainMemory& memory) {
  return [in = memory.in(), out = memory.out()](const Iteration& at) {
    in_steps(chain_kernels, kernels::add_one, in, out, at.stream);
  };
}

Operation as_one_graph(ChainMemory& memory) {
  return launching(graph_of(1, one_by_one(memory)));
}

Operation as_one_kernel(ChainMemory& memory) {
  return [in = memory.in(), out = memory.out()](const Iteration& at) {
    in_one_kernel(in, out, at.stream);
  };
}

// Bound by the sixteen calls, by the sixteen kernels on the device, or by one of each.
const GpuBenchmark chains[] = {
    {"launch/chain_stream", {}, awaited_chain(one_by_one)},
    {"launch/chain_graph", {}, awaited_chain(as_one_graph)},
    {"launch/chain_fused", {}, awaited_chain(as_one_kernel)},
};

/// A chain of `length` kernels like `step`, each time in its own memory.
Operation chain_of(GpuCase& gpu, unsigned length, Step step) {
  const auto in = gpu.input<float>(chain_floats);
  const auto out = gpu.output<float>(chain_floats);
  gpu.computes_flops(static_cast<double>(length * chain_floats));
  gpu.verify(out, chain_rounding, [=](const Iteration& at, Window window, double* expected) {
    kernels::add_one_reference(in[at] + window.first, expected, window.count, length, at.stream);
  });
  return [=](const Iteration& at) { in_steps(length, step, in[at], out[at], at.stream); };
}

template <unsigned length>
Operation plain_chain(GpuCase& gpu) {
  return chain_of(gpu, length, kernels::add_one);
}

/// Each kernel starts while the one before still runs.
template <unsigned length>
Operation programmatic_chain(GpuCase& gpu) {
  need_hopper(gpu, "programmatic dependent launch");
  return chain_of(gpu, length, kernels::add_one_early);
}

// Device time of the chain as nodes of a graph, without and with programmatic dependent launch:
// sixteen times the gap between two kernels. Of one link: the time from one kernel to the next on a
// stream, where that is no overlap, and the call.
const GpuBenchmark links[] = {
    {"launch/chain_graph_device", {}, replayed(plain_chain<chain_kernels>)},
    {"launch/chain_programmatic_device", {}, replayed(programmatic_chain<chain_kernels>)},
    {"launch/link_device", {in_full_suite}, queued(plain_chain<1>)},
    {"launch/link_programmatic", {in_full_suite}, issued(programmatic_chain<1>)},
};

// ---- The overhead of libraries: the call for one element, beside that of the plain kernel. ----

using kernels::Copy;

/// By a `copy` of kernels/elementwise/elementwise.hpp.
auto issued_copy(void (*copy)(const float*, float*, std::size_t, cudaStream_t, Copy)) {
  return [=](GpuCase& gpu) {
    const auto in = gpu.input<float>(1);
    const auto out = gpu.output<float>(1);
    gpu.verify_copy(out, in);
    gpu.issue([=](const Iteration& at) { copy(in[at], out[at], 1, at.stream, Copy{}); });
  };
}

/// A 1 x 1 product; stream and workspace are set each time, as frameworks do.
void issue_gemm(GpuCase& gpu) {
  const auto a = gpu.input<float>(1);
  const auto b = gpu.input<float>(1);
  const auto c = gpu.output<float>(1);
  gpu.verify(c, {.relative = 2 * unit_roundoff<float>},
             [=](const Iteration& at, Window, double* expected) {
               kernels::gemm_reference(a[at], b[at], expected, {1, 1, 1}, 0, 1, at.stream);
             });
  const auto gemm = std::make_shared<kernels::CublasGemm>();
  gpu.issue([=](const Iteration& at) { (*gemm)(a[at], b[at], c[at], {1, 1, 1}, at.stream); });
}

const GpuBenchmark by_libraries[] = {
    {"launch/copy_scalar/f32", {}, issued_copy(kernels::transform_scalar)},
    {"launch/copy_thrust/f32", {}, issued_copy(kernels::transform_thrust)},
    {"launch/copy_cub/f32",
     {in_full_suite},
     [](GpuCase& gpu) {
       if (!kernels::cub_transforms()) {
         throw Unsupported("needs cub::DeviceTransform, which CUDA 13.0 has");
       }
       issued_copy(kernels::transform_cub)(gpu);
     }},
    {"launch/gemm_cublas/f32", {}, issue_gemm},
};

}  // namespace
