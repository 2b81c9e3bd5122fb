// SPDX-License-Identifier: Apache-2.0
// One block: each thread reduces a stride, then the block reduces its threads. Bound by the load
// rate of one SM.
#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/reduce/block_tree.cuh"
#include "kernels/reduce/reduce.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned reduce_reference_threads = 1024;
// Loads in flight per thread: 64 KiB per SM, which is 90 GB/s at the latency of device memory (0.7
// us), most of the 64 bytes per cycle that an SM can take.
inline constexpr unsigned reduce_reference_loads = 16;

struct SumReference {
  const float* in;
  static constexpr double neutral = 0;
  __device__ double at(std::size_t i) const { return static_cast<double>(in[i]); }
  __device__ static double combine(double a, double b) { return a + b; }
};

struct DotReference {
  const float* a;
  const float* b;
  static constexpr double neutral = 0;
  __device__ double at(std::size_t i) const {
    return static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  __device__ static double combine(double a, double b) { return a + b; }
};

struct MaxReference {
  const float* in;
  static constexpr double neutral = -HUGE_VAL;
  __device__ double at(std::size_t i) const { return static_cast<double>(in[i]); }
  // NaN wins on either side: no comparison with it is true.
  __device__ static double combine(double a, double b) { return a < b || b != b ? b : a; }
};

template <class Reference>
__global__ __launch_bounds__(reduce_reference_threads) void reduce_reference_kernel(
    Reference reference, double* __restrict__ expected, std::size_t n) {
  __shared__ double values[reduce_reference_threads];
  double value = Reference::neutral;
  constexpr std::size_t run = std::size_t{reduce_reference_threads} * reduce_reference_loads;
  for (std::size_t first = threadIdx.x; first < n; first += run) {
    double loaded[reduce_reference_loads];
#pragma unroll
    for (unsigned j = 0; j < reduce_reference_loads; ++j) {
      const std::size_t i = first + std::size_t{j} * reduce_reference_threads;
      loaded[j] = i < n ? reference.at(i) : Reference::neutral;
    }
#pragma unroll
    for (unsigned j = 0; j < reduce_reference_loads; ++j) {
      value = Reference::combine(value, loaded[j]);
    }
  }
  combine_as_tree(values, value, Reference::combine);
  if (threadIdx.x == 0) {
    *expected = values[0];
  }
}

namespace {

void require_floats(const char* launcher, const char* name, const float* in, std::size_t n) {
  if (n > 0) {
    require_pointer(launcher, name, in, alignof(float));
  }
}

template <class Reference>
void reduce_in_one_block(const char* launcher, Reference reference, double* expected, std::size_t n,
                         cudaStream_t stream) {
  require_pointer(launcher, "expected", expected, alignof(double));
  reduce_reference_kernel<<<1, reduce_reference_threads, 0, stream>>>(reference, expected, n);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace

void sum_reference(const float* in, double* expected, std::size_t n, cudaStream_t stream) {
  require_floats("sum_reference", "in", in, n);
  reduce_in_one_block("sum_reference", SumReference{in}, expected, n, stream);
}

void dot_reference(const float* a, const float* b, double* expected, std::size_t n,
                   cudaStream_t stream) {
  require_floats("dot_reference", "a", a, n);
  require_floats("dot_reference", "b", b, n);
  reduce_in_one_block("dot_reference", DotReference{a, b}, expected, n, stream);
}

void max_reference(const float* in, double* expected, std::size_t n, cudaStream_t stream) {
  require_floats("max_reference", "in", in, n);
  reduce_in_one_block("max_reference", MaxReference{in}, expected, n, stream);
}

}  // namespace warpgauge::kernels
