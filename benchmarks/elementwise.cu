// SPDX-License-Identifier: Apache-2.0
// Arrays in, an array out, element by element. Bound by device memory where a thread moves 16 bytes
// at a time (vec4, vec8, fused, Thrust, CUB), but for GELU of 16 bits and pow, which are bound by
// arithmetic; by the loads in flight where it moves one element (scalar, grid_stride, misaligned);
// by launches where n is small. Bytes are those that an operation asks for, each once.
#include <algorithm>

#include <warpgauge/core/units.hpp>
#include <warpgauge/cuda/device.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "benchmarks/elementwise_ways.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace {

using namespace warpgauge;
using namespace warpgauge::kernels;

using Half = __half;
using Bf16 = __nv_bfloat16;

template <class Op, class In, class Out>
using Launcher = void (*)(const In*, Out*, std::size_t, cudaStream_t, Op);
template <class T>
using AxpyLauncher = void (*)(Axpy, const T*, const T*, T*, std::size_t, cudaStream_t);

template <class In, class Out>
std::string type_name() {
  const std::string in = element_name<In>;
  return std::is_same_v<In, Out> ? in : in + "_to_" + element_name<Out>;
}

void require_supported(const std::string& variant) {
  if (variant.ends_with("_cub") && !cub_transforms()) {
    throw Unsupported("needs cub::DeviceTransform, which CUDA 13.0 has");
  }
}

template <class Op, class In = float, class Out = In>
GpuBenchmark unary(const std::string& variant, Launcher<Op, In, Out> launch, const Axis& n,
                   CacheState cache_state = CacheState::cold,
                   std::source_location where = std::source_location::current()) {
  const auto body = [=](GpuCase& gpu) {
    require_supported(variant);
    const std::size_t count = gpu.param("n");
    const auto in = gpu.input<In>(count);
    const auto out = gpu.output<Out>(count);
    gpu.moves_bytes(count * (sizeof(In) + sizeof(Out)));
    gpu.verify(out, tolerance<Op, In, Out>(),
               [=](const Iteration& at, Window part, double* expected) {
                 transform_reference<Op, In>(in[at] + part.first, expected, part.count, at.stream);
               });
    gpu.replay([=](const Iteration& at) { launch(in[at], out[at], count, at.stream, Op{}); },
               cache_state);
  };
  return {"elementwise/" + variant + "/" + type_name<In, Out>(), {n}, body, where};
}

// 12 bytes an element of floats.
template <class T>
GpuBenchmark axpy(const std::string& variant, AxpyLauncher<T> launch, const Axis& n,
                  std::source_location where = std::source_location::current()) {
  const auto body = [=](GpuCase& gpu) {
    require_supported(variant);
    const std::size_t count = gpu.param("n");
    const auto x = gpu.input<T>(count);
    const auto y = gpu.input<T>(count);
    const auto out = gpu.output<T>(count);
    gpu.moves_bytes(3 * count * sizeof(T));
    gpu.verify(out, tolerance<Axpy, T, T>(),
               [=](const Iteration& at, Window part, double* expected) {
                 axpy_reference(Axpy{}, x[at] + part.first, y[at] + part.first, expected,
                                part.count, at.stream);
               });
    gpu.replay(
        [=](const Iteration& at) { launch(Axpy{}, x[at], y[at], out[at], count, at.stream); });
  };
  return {"elementwise/" + variant + "/" + element_name<T>, {n}, body, where};
}

template <class T>
using ChainLauncher = void (*)(const Chain&, const T*, T*, T*, std::size_t, cudaStream_t);

// Four kernels, each of which reads and writes device memory: four times the bytes of one.
template <class T>
GpuBenchmark chain_of_four_kernels(const std::string& variant, ChainLauncher<T> launch,
                                   const Axis& n,
                                   std::source_location where = std::source_location::current()) {
  const auto body = [=](GpuCase& gpu) {
    require_supported(variant);
    const std::size_t count = gpu.param("n");
    const auto in = gpu.input<T>(count);
    const auto scratch = gpu.output<T>(count);
    const auto out = gpu.output<T>(count);
    gpu.moves_bytes(4 * 2 * count * sizeof(T));
    const auto verify = [&](const Buffer<T>& written, Chain op, double roundings) {
      const Tolerance steps{.absolute = 1.01 * roundings * unit_roundoff<T>};
      gpu.verify(written, steps, [=](const Iteration& at, Window part, double* expected) {
        transform_reference<Chain, T>(in[at] + part.first, expected, part.count, at.stream, op);
      });
    };
    // Each step rounds to T: x + bias, which counts 0.75 times like the product, 1.32 at most; the
    // product; the sum, 0.82 at most. 1.01 is for the second order, and for the rounding in float.
    Chain three;
    three.second.bias = 0;
    verify(scratch, three, 2 * 1.32);
    verify(out, Chain{}, 2 * 1.32 + 0.82);
    gpu.replay([=](const Iteration& at) {
      launch(Chain{}, in[at], scratch[at], out[at], count, at.stream);
    });
  };
  return {"elementwise/" + variant + "/" + element_name<T>, {n}, body, where};
}

// Bound by device memory, too, but what that moves are sectors of 32 bytes, of which an operation
// asks for 4: 8 bytes an element are counted, and at a stride of 8 it moves 36.
const GpuBenchmark strided{
    "elementwise/copy_strided/f32",
    {{"n", {4 << 20}}, {"stride", {8}, {2, 16, 32}}},
    [](GpuCase& gpu) {
      const std::size_t n = gpu.param("n");
      const std::size_t stride = gpu.param("stride");
      const auto in = gpu.input<float>(n * stride);
      const auto out = gpu.output<float>(n);
      gpu.moves_bytes(2 * n * sizeof(float));
      gpu.verify(out, {}, [=](const Iteration& at, Window part, double* expected) {
        copy_strided_reference(in[at] + part.first * stride, expected, part.count, stride,
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
      gpu.verify(out, {}, [=](const Iteration& at, Window part, double* expected) {
        transform_reference<Copy>(in[at] + 1 + part.first, expected, part.count, at.stream);
      });
      gpu.replay([=](const Iteration& at) { copy_misaligned(in[at], out[at], n, at.stream); });
    }};

// The vendor's copy, at the sizes of the kernels beside it. Not at the largest: a graph's copies of
// 400 MB and more take another, slower way (2.7 TB/s on an H200).
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

// Elements: from latency-bound through one L2 of data to well past it. 64 MiB are 16 Mi floats.
constexpr std::size_t e8 = 100'000'000;  // a size that many write down, and no power of two
const Axis sweep_of_full{"n", {}, {4 * kibi, 256 * kibi, 16 * mebi, 256 * mebi}};
const Axis large{"n", {16 * mebi}, {4 * kibi, 256 * kibi, 256 * mebi}};
const Axis large_and_tiny{"n", {4 * kibi, 16 * mebi}, {256 * kibi, 64 * mebi, 256 * mebi}};
const Axis two_large{"n", {16 * mebi}, {256 * mebi}};
const Axis large_of_full{"n", {}, {16 * mebi, 256 * mebi}};
const Axis one_of_full{"n", {}, {16 * mebi}};
const Axis narrow{
    "n", {32 * mebi}, {4 * kibi, 512 * mebi}};  // 16-bit elements: as many bytes as `large`
const Axis narrow_of_full{"n", {}, {32 * mebi}};

const GpuBenchmark floats[] = {
    unary<Copy>("copy_scalar", transform_scalar, sweep_of_full),
    unary<Copy>("copy_vec4", transform_vector, large_and_tiny),
    unary<Copy>("copy_thrust", transform_thrust, large),
    unary<Copy>("copy_cub", transform_cub, two_large),
    unary<Square>("square_scalar", transform_scalar,
                  {"n", {e8}, {4 * kibi, 256 * kibi, 16 * mebi, 256 * mebi}}),
    unary<Square>("square_grid_stride", transform_grid_stride,
                  {"n", {16 * mebi}, {e8, 256 * mebi}}),
    unary<Square>("square_vec4", transform_vector,
                  {"n", {16 * mebi, e8}, {4 * kibi, 256 * kibi, 256 * mebi}}),
    unary<Square>("square_thrust", transform_thrust, large),
    unary<Square>("square_cub", transform_cub, {"n", {16 * mebi}, {e8, 256 * mebi}}),
    // Buffers of 2 and of 16 MiB that stay in the L2.
    unary<Square>("square_vec4_hot", transform_vector, {"n", {2 * mebi}, {256 * kibi}},
                  CacheState::hot),
    unary<Affine>("affine_scalar", transform_scalar, sweep_of_full),
    unary<Affine>("affine_vec4", transform_vector, large),
    unary<Affine>("affine_thrust", transform_thrust, sweep_of_full),
    unary<Affine>("affine_cub", transform_cub, large_of_full),
    unary<Scale>("scale_vec4", transform_vector, large_of_full),
    unary<Pow2>("pow_vec4", transform_vector, two_large),
    unary<Gelu>("gelu_vec4", transform_vector, two_large),
    unary<GeluTanh>("gelu_tanh_vec4", transform_vector, large_of_full),
    unary<Chain>("chain_fused", transform_vector, two_large),
};

const GpuBenchmark narrow_floats[] = {
    unary<Square, Bf16>("square_scalar", transform_scalar, narrow),
    unary<Square, Bf16>("square_vec8", transform_vector, narrow),
    unary<Gelu, Bf16>("gelu_vec8", transform_vector, narrow),
};

// 6 bytes an element: 16 at a time on the side of the floats, 8 on the other.
const GpuBenchmark conversions[] = {
    unary<Copy, float, Bf16>("convert_vec4", transform_vector, two_large),
    unary<Copy, Bf16, float>("convert_vec4", transform_vector, two_large),
    unary<Copy, float, Half>("convert_vec4", transform_vector, one_of_full),
    unary<Copy, Half, float>("convert_vec4", transform_vector, one_of_full),
    unary<Copy, float, Bf16>("convert_thrust", transform_thrust, one_of_full),
    unary<Copy, Bf16, float>("convert_thrust", transform_thrust, one_of_full),
    unary<Copy, float, Half>("convert_thrust", transform_thrust, one_of_full),
    unary<Copy, Half, float>("convert_thrust", transform_thrust, one_of_full),
    unary<Copy, float, Bf16>("convert_cub", transform_cub, one_of_full),
    unary<Copy, Bf16, float>("convert_cub", transform_cub, one_of_full),
    unary<Copy, float, Half>("convert_cub", transform_cub, one_of_full),
    unary<Copy, Half, float>("convert_cub", transform_cub, one_of_full),
};

const GpuBenchmark axpys[] = {
    axpy<float>("axpy_vec4", axpy_vector, {"n", {16 * mebi}, {4 * kibi, 256 * mebi}}),
    axpy<float>("axpy_cub", axpy_cub, two_large),
};

const GpuBenchmark chain_four =
    chain_of_four_kernels<float>("chain_four", chain_of_four, two_large);

// ---- Beside them, of the full suite: each operation in each type by each way, at 64 MiB. ----

template <class T>
const Axis& beside = sizeof(T) == 4 ? one_of_full : narrow_of_full;

/// Whether a table above has rows of it, with sizes of its own.
template <class T>
bool has_rows(const std::string& variant) {
  const auto& all = GpuBenchmark::all();
  return std::any_of(all.begin(), all.end(),
                     [name = "elementwise/" + variant + "/" + element_name<T>](const auto& row) {
                       return row.name == name;
                     });
}

template <class T, class Way, class Op>
void add_transform(std::source_location where) {
  const std::string variant = variant_name<Way, Op, T>();
  if (!has_rows<T>(variant)) {
    unary<Op, T>(variant, Way::template transform<Op, T, T>, beside<T>, CacheState::cold, where);
  }
}

template <class T, class Way, class... Op>
void add_transforms(std::source_location where) {
  (add_transform<T, Way, Op>(where), ...);
}

template <class T, class Way>
void add_axpy(std::source_location where) {
  const std::string variant = variant_name<Way, Axpy, T>();
  if (!has_rows<T>(variant)) {
    axpy<T>(variant, Way::template axpy<T>, beside<T>, where);
  }
}

template <class T, class Way>
void add_way(std::source_location where) {
  add_transforms<T, Way, Copy, Scale, Square, Pow2, Affine, Chain, Gelu, GeluTanh>(where);
  add_axpy<T, Way>(where);
}

template <class T>
void add_chain_of_four(const std::string& variant, ChainLauncher<T> launch,
                       std::source_location where) {
  if (!has_rows<T>(variant)) {
    chain_of_four_kernels<T>(variant, launch, beside<T>, where);
  }
}

/// Registers what has no rows yet, so that it stands behind all tables.
struct EverythingElse {
  explicit EverythingElse(std::source_location where = std::source_location::current()) {
    of_type<float>(where);
    of_type<Bf16>(where);
    of_type<Half>(where);
  }

 private:
  template <class T>
  static void of_type(std::source_location where) {
    add_way<T, Scalar>(where);
    add_way<T, GridStride>(where);
    add_way<T, Vectors>(where);
    add_way<T, Thrust>(where);
    add_way<T, Cub>(where);
    add_chain_of_four<T>("chain_four", chain_of_four, where);
    add_chain_of_four<T>("chain_four_thrust", chain_of_four_thrust, where);
    add_chain_of_four<T>("chain_four_cub", chain_of_four_cub, where);
  }
};
const EverythingElse everything_else;

}  // namespace
