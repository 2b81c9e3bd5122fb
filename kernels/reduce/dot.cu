// SPDX-License-Identifier: Apache-2.0
// a[0] b[0] + ... + a[n-1] b[n-1] in one launch. Bound by reading device memory, 8 bytes an
// element.
#include "kernels/reduce/grid.cuh"

namespace warpgauge::kernels {

struct DotOf {
  __device__ static float identity() { return 0; }
  __device__ static float add(float sum, float x, float y) { return fmaf(x, y, sum); }
  __device__ static float combine(float a, float b) { return a + b; }
};

void GridReduction::dot(const float* a, const float* b, float* out, std::size_t n,
                        cudaStream_t stream) {
  require_reduction_input("GridReduction::dot", "a", a, n);
  require_reduction_input("GridReduction::dot", "b", b, n);
  launch<DotOf, ReduceShape<4>>("GridReduction::dot", TwoInputs{a, b}, out, n, stream);
}

}  // namespace warpgauge::kernels
