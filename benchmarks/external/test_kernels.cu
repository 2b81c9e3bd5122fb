// SPDX-License-Identifier: Apache-2.0
// Kernels for external_test.cpp, which gets them as cubin, fatbin and PTX.

extern "C" __global__ void scale(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) {
    y[i] = 2 * x[i];
  }
}

/// One thread, one element at a time.
extern "C" __global__ void scale_reference(float* y, const float* x, long long n) {
  for (long long i = blockIdx.x; i < n; i += gridDim.x) {
    y[i] = x[i] + x[i];
  }
}

/// By way of the last bytes of the block's dynamic shared memory.
extern "C" __global__ void scale_staged(const float* x, float* y, unsigned shared_bytes) {
  extern __shared__ float shared[];
  float* const stage = shared + shared_bytes / sizeof(float) - blockDim.x;
  stage[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  const unsigned other = blockDim.x - 1 - threadIdx.x;
  y[blockIdx.x * blockDim.x + other] = 2 * stage[other];
}

/// By as much as a cluster has blocks.
extern "C" __global__ void scale_by_cluster(const float* x, float* y, void* scratch) {
  unsigned blocks = 1;
#if __CUDA_ARCH__ >= 900
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
#endif
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = scratch == nullptr ? static_cast<float>(blocks) * x[i] : 0;
}

/// Waits for the kernel in front of it before it writes what that one may still read.
extern "C" __global__ void scale_behind(const float* x, float* y) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2 * x[i];
}

extern "C" __global__ void __launch_bounds__(128) scale_bounded(const float* x, float* y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2 * x[i];
}

extern "C" __global__ void triple(const float* x, float* y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 3 * x[i];
}
