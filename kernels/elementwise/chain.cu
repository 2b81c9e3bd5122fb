// SPDX-License-Identifier: Apache-2.0
// Four elementwise kernels where one would do: bound by device memory, four times over.
#include <warpgauge/cuda/arguments.hpp>
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/elementwise/vector.cuh"

namespace warpgauge::kernels {

template <class T>
void chain_of_four(const Chain& op, const T* in, T* scratch, T* out, std::size_t n,
                   cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  // All of it before the first kernel, and by the names that the caller knows.
  require_pointer("chain_of_four", "in", in, vector_bytes);
  require_pointer("chain_of_four", "scratch", scratch, vector_bytes);
  require_pointer("chain_of_four", "out", out, vector_bytes);
  transform_vector<Bias, T>(in, scratch, n, stream, op.first);
  transform_vector<Relu, T>(scratch, out, n, stream);
  transform_vector<Scale, T>(out, scratch, n, stream, op.scale);
  transform_vector<Bias, T>(scratch, out, n, stream, op.second);
}

using Half = __half;
using Bf16 = __nv_bfloat16;

template void chain_of_four(const Chain&, const float*, float*, float*, std::size_t, cudaStream_t);
template void chain_of_four(const Chain&, const Half*, Half*, Half*, std::size_t, cudaStream_t);
template void chain_of_four(const Chain&, const Bf16*, Bf16*, Bf16*, std::size_t, cudaStream_t);

}  // namespace warpgauge::kernels
