// SPDX-License-Identifier: Apache-2.0
// What replay times are proved on, against CUPTI: work of one kernel and of several, from
// latency-bound to far past it. scripts/fidelity runs it; README.md here says what for.
#include "fixtures/gpu_benchmark.hpp"
#include "kernels/elementwise.hpp"

namespace {

using namespace warpgauge;

// One kernel, bound by device memory, 8 bytes an element.
const GpuBenchmark square{
    "fidelity/square/f32",
    {{"n", {4 << 10, 256 << 10, 2 << 20, 16 << 20, 128 << 20}}},
    [](GpuCase& gpu) {
      const std::size_t n = gpu.param("n");
      const auto in = gpu.input<float>(n);
      const auto out = gpu.output<float>(n);
      gpu.moves_bytes(2 * n * sizeof(float));
      gpu.verify(out, {.relative = 0x1p-23}, [=](const Turn& at, Window part, double* expected) {
        kernels::transform_reference<kernels::Square>(in[at] + part.first, expected, part.count,
                                                      at.stream);
      });
      gpu.replay([=](const Turn& at) {
        kernels::transform_vec4<kernels::Square>(in[at], out[at], n, at.stream);
      });
    }};

}  // namespace
