// SPDX-License-Identifier: Apache-2.0
// Apart from elementwise.cu because Thrust multiplies the time to compile.
#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include <cstddef>
#include <limits>

#include "kernels/arguments.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/launch_check.hpp"

namespace warpgauge::kernels {

template <class Op>
void transform_thrust(const float* in, float* out, std::size_t n, cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require_pointer("transform_thrust", "in", in, alignof(float));
  require_pointer("transform_thrust", "out", out, alignof(float));
  constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(float);
  require_at_most("transform_thrust", n, most);
  // Its errors are thrust::system_error, a std::runtime_error with CUDA's text.
  thrust::transform(thrust::cuda::par_nosync.on(stream), in, in + n, out, Op{});
  check_launch("thrust::transform");
}

template void transform_thrust<Copy>(const float*, float*, std::size_t, cudaStream_t);
template void transform_thrust<Square>(const float*, float*, std::size_t, cudaStream_t);
template void transform_thrust<Affine>(const float*, float*, std::size_t, cudaStream_t);

}  // namespace warpgauge::kernels
