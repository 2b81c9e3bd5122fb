// SPDX-License-Identifier: Apache-2.0
// Four elementwise kernels instead of one: bound by device memory, four times over.
#include "kernels/elementwise/launchers.hpp"
#include "kernels/elementwise/vector.cuh"

namespace warpgauge::kernels {

template <class T>
void chain_of_four(const Chain& op, const T* in, T* scratch, T* out, std::size_t n,
                   cudaStream_t stream) {
  chain_by("chain_of_four", op, in, scratch, out, n, vector_bytes,
           [=](const T* from, T* to, auto step) { transform_vector(from, to, n, stream, step); });
}

template void chain_of_four(const Chain&, const float*, float*, float*, std::size_t, cudaStream_t);
template void chain_of_four(const Chain&, const Half*, Half*, Half*, std::size_t, cudaStream_t);
template void chain_of_four(const Chain&, const Bf16*, Bf16*, Bf16*, std::size_t, cudaStream_t);

}  // namespace warpgauge::kernels
