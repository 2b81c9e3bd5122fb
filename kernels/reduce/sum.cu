// SPDX-License-Identifier: Apache-2.0
// in[0] + ... + in[n-1] in one launch. Bound by reading device memory, 4 bytes an element.
#include "kernels/reduce/grid.cuh"

namespace warpgauge::kernels {

struct SumOf {
  __device__ static float identity() { return 0; }
  __device__ static float add(float sum, float x) { return sum + x; }
  __device__ static float combine(float a, float b) { return a + b; }
};

void GridReduction::sum(const float* in, float* out, std::size_t n, cudaStream_t stream) {
  require_reduction_input("GridReduction::sum", "in", in, n);
  launch<SumOf, ReduceShape<8>>("GridReduction::sum", OneInput{in}, out, n, stream);
}

}  // namespace warpgauge::kernels
