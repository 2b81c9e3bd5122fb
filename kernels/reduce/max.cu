// SPDX-License-Identifier: Apache-2.0
// The largest of in[0] ... in[n-1] in one launch. Bound by reading device memory, 4 bytes an
// element.
#include "kernels/reduce/grid.cuh"

namespace warpgauge::kernels {

struct MaxOf {
  __device__ static float identity() { return -INFINITY; }
  __device__ static float add(float largest, float x) { return combine(largest, x); }
  // fmaxf() drops NaN. This one, which needs compute capability 8.0, keeps it.
  __device__ static float combine(float a, float b) {
    float larger = 0;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
  }
};

void GridReduction::max(const float* in, float* out, std::size_t n, cudaStream_t stream) {
  require_reduction_input("GridReduction::max", "in", in, n);
  launch<MaxOf, ReduceShape<8>>("GridReduction::max", OneInput{in}, out, n, stream);
}

}  // namespace warpgauge::kernels
