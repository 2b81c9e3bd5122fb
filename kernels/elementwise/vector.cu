// SPDX-License-Identifier: Apache-2.0
// 16 bytes per load: bound by device memory. GELU of 16-bit types (about 30 instructions per 4
// bytes moved) and pow(x, 2) (about 80 per 8 bytes) are bound by arithmetic.
#include <type_traits>

#include "kernels/elementwise/launchers.hpp"
#include "kernels/elementwise/vector.cuh"
#include "kernels/launch_elements.cuh"

namespace warpgauge::kernels {

/// Vectors per thread, all loaded before the first is used. If memory is the bound, one is enough.
/// If arithmetic is, four hide the loads behind it: on an H200, pow and 16-bit GELU are 10 to 16 %
/// faster.
template <class Op, class In>
inline constexpr unsigned vectors_per_thread =
    std::is_same_v<Op, Pow2> ||
            (sizeof(In) == 2 && (std::is_same_v<Op, Gelu> || std::is_same_v<Op, GeluTanh>))
        ? 4
        : 1;

template <class Op, class In, class Out>
__global__ __launch_bounds__(vector_threads) void transform_vector_kernel(const In* __restrict__ in,
                                                                          Out* __restrict__ out,
                                                                          std::size_t n, Op op) {
  constexpr unsigned width = vector_width<In, Out>;
  constexpr unsigned count = vectors_per_thread<Op, In>;
  const RoundedTo<Op, Out> rounded{op};
  const std::size_t vectors = n / width;
  const std::size_t first = std::size_t{blockIdx.x} * (vector_threads * count) + threadIdx.x;
  Vector<In, width> loaded[count];
#pragma unroll
  for (unsigned v = 0; v < count; ++v) {
    if (first + v * vector_threads < vectors) {
      loaded[v] = Vector<In, width>::load(in, first + v * vector_threads);
    }
  }
#pragma unroll
  for (unsigned v = 0; v < count; ++v) {
    if (first + v * vector_threads < vectors) {
      Vector<Out, width> result;
#pragma unroll
      for (unsigned i = 0; i < width; ++i) {
        result.elements[i] = rounded(loaded[v].elements[i]);
      }
      result.store(out, first + v * vector_threads);
    }
  }
  if (blockIdx.x == 0 && threadIdx.x < n % width) {
    const std::size_t last = vectors * width + threadIdx.x;
    out[last] = rounded(in[last]);
  }
}

template <class Op, class In, class Out>
void transform_vector(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op) {
  constexpr unsigned per_thread = vectors_per_thread<Op, In> * vector_width<In, Out>;
  launch_elements({"transform_vector", n, vector_threads, per_thread},
                  {{"in", in, vector_bytes}, {"out", out, vector_bytes}}, stream,
                  transform_vector_kernel<Op, In, Out>, in, out, n, op);
}

auto vector_instances() {
  const auto address = []<class Op, class In, class Out>(Instance<Op, In, Out>) {
    return &transform_vector<Op, In, Out>;
  };
  return std::tuple_cat(instances_of_all(address), instances_of_conversions(address),
                        instances<Bias, Relu>(address));
}

}  // namespace warpgauge::kernels
