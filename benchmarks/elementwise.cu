// SPDX-License-Identifier: Apache-2.0
// One float in, one float out: bound by device memory, 8 bytes an element.
#include "fixtures/gpu_benchmark.hpp"
#include "kernels/elementwise.hpp"

namespace {

using namespace warpgauge;

using Launcher = void (*)(const float*, float*, std::size_t, cudaStream_t);

// One rounding of the exact result, and one more where the compiler did not fuse.
constexpr Tolerance rounding{.relative = 2 * unit_roundoff<float>};

template <class Op>
void transform(GpuCase& gpu, Launcher launch, Condition condition = Condition::cold) {
  const std::size_t n = gpu.param("n");
  const auto in = gpu.input<float>(n);
  const auto out = gpu.output<float>(n);
  gpu.moves_bytes(2 * n * sizeof(float));
  gpu.verify(out, rounding, [=](const Turn& at, Window window, double* expected) {
    kernels::transform_reference<Op>(in[at] + window.first, expected, window.count, at.stream);
  });
  gpu.replay([=](const Turn& at) { launch(in[at], out[at], n, at.stream); }, condition);
}

template <class Op, Launcher launch>
GpuBenchmark elementwise(const std::string& variant,
                         std::source_location where = std::source_location::current()) {
  // From latency-bound through one L2 of data to well past it.
  return {"elementwise/" + variant + "/f32",
          {{"n", {4 << 10, 256 << 10, 16 << 20, 256 << 20}}},
          [](GpuCase& gpu) { transform<Op>(gpu, launch); },
          where};
}

using kernels::Affine;
using kernels::Copy;
using kernels::Square;

// Buffers of 2 and of 16 MiB that stay in the L2.
const GpuBenchmark hot{
    "elementwise/square_vec4_hot/f32", {{"n", {256 << 10, 2 << 20}}}, [](GpuCase& gpu) {
      transform<Square>(gpu, kernels::transform_vec4<Square>, Condition::hot);
    }};

const GpuBenchmark benchmarks[] = {
    elementwise<Copy, kernels::transform_scalar<Copy>>("copy_scalar"),
    elementwise<Copy, kernels::transform_vec4<Copy>>("copy_vec4"),
    elementwise<Copy, kernels::transform_thrust<Copy>>("copy_thrust"),
    elementwise<Square, kernels::transform_scalar<Square>>("square_scalar"),
    elementwise<Square, kernels::transform_vec4<Square>>("square_vec4"),
    elementwise<Square, kernels::transform_thrust<Square>>("square_thrust"),
    elementwise<Affine, kernels::transform_scalar<Affine>>("affine_scalar"),
    elementwise<Affine, kernels::transform_vec4<Affine>>("affine_vec4"),
    elementwise<Affine, kernels::transform_thrust<Affine>>("affine_thrust"),
};

}  // namespace
