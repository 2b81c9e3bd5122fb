// SPDX-License-Identifier: Apache-2.0
// Sum, dot product and largest element, each in one launch. Bound by reading device memory, 4 bytes
// per element and input.
#include <warpgauge/cuda/current_device.hpp>
#include "kernels/reduce/grid.cuh"

namespace warpgauge::kernels {

struct SumOf {
  __device__ static float identity() { return 0; }
  __device__ static float add(float sum, float x) { return sum + x; }
  __device__ static float combine(float a, float b) { return a + b; }
};

struct DotOf {
  __device__ static float identity() { return 0; }
  __device__ static float add(float sum, float x, float y) { return fmaf(x, y, sum); }
  __device__ static float combine(float a, float b) { return a + b; }
};

struct MaxOf {
  __device__ static float identity() { return -INFINITY; }
  __device__ static float add(float largest, float x) { return combine(largest, x); }
  // fmaxf() drops NaN. max.NaN keeps it and needs compute capability 8.0.
  __device__ static float combine(float a, float b) {
    float larger = 0;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
  }
};

GridReduction::GridReduction()
    : sms_(sm_count()),
      storage_(zeroed<unsigned long long>(published_offset +
                                          std::size_t{sms_} * most_reduce_blocks_per_sm)) {}

void GridReduction::sum(const float* in, float* out, std::size_t n, cudaStream_t stream) {
  require_reduction_input("GridReduction::sum", "in", in, n);
  launch<SumOf, ReduceShape<8>>("GridReduction::sum", OneInput{in}, out, n, stream);
}

void GridReduction::dot(const float* a, const float* b, float* out, std::size_t n,
                        cudaStream_t stream) {
  require_reduction_input("GridReduction::dot", "a", a, n);
  require_reduction_input("GridReduction::dot", "b", b, n);
  launch<DotOf, ReduceShape<4>>("GridReduction::dot", TwoInputs{a, b}, out, n, stream);
}

void GridReduction::max(const float* in, float* out, std::size_t n, cudaStream_t stream) {
  require_reduction_input("GridReduction::max", "in", in, n);
  launch<MaxOf, ReduceShape<8>>("GridReduction::max", OneInput{in}, out, n, stream);
}

}  // namespace warpgauge::kernels
