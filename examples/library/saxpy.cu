// SPDX-License-Identifier: Apache-2.0
#include "saxpy.hpp"

#include <algorithm>

// Not in an anonymous namespace, where nvcc would add a hash to its name.
__global__ void saxpy_kernel(float a, const float* x, const float* y0, float* y, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    y[i] = a * x[i] + y0[i];
  }
}

void saxpy(float a, const float* x, const float* y0, float* y, unsigned n, cudaStream_t stream) {
  const unsigned threads = 256, blocks = std::min((n + threads - 1) / threads, 1056u);
  saxpy_kernel<<<blocks, threads, 0, stream>>>(a, x, y0, y, n);
}
