// SPDX-License-Identifier: Apache-2.0
// What it costs to start work: the call on the host, from the call to the end of the work, and the
// device's own time from one kernel to the next. Bound by the driver and by the device's front end,
// but where a variant says otherwise.
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

// ---- One empty kernel, with 0 to 4 KiB of arguments. ----

const Axes arguments{{"argument_bytes", {0}, {64, 1024, 4096}}};

Operation launch_empty(GpuCase& gpu) {
  const std::size_t bytes = gpu.param("argument_bytes");
  return one_empty(gpu, bytes,
                   [bytes](const Iteration& at) { kernels::launch_empty(bytes, at.stream); });
}

Operation launch_empty_graph(GpuCase& gpu) {
  return launching_proven(gpu, launch_empty(gpu));
}

// Host time of the call; the device keeps up, so nothing waits.
const GpuBenchmark stream_empty{"launch/stream_empty",
                                {{"argument_bytes", {0, 4096}, {64, 1024}}},
                                [](GpuCase& gpu) { gpu.issue(launch_empty(gpu)); }};
const GpuBenchmark graph_empty{"launch/graph_empty", arguments,
                               [](GpuCase& gpu) { gpu.issue(launch_empty_graph(gpu)); }};

// Device time from one kernel to the next: queued on a stream, and as nodes of one graph.
const GpuBenchmark stream_empty_device{"launch/stream_empty_device", arguments,
                                       [](GpuCase& gpu) { gpu.stream_period(launch_empty(gpu)); }};
const GpuBenchmark graph_empty_device{"launch/graph_empty_device", arguments,
                                      [](GpuCase& gpu) { gpu.replay(launch_empty(gpu)); }};

// From the call until the host knows that it has ended; without arguments the default suite has it
// as sync/stream_behind_kernel.
const Axes some_arguments{{"argument_bytes", {}, {0, 4096}}};
const GpuBenchmark stream_empty_end{
    "launch/stream_empty_end_to_end", some_arguments,
    [](GpuCase& gpu) { gpu.host_calls(synchronised(launch_empty(gpu))); }};
const GpuBenchmark graph_empty_end{
    "launch/graph_empty_end_to_end", some_arguments,
    [](GpuCase& gpu) { gpu.host_calls(synchronised(launch_empty_graph(gpu))); }};

// ---- Blocks: many of them, all at once, in clusters. ----

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

// Bound by how fast blocks are handed out to the multiprocessors.
const GpuBenchmark grid_device{"launch/grid_device",
                               {{"blocks", {16384}, {1, 128, 1024, 131072, 1048576}}},
                               [](GpuCase& gpu) { gpu.replay(launch_grid(gpu)); }};

// The call, and on the device one meeting of all blocks, or of those of each cluster.
const Axes clusters{{"cluster", {8}, {1, 2, 4}}};
const GpuBenchmark cooperative{
    "launch/cooperative", {}, [](GpuCase& gpu) { gpu.issue(launch_cooperative(gpu)); }};
const GpuBenchmark cooperative_device{
    "launch/cooperative_device", {}, [](GpuCase& gpu) { gpu.replay(launch_cooperative(gpu)); }};
const GpuBenchmark cluster{"launch/cluster", clusters,
                           [](GpuCase& gpu) { gpu.issue(launch_clusters(gpu)); }};
const GpuBenchmark cluster_device{"launch/cluster_device", clusters,
                                  [](GpuCase& gpu) { gpu.replay(launch_clusters(gpu)); }};

// ---- Graphs by their number of nodes: kernels in a row that count themselves. ----

Operation launch_nodes(GpuCase& gpu) {
  const auto tally = std::make_shared<Tally>();
  gpu.verify([tally](const Iteration& at) { tally->require(at.stream); });
  const std::size_t nodes = gpu.param("nodes");
  return [=, launch = launching(graph_of(nodes, tally->counting(1)))](const Iteration& at) {
    launch(at);
    tally->launched(nodes);
  };
}

// Host time of the call, which a row of kernels hardly lengthens; device time from one graph to the
// next, bound by its kernels.
const Axes some_nodes{{"nodes", {10}, {1, 100, 1000}}};
const GpuBenchmark graph_launch{"launch/graph_launch", some_nodes,
                                [](GpuCase& gpu) { gpu.issue(launch_nodes(gpu)); }};
const GpuBenchmark graph_launch_device{"launch/graph_launch_device",
                                       {{"nodes", {1}, {10, 100}}},
                                       [](GpuCase& gpu) { gpu.stream_period(launch_nodes(gpu)); }};

void remake(GpuCase& gpu, const std::function<void(Remade&, cudaStream_t)>& make) {
  const auto graphs = std::make_shared<Remade>(gpu.param("nodes"));
  gpu.verify([graphs](const Iteration& at) { graphs->require(at); });
  gpu.host_calls([=](const Iteration& at) { make(*graphs, at.stream); });
}

// Bound by the host alone: the driver walks the nodes. Instantiation has the end of the one before
// in it, for neither can be repeated without the other.
const GpuBenchmark graph_instantiate{
    "launch/graph_instantiate", some_nodes, [](GpuCase& gpu) {
      remake(gpu, [](Remade& of, cudaStream_t) { of.executable() = ExecutableGraph(of.next()); });
    }};
const GpuBenchmark graph_update{
    "launch/graph_update", some_nodes, [](GpuCase& gpu) {
      remake(gpu, [](Remade& of, cudaStream_t) { of.executable().update(of.next()); });
    }};
const GpuBenchmark graph_capture{
    "launch/graph_capture", {{"nodes", {}, {100}}}, [](GpuCase& gpu) {
      remake(gpu, [](Remade& of, cudaStream_t stream) { of.capture_anew(stream); });
    }};

// ---- A chain of small kernels. ----

/// From the first call until the host knows that the chain has ended.
void chain_synchronised(GpuCase& gpu, const std::function<Operation(ChainMemory&)>& chain) {
  const auto memory = std::make_shared<ChainMemory>();
  gpu.verify([memory](const Iteration& at) { memory->require(at.stream); });
  gpu.computes_flops(chain_flops);
  gpu.host_calls(synchronised(chain(*memory)));
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

// Bound by the sixteen calls, by the sixteen kernels on the device, by one of each.
const GpuBenchmark chain_stream{
    "launch/chain_stream", {}, [](GpuCase& gpu) { chain_synchronised(gpu, one_by_one); }};
const GpuBenchmark chain_graph{
    "launch/chain_graph", {}, [](GpuCase& gpu) { chain_synchronised(gpu, as_one_graph); }};
const GpuBenchmark chain_fused{
    "launch/chain_fused", {}, [](GpuCase& gpu) { chain_synchronised(gpu, as_one_kernel); }};

/// A chain of `length` kernels like `step`, in memory of its own each time.
Operation chain_of(GpuCase& gpu, unsigned length, Step step) {
  const auto in = gpu.input<float>(chain_floats);
  const auto out = gpu.output<float>(chain_floats);
  gpu.computes_flops(static_cast<double>(length * chain_floats));
  gpu.verify(out, chain_rounding, [=](const Iteration& at, Window window, double* expected) {
    kernels::add_one_reference(in[at] + window.first, expected, window.count, length, at.stream);
  });
  return [=](const Iteration& at) { in_steps(length, step, in[at], out[at], at.stream); };
}

Operation plain_chain(GpuCase& gpu, unsigned length) {
  return chain_of(gpu, length, kernels::add_one);
}

/// Each kernel comes up while the one before it still runs.
Operation programmatic_chain(GpuCase& gpu, unsigned length) {
  need_hopper(gpu, "programmatic dependent launch");
  return chain_of(gpu, length, kernels::add_one_early);
}

// Device time of the chain as nodes of a graph, without and with programmatic dependent launch:
// sixteen times what stands between two kernels.
const GpuBenchmark chain_graph_device{"launch/chain_graph_device", {}, [](GpuCase& gpu) {
                                        gpu.replay(plain_chain(gpu, chain_kernels));
                                      }};
const GpuBenchmark chain_programmatic_device{
    "launch/chain_programmatic_device", {}, [](GpuCase& gpu) {
      gpu.replay(programmatic_chain(gpu, chain_kernels));
    }};

// One link of it: from one to the next on a stream, and the call.
const GpuBenchmark link_device{"launch/link_device", {in_full_suite}, [](GpuCase& gpu) {
                                 gpu.stream_period(plain_chain(gpu, 1));
                               }};
const GpuBenchmark link_programmatic_device{
    "launch/link_programmatic_device", {in_full_suite}, [](GpuCase& gpu) {
      gpu.stream_period(programmatic_chain(gpu, 1));
    }};
const GpuBenchmark link_programmatic{"launch/link_programmatic", {in_full_suite}, [](GpuCase& gpu) {
                                       gpu.issue(programmatic_chain(gpu, 1));
                                     }};

// ---- What libraries add: the call for one element, beside the plain kernel's. ----

using kernels::Copy;

/// `copy` as one of kernels/elementwise/elementwise.hpp.
template <class Transform>
void issue_copy(GpuCase& gpu, const Transform& copy) {
  const auto in = gpu.input<float>(1);
  const auto out = gpu.output<float>(1);
  gpu.verify_copy(out, in);
  gpu.issue([=](const Iteration& at) { copy(in[at], out[at], 1, at.stream, Copy{}); });
}

/// A product of 1 x 1, with the stream and the workspace given each time, as frameworks do.
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

const GpuBenchmark copy_scalar{"launch/copy_scalar/f32", {}, [](GpuCase& gpu) {
                                 issue_copy(gpu, kernels::transform_scalar<Copy>);
                               }};
const GpuBenchmark copy_thrust{"launch/copy_thrust/f32", {}, [](GpuCase& gpu) {
                                 issue_copy(gpu, kernels::transform_thrust<Copy>);
                               }};
const GpuBenchmark copy_cub{
    "launch/copy_cub/f32", {in_full_suite}, [](GpuCase& gpu) {
      if (!kernels::cub_transforms()) {
        throw Unsupported("needs cub::DeviceTransform, which CUDA 13.0 has");
      }
      issue_copy(gpu, kernels::transform_cub<Copy>);
    }};
const GpuBenchmark gemm_cublas{"launch/gemm_cublas/f32", {}, issue_gemm};

}  // namespace
