// SPDX-License-Identifier: Apache-2.0
// Elementwise operations on arrays. If a thread moves 16 bytes at a time (vec4, vec8, fused,
// Thrust, CUB), device memory is the bound, except for 16-bit GELU and pow, which are bound by
// arithmetic. If it moves one element (scalar, grid_stride, misaligned), the loads in flight are
// the bound; if n is small, the launches. Each byte that an operation reads or writes counts once.
#include <algorithm>
#include <functional>
#include <source_location>
#include <string>
#include <type_traits>
#include <vector>

#include <warpgauge/core/units.hpp>
#include <warpgauge/cuda/device.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "benchmarks/elementwise_operations.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace {

using namespace warpgauge;
using namespace warpgauge::kernels;

template <class Op, class In, class Out>
using Launcher = void (*)(const In*, Out*, std::size_t, cudaStream_t, Op);
template <class T>
using AxpyLauncher = void (*)(Axpy, const T*, const T*, T*, std::size_t, cudaStream_t);

// Bodies of benchmarks, to be registered by name below.

template <class Op, class In = float, class Out = In>
auto unary(Launcher<Op, In, Out> launch, CacheState cache_state = CacheState::cold) {
  return [=](GpuCase& gpu) {
    const std::size_t count = gpu.param("n");
    const auto in = gpu.input<In>(count);
    const auto out = gpu.output<Out>(count);
    gpu.moves_bytes(count * (sizeof(In) + sizeof(Out)));
    gpu.verify(
        out, tolerance<Op, In, Out>(), [=](const Iteration& at, Window window, double* expected) {
          transform_reference<Op, In>(in[at] + window.first, expected, window.count, at.stream);
        });
    gpu.replay([=](const Iteration& at) { launch(in[at], out[at], count, at.stream, Op{}); },
               cache_state);
  };
}

// 12 bytes per element of floats.
template <class T>
auto axpy(AxpyLauncher<T> launch) {
  return [=](GpuCase& gpu) {
    const std::size_t count = gpu.param("n");
    const auto x = gpu.input<T>(count);
    const auto y = gpu.input<T>(count);
    const auto out = gpu.output<T>(count);
    gpu.moves_bytes(3 * count * sizeof(T));
    gpu.verify(out, tolerance<Axpy, T, T>(),
               [=](const Iteration& at, Window window, double* expected) {
                 axpy_reference(Axpy{}, x[at] + window.first, y[at] + window.first, expected,
                                window.count, at.stream);
               });
    gpu.replay(
        [=](const Iteration& at) { launch(Axpy{}, x[at], y[at], out[at], count, at.stream); });
  };
}

template <class T>
using ChainLauncher = void (*)(const Chain&, const T*, T*, T*, std::size_t, cudaStream_t);

// Four kernels; each reads and writes device memory: four times the bytes of one.
template <class T>
auto four_kernels(ChainLauncher<T> launch) {
  return [=](GpuCase& gpu) {
    const std::size_t count = gpu.param("n");
    const auto in = gpu.input<T>(count);
    const auto scratch = gpu.output<T>(count);
    const auto out = gpu.output<T>(count);
    gpu.moves_bytes(4 * 2 * count * sizeof(T));
    const auto verify = [&](const Buffer<T>& written, Chain op, double roundings) {
      const Tolerance steps{.absolute = 1.01 * roundings * unit_roundoff<T>};
      gpu.verify(written, steps, [=](const Iteration& at, Window window, double* expected) {
        transform_reference<Chain, T>(in[at] + window.first, expected, window.count, at.stream, op);
      });
    };
    // Each step rounds to T: x + bias (counts 0.75 times) and the product, each at most 1.32, and
    // the sum, at most 0.82. 1.01 covers second-order terms and the rounding in float.
    Chain three;
    three.second.bias = 0;
    verify(scratch, three, 2 * 1.32);
    verify(out, Chain{}, 2 * 1.32 + 0.82);
    gpu.replay([=](const Iteration& at) {
      launch(Chain{}, in[at], scratch[at], out[at], count, at.stream);
    });
  };
}

/// `body`, which calls cub::DeviceTransform.
std::function<void(GpuCase&)> by_cub(std::function<void(GpuCase&)> body) {
  return [body = std::move(body)](GpuCase& gpu) {
    if (!cub_transforms()) {
      throw Unsupported("needs cub::DeviceTransform, which CUDA 13.0 has");
    }
    body(gpu);
  };
}

// Also bound by device memory, which moves sectors of 32 bytes. The operation uses 4 bytes of each:
// 8 bytes per element are counted, and at a stride of 8 the memory moves 36.
const GpuBenchmark strided{
    "elementwise/copy_strided/f32",
    {{"n", {4 << 20}}, {"stride", {8}, {2, 16, 32}}},
    [](GpuCase& gpu) {
      const std::size_t n = gpu.param("n");
      const std::size_t stride = gpu.param("stride");
      const auto in = gpu.input<float>(product({n, stride}));
      const auto out = gpu.output<float>(n);
      gpu.moves_bytes(2 * n * sizeof(float));
      gpu.verify(out, {}, [=](const Iteration& at, Window window, double* expected) {
        copy_strided_reference(in[at] + window.first * stride, expected, window.count, stride,
                               at.stream);
      });
      gpu.replay([=](const Iteration& at) { copy_strided(in[at], out[at], n, stride, at.stream); });
    }};

const GpuBenchmark misaligned{
    "elementwise/copy_misaligned/f32", {{"n", {16 << 20}, {256 << 20}}}, [](GpuCase& gpu) {
      const std::size_t n = gpu.param("n");
      const auto in = gpu.input<float>(n + 1);
      const auto out = gpu.output<float>(n);
      gpu.moves_bytes(2 * n * sizeof(float));
      gpu.verify(out, {}, [=](const Iteration& at, Window window, double* expected) {
        transform_reference<Copy>(in[at] + 1 + window.first, expected, window.count, at.stream);
      });
      gpu.replay([=](const Iteration& at) { copy_misaligned(in[at], out[at], n, at.stream); });
    }};

// The vendor's copy, at the sizes of the kernels beside it. Not at the largest: in a graph, copies
// of 400 MB and more use another, slower path (2.7 TB/s on an H200).
void copy_by_vendor(GpuCase& gpu) {
  const std::size_t n = gpu.param("n");
  const std::size_t bytes = n * sizeof(float);
  const auto in = gpu.input<float>(n);
  const auto out = gpu.output<float>(n);
  gpu.moves_bytes(2 * bytes);
  gpu.verify_copy(out, in);
  gpu.replay([=](const Iteration& at) {
    WARPGAUGE_CHECK(cudaMemcpyAsync(out[at], in[at], bytes, cudaMemcpyDeviceToDevice, at.stream));
  });
}
const GpuBenchmark copied{"elementwise/copy_memcpy/f32",
                          {{"n", {16 << 20}, {4 << 10, 256 << 10, 64 << 20}}},
                          copy_by_vendor};

// Elements: from latency-bound, through the size of an L2, to well past it. 64 MiB are 16 Mi
// floats.
constexpr std::size_t e8 = 100'000'000;  // a size that many write down, and no power of two
const Axes sweep_of_full{{"n", {}, {4 * kibi, 256 * kibi, 16 * mebi, 256 * mebi}}};
const Axes large{{"n", {16 * mebi}, {4 * kibi, 256 * kibi, 256 * mebi}}};
const Axes large_and_tiny{{"n", {4 * kibi, 16 * mebi}, {256 * kibi, 64 * mebi, 256 * mebi}}};
const Axes two_large{{"n", {16 * mebi}, {256 * mebi}}};
const Axes large_of_full{{"n", {}, {16 * mebi, 256 * mebi}}};
const Axes one_of_full{{"n", {}, {16 * mebi}}};
// 16-bit elements: the same bytes as `large`.
const Axes narrow{{"n", {32 * mebi}, {4 * kibi, 512 * mebi}}};
const Axes narrow_of_full{{"n", {}, {32 * mebi}}};

const GpuBenchmark floats[] = {
    {"elementwise/copy_scalar/f32", sweep_of_full, unary<Copy>(transform_scalar)},
    {"elementwise/copy_vec4/f32", large_and_tiny, unary<Copy>(transform_vector)},
    {"elementwise/copy_thrust/f32", sweep_of_full, unary<Copy>(transform_thrust)},
    {"elementwise/copy_cub/f32", large_of_full, by_cub(unary<Copy>(transform_cub))},
    {"elementwise/square_scalar/f32",
     {{"n", {e8}, {4 * kibi, 256 * kibi, 16 * mebi, 256 * mebi}}},
     unary<Square>(transform_scalar)},
    {"elementwise/square_grid_stride/f32",
     {{"n", {16 * mebi}, {e8, 256 * mebi}}},
     unary<Square>(transform_grid_stride)},
    {"elementwise/square_vec4/f32",
     {{"n", {16 * mebi}, {4 * kibi, 256 * kibi, e8, 256 * mebi}}},
     unary<Square>(transform_vector)},
    {"elementwise/square_thrust/f32", sweep_of_full, unary<Square>(transform_thrust)},
    {"elementwise/square_cub/f32",
     {{"n", {}, {16 * mebi, e8, 256 * mebi}}},
     by_cub(unary<Square>(transform_cub))},
    // Buffers of 2 and 16 MiB, which stay in the L2.
    {"elementwise/square_vec4_hot/f32",
     {{"n", {2 * mebi}, {256 * kibi}}},
     unary<Square>(transform_vector, CacheState::hot)},
    {"elementwise/affine_scalar/f32", sweep_of_full, unary<Affine>(transform_scalar)},
    {"elementwise/affine_vec4/f32", sweep_of_full, unary<Affine>(transform_vector)},
    {"elementwise/affine_thrust/f32", sweep_of_full, unary<Affine>(transform_thrust)},
    {"elementwise/affine_cub/f32", large_of_full, by_cub(unary<Affine>(transform_cub))},
    {"elementwise/scale_vec4/f32", large_of_full, unary<Scale>(transform_vector)},
    {"elementwise/pow_vec4/f32", two_large, unary<Pow2>(transform_vector)},
    {"elementwise/gelu_vec4/f32", two_large, unary<Gelu>(transform_vector)},
    {"elementwise/gelu_tanh_vec4/f32", large_of_full, unary<GeluTanh>(transform_vector)},
    {"elementwise/chain_fused/f32", two_large, unary<Chain>(transform_vector)},
};

const GpuBenchmark narrow_floats[] = {
    {"elementwise/square_scalar/bf16",
     {{"n", {}, {4 * kibi, 32 * mebi, 512 * mebi}}},
     unary<Square, Bf16>(transform_scalar)},
    {"elementwise/square_vec8/bf16", narrow, unary<Square, Bf16>(transform_vector)},
    {"elementwise/gelu_vec8/bf16", narrow, unary<Gelu, Bf16>(transform_vector)},
};

// 6 bytes per element: 16 at a time on the side of the floats, 8 on the other.
const GpuBenchmark conversions[] = {
    {"elementwise/convert_vec4/f32_to_bf16", two_large, unary<Copy, float, Bf16>(transform_vector)},
    {"elementwise/convert_vec4/bf16_to_f32", two_large, unary<Copy, Bf16, float>(transform_vector)},
    {"elementwise/convert_vec4/f32_to_f16", one_of_full,
     unary<Copy, float, Half>(transform_vector)},
    {"elementwise/convert_vec4/f16_to_f32", one_of_full,
     unary<Copy, Half, float>(transform_vector)},
    {"elementwise/convert_thrust/f32_to_bf16", one_of_full,
     unary<Copy, float, Bf16>(transform_thrust)},
    {"elementwise/convert_thrust/bf16_to_f32", one_of_full,
     unary<Copy, Bf16, float>(transform_thrust)},
    {"elementwise/convert_thrust/f32_to_f16", one_of_full,
     unary<Copy, float, Half>(transform_thrust)},
    {"elementwise/convert_thrust/f16_to_f32", one_of_full,
     unary<Copy, Half, float>(transform_thrust)},
    {"elementwise/convert_cub/f32_to_bf16", one_of_full,
     by_cub(unary<Copy, float, Bf16>(transform_cub))},
    {"elementwise/convert_cub/bf16_to_f32", one_of_full,
     by_cub(unary<Copy, Bf16, float>(transform_cub))},
    {"elementwise/convert_cub/f32_to_f16", one_of_full,
     by_cub(unary<Copy, float, Half>(transform_cub))},
    {"elementwise/convert_cub/f16_to_f32", one_of_full,
     by_cub(unary<Copy, Half, float>(transform_cub))},
};

const GpuBenchmark axpys[] = {
    {"elementwise/axpy_vec4/f32",
     {{"n", {16 * mebi}, {4 * kibi, 256 * mebi}}},
     axpy<float>(axpy_vector)},
    {"elementwise/axpy_cub/f32", large_of_full, by_cub(axpy<float>(axpy_cub))},
};

const GpuBenchmark chain_four{"elementwise/chain_four/f32", two_large,
                              four_kernels<float>(chain_of_four)};

/// Whether a table above already registers `name`, with its own sizes.
bool is_registered(const std::string& name) {
  const auto& all = GpuBenchmark::all();
  return std::any_of(all.begin(), all.end(), [&](const auto& row) { return row.name == name; });
}

// In the full suite, also: each operation in each type by each method, at 64 MiB.
const auto everything_else = for_types<float, Bf16, Half>([]<class T>(std::type_identity<T>) {
  const auto here = std::source_location::current();
  std::vector<GpuBenchmark> added;
  const auto add = [&](const std::string& variant, const std::function<void(GpuCase&)>& body) {
    const std::string name = "elementwise/" + variant + "/" + element_name<T>;
    if (!is_registered(name)) {
      added.emplace_back(name, sizeof(T) == 4 ? one_of_full : narrow_of_full,
                         variant.ends_with("_cub") ? by_cub(body) : body, here);
    }
  };
  const auto add_way = [&](const std::string& suffix, const auto& transform,
                           AxpyLauncher<T> launch) {
    for_types<Copy, Scale, Square, Pow2, Affine, Chain, Gelu, GeluTanh>(
        [&]<class Op>(std::type_identity<Op>) {
          const bool plain = std::is_same_v<Op, Chain> && suffix.starts_with("_vec");
          add(measured<Op>.name + (plain ? "" : suffix), unary<Op, T, T>(transform));
          return true;
        });
    add("axpy" + suffix, axpy<T>(launch));
  };
  add_way("_scalar", [](auto... of) { transform_scalar(of...); }, axpy_scalar);
  add_way("_grid_stride", [](auto... of) { transform_grid_stride(of...); }, axpy_grid_stride);
  add_way(
      sizeof(T) == 4 ? "_vec4" : "_vec8", [](auto... of) { transform_vector(of...); }, axpy_vector);
  add_way("_thrust", [](auto... of) { transform_thrust(of...); }, axpy_thrust);
  add_way("_cub", [](auto... of) { transform_cub(of...); }, axpy_cub);
  add("chain_four", four_kernels<T>(chain_of_four));
  add("chain_four_thrust", four_kernels<T>(chain_of_four_thrust));
  add("chain_four_cub", four_kernels<T>(chain_of_four_cub));
  return added;
});

}  // namespace
