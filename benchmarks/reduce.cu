// SPDX-License-Identifier: Apache-2.0
// Operations that read all of a large array: reductions, softmax, layer norm, transpose, histogram
// and scan, compared with CUB and Thrust. All are bound by device memory, except contended atomics
// and the transpose that writes single words.
#include <cstddef>
#include <memory>
#include <vector>

#include <warpgauge/core/units.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "benchmarks/reduce_proof.hpp"
#include "kernels/memory/transpose.hpp"
#include "kernels/reduce/histogram.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/reduce/rows.hpp"
#include "kernels/reduce/scan.hpp"

namespace {

using namespace warpgauge;
using namespace warpgauge::kernels;

// Terms have either sign and are at most 2.25: partial sums of m terms are about 1.5 sqrt(m). The
// errors of n additions add up like a random walk to about u sqrt(n) 1.5 sqrt(m), for the thousands
// of terms that a thread adds 0.1 at most. A term lost or counted twice is 0.25 or more.
constexpr Tolerance less_than_a_term{.absolute = 0.2};

/// As many floats as the benchmark's n.
Buffer<float> floats(GpuCase& gpu) {
  return gpu.input<float>(gpu.param("n"));
}

/// Calls call(in..., out, n, stream), which only reads, 4 bytes per element and input, and leaves
/// in `out` what reference(in..., expected, n, stream) writes.
template <class Reference, class Call, class... Input>
Operation reducing(GpuCase& gpu, Tolerance tolerance, const Reference& reference, const Call& call,
                   const Buffer<float>& out, const Input&... in) {
  const std::size_t n = gpu.param("n");
  gpu.moves_bytes(sizeof...(in) * n * sizeof(float), Traffic::device_read);
  gpu.verify(out, tolerance, [=](const Iteration& at, Window /*whole*/, double* expected) {
    reference(in[at]..., expected, n, at.stream);
  });
  return [=](const Iteration& at) { call(in[at]..., out[at], n, at.stream); };
}

template <class Call>
void sum_by(GpuCase& gpu, const Call& call) {
  const auto in = floats(gpu);
  const auto out = gpu.output<float>(1);
  gpu.replay(reducing(gpu, less_than_a_term, sum_reference, call, out, in));
}

template <class Call>
void max_by(GpuCase& gpu, const Call& call) {
  const auto in = floats(gpu);
  const auto out = gpu.output<float>(1);
  const Operation operation = reducing(gpu, {}, max_reference, call, out, in);
  verify_largest(gpu, in, out, call);  // last, because it overwrites `out`
  gpu.replay(operation);
}

template <class Call>
void dot_by(GpuCase& gpu, const Call& call) {
  const auto a = floats(gpu);
  const auto b = floats(gpu);
  const auto out = gpu.output<float>(1);
  gpu.replay(reducing(gpu, less_than_a_term, dot_reference, call, out, a, b));
}

/// Objects with device memory of their own, each call by the next one. Where such memory lies moves
/// a short operation by up to 2 %, for as long as the process lives: among many places, every
/// process meets the same mix.
template <class Object>
class InTurn {
 public:
  template <class... Arguments>
  explicit InTurn(Arguments... of_each) {
    constexpr std::size_t places = 32;
    for (std::size_t place = 0; place < places; ++place) {
      objects_.push_back(std::make_unique<Object>(of_each...));
    }
  }
  Object& next() { return *objects_[calls_++ % objects_.size()]; }

 private:
  std::vector<std::unique_ptr<Object>> objects_;
  std::size_t calls_ = 0;
};

/// Library's objects, made for n elements, as a call.
template <class Library>
auto made_for(GpuCase& gpu) {
  return [made = std::make_shared<InTurn<Library>>(gpu.param("n"))](auto... arguments) {
    made->next()(arguments...);
  };
}

/// A member of GridReduction as a call.
template <auto reduction>
auto in_one_launch() {
  return [made = std::make_shared<InTurn<GridReduction>>()](auto... arguments) {
    (made->next().*reduction)(arguments...);
  };
}

// From latency-bound to well past the L2: 16 Mi floats are 64 MiB.
const Axes of_ours{{"n", {64 << 10, 64 << 20}, {1 << 20, 16 << 20, 256 << 20}}};
const Axes beside{{"n", {64 << 20}, {64 << 10, 1 << 20, 16 << 20, 256 << 20}}};
// Bound by the same reading as the sums.
const Axes like_sums{{"n", {}, {64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20}}};

const GpuBenchmark reductions[] = {
    {"reduce/sum/f32", of_ours,
     [](GpuCase& gpu) { sum_by(gpu, in_one_launch<&GridReduction::sum>()); }},
    {"reduce/sum_cub/f32", beside, [](GpuCase& gpu) { sum_by(gpu, made_for<CubSum>(gpu)); }},
    {"reduce/dot/f32", beside,
     [](GpuCase& gpu) { dot_by(gpu, in_one_launch<&GridReduction::dot>()); }},
    {"reduce/dot_cub/f32", like_sums, [](GpuCase& gpu) { dot_by(gpu, made_for<CubDot>(gpu)); }},
    {"reduce/max/f32", like_sums,
     [](GpuCase& gpu) { max_by(gpu, in_one_launch<&GridReduction::max>()); }},
    {"reduce/max_cub/f32", like_sums, [](GpuCase& gpu) { max_by(gpu, made_for<CubMax>(gpu)); }},
};

/// Measures call(in..., n, stream), which waits and returns what reference(in..., expected, n,
/// stream) writes: host time, from launch to answer. Bound by the call if n is small, by reading
/// device memory once if it is large.
template <class Reference, class Call, class... Input>
void answer(GpuCase& gpu, Tolerance tolerance, const Reference& reference, const Call& call,
            const Input&... in) {
  const std::size_t n = gpu.param("n");
  const auto out = gpu.output<float>(1, Memory::pinned);
  gpu.moves_bytes(sizeof...(in) * n * sizeof(float), Traffic::device_read);
  gpu.verify(out, tolerance, [=](const Iteration& at, Window /*whole*/, double* expected) {
    reference(in[at]..., expected, n, at.stream);
  });
  gpu.host_calls([=](const Iteration& at) { *out[at] = call(in[at]..., n, at.stream); });
}

// Thrust allocates, waits and returns its result.
const Axes answered{{"n", {}, {64 << 10, 16 << 20, 256 << 20}}};
const GpuBenchmark by_thrust[] = {
    {"reduce/sum_thrust_call/f32", answered,
     [](GpuCase& gpu) { answer(gpu, less_than_a_term, sum_reference, sum_thrust, floats(gpu)); }},
    {"reduce/dot_thrust_call/f32", answered,
     [](GpuCase& gpu) {
       const auto a = floats(gpu);
       answer(gpu, less_than_a_term, dot_reference, dot_thrust, a, floats(gpu));
     }},
    {"reduce/max_thrust_call/f32", answered,
     [](GpuCase& gpu) {
       const auto in = floats(gpu);
       verify_largest(
           gpu, in, [=](const Iteration& at) { return max_thrust(in[at], in.count(), at.stream); });
       answer(gpu, {}, max_reference, max_thrust, in);
     }},
};

// Softmax and layer norm: a matrix of 256 MiB, read and written once, by rows of `columns`.
template <class T>
constexpr std::size_t matrix_elements = 256 * mebi / sizeof(T);
constexpr float epsilon = 1e-5F;

/// holds_rows: the kernel keeps a row in registers, of several blocks if it is long.
template <class T>
RowsShape rows_of(const GpuCase& gpu, bool holds_rows) {
  const std::size_t columns = gpu.param("columns", 1, matrix_elements<T>);
  if (columns * sizeof(T) > most_held_row_bytes_of_a_block && holds_rows &&
      gpu.device().compute_major < 9) {
    throw Unsupported("rows of this length need clusters of blocks: compute capability 9.0");
  }
  return {matrix_elements<T> / columns, columns};
}

template <class T>
using Softmax = void (*)(const T*, T*, RowsShape, cudaStream_t);
template <class T>
using LayerNorm = void (*)(const T*, const T*, const T*, T*, RowsShape, float, cudaStream_t);

// Sums of up to 64 Ki elements in 512 threads or more. An element goes through 128 additions in its
// thread and 20 over the threads, each of which errs by u. A power errs by 5 u more and up to 5
// units in the last place, at arguments of at most 3. The quotient doubles that.
constexpr double sums = 512 * unit_roundoff<float>;

template <class T, Softmax<T> launch>
void normalise_powers(GpuCase& gpu) {
  const RowsShape shape = rows_of<T>(gpu, launch == softmax<T>);
  const auto in = gpu.input<T>(matrix_elements<T>);
  const auto out = gpu.output<T>(matrix_elements<T>);
  gpu.moves_bytes(2 * matrix_elements<T> * sizeof(T));
  gpu.verify(out, {.relative = sums + unit_roundoff<T>},
             [=](const Iteration& at, Window window, double* expected) {
               softmax_reference(in[at], expected, shape, window.first, window.count, at.stream);
             });
  gpu.replay([=](const Iteration& at) { launch(in[at], out[at], shape, at.stream); });
}

template <class T, LayerNorm<T> launch>
void normalise_moments(GpuCase& gpu) {
  const RowsShape shape = rows_of<T>(gpu, launch == layer_norm<T>);
  const auto in = gpu.input<T>(matrix_elements<T>);
  const auto gamma = gpu.input<T>(shape.columns);
  const auto beta = gpu.input<T>(shape.columns);
  const auto out = gpu.output<T>(matrix_elements<T>);
  gpu.moves_bytes(2 * (matrix_elements<T> + shape.columns) * sizeof(T));
  // |x - mean| is at most 1.5 times the deviation of 1.04, gamma at most 1.5.
  gpu.verify(out, {.absolute = 4 * sums, .relative = unit_roundoff<T>},
             [=](const Iteration& at, Window window, double* expected) {
               layer_norm_reference(in[at], gamma[at], beta[at], expected, shape, epsilon,
                                    window.first, window.count, at.stream);
             });
  gpu.replay([=](const Iteration& at) {
    launch(in[at], gamma[at], beta[at], out[at], shape, epsilon, at.stream);
  });
}

const Axes rows_f32{{"columns", {1024, 16384}, {4096, 65536}}};
const Axes rows_bf16{{"columns", {4096}, {1024, 16384, 65536}}};
const Axes rows_full{{"columns", {}, {1024, 16384}}};
using bf16 = __nv_bfloat16;

const GpuBenchmark row_by_row[] = {
    {"reduce/softmax/f32", rows_f32, normalise_powers<float, softmax>},
    {"reduce/softmax/bf16", rows_bf16, normalise_powers<bf16, softmax>},
    {"reduce/layer_norm/f32", rows_f32, normalise_moments<float, layer_norm>},
    {"reduce/layer_norm/bf16", rows_bf16, normalise_moments<bf16, layer_norm>},
    // Reads twice, the second time mostly from the L2.
    {"reduce/softmax_online/f32", rows_full, normalise_powers<float, softmax_online>},
    {"reduce/layer_norm_online/f32", rows_full, normalise_moments<float, layer_norm_online>},
};

using Transpose = void (*)(const float*, float*, TransposeShape, cudaStream_t);

template <Transpose launch>
void transpose(GpuCase& gpu) {
  const std::size_t n = gpu.param("n");
  const TransposeShape shape{n, n};
  const std::size_t count = product({n, n});
  const auto in = gpu.input<float>(count);
  const auto out = gpu.output<float>(count);
  gpu.moves_bytes(2 * count * sizeof(float));
  gpu.verify(out, {}, [=](const Iteration& at, Window window, double* expected) {
    transpose_reference(in[at], expected, shape, window.first, window.count, at.stream);
  });
  gpu.replay([=](const Iteration& at) { launch(in[at], out[at], shape, at.stream); });
}

// n x n: 4096 are 64 MiB each way.
const Axes sides{{"n", {8192}, {1024, 4096, 16384}}};
const Axes sides_full{{"n", {}, {1024, 4096, 8192, 16384}}};

const GpuBenchmark transposes[] = {
    {"reduce/transpose_naive/f32", sides_full, transpose<transpose_naive>},  // words written
    {"reduce/transpose_tiled/f32", sides_full, transpose<transpose_tiled>},  // shared memory
    {"reduce/transpose_padded/f32", sides, transpose<transpose_padded>},     // device memory
    {"reduce/transpose_vec4/f32", sides, transpose<transpose_vec4>},
};

/// Bins are cleared as part of the operation.
template <class Call>
void count_keys(GpuCase& gpu, BinOf bin_of, const Call& call) {
  const std::size_t n = gpu.param("n");
  const auto keys = gpu.input<std::int32_t>(n);
  const auto bins = gpu.output<std::int32_t>(histogram_bins);
  gpu.moves_bytes(n * sizeof(std::int32_t) + histogram_bins * sizeof(std::int32_t),
                  Traffic::device_read);
  gpu.verify(bins, {}, [=](const Iteration& at, Window /*whole*/, double* expected) {
    histogram_reference(keys[at], expected, n, bin_of, at.stream);
  });
  gpu.replay([=](const Iteration& at) { call(keys[at], bins[at], n, bin_of, at.stream); });
}

constexpr BinOf spread{255};   // over all 256 bins
constexpr BinOf contended{0};  // all in one

const Axes keys{{"n", {16 << 20}, {1 << 20, 64 << 20}}};
const Axes keys_full{{"n", {}, {1 << 20, 16 << 20, 64 << 20}}};

const GpuBenchmark histograms[] = {
    // Bound by the L2's atomics; if keys contend, one of them takes all keys.
    {"reduce/histogram_global_spread/i32", keys_full,
     [](GpuCase& gpu) { count_keys(gpu, spread, histogram_global); }},
    {"reduce/histogram_global_contended/i32",
     {{"n", {1 << 20}, {16 << 20}}},
     [](GpuCase& gpu) { count_keys(gpu, contended, histogram_global); }},
    {"reduce/histogram_shared_spread/i32", keys,
     [](GpuCase& gpu) { count_keys(gpu, spread, histogram_shared); }},
    {"reduce/histogram_shared_contended/i32", keys_full,
     [](GpuCase& gpu) { count_keys(gpu, contended, histogram_shared); }},
    {"reduce/histogram_cub_spread/i32", keys,
     [](GpuCase& gpu) { count_keys(gpu, spread, made_for<CubHistogram>(gpu)); }},
    {"reduce/histogram_cub_contended/i32", keys_full,
     [](GpuCase& gpu) { count_keys(gpu, contended, made_for<CubHistogram>(gpu)); }},
};

/// 32-bit integers, whose sums wrap: exact in any order.
template <class Library>
void scan(GpuCase& gpu) {
  const std::size_t n = gpu.param("n");
  const auto in = gpu.input<std::int32_t>(n);
  const auto out = gpu.output<std::int32_t>(n);
  gpu.moves_bytes(2 * n * sizeof(std::int32_t));
  gpu.verify(out, {}, [=](const Iteration& at, Window window, double* expected) {
    scan_reference(in[at], expected, window.first, window.count, at.stream);
  });
  const auto call = made_for<Library>(gpu);
  gpu.replay([=](const Iteration& at) { call(in[at], out[at], n, at.stream); });
}

const Axes scanned{{"n", {16 << 20}, {64 << 10, 1 << 20, 64 << 20}}};

const GpuBenchmark scans[] = {
    {"reduce/scan_lookback/i32", scanned, scan<LookbackScan>},
    {"reduce/scan_cub/i32", scanned, scan<CubScan>},
    {"reduce/scan_thrust/i32", {{"n", {}, {64 << 10, 16 << 20, 64 << 20}}}, scan<ThrustScan>},
};

}  // namespace
