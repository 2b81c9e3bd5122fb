// SPDX-License-Identifier: Apache-2.0
// Proves a selection in one reading of the rows: for verification where the host would take
// seconds.
#include "kernels/launch_elements.cuh"
#include "kernels/sort/select.cuh"

namespace warpgauge::kernels {

__global__ __launch_bounds__(256) void prove_results_kernel(
    const float* __restrict__ in, const float* __restrict__ values,
    const std::int32_t* __restrict__ columns, TopKProof* proof, RowKeys keys, std::size_t results,
    unsigned k) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= results) {
    return;
  }
  const auto column = static_cast<std::size_t>(columns[i]);  // huge if negative
  const bool is_there =
      column < keys.columns &&
      __float_as_uint(in[i / k * keys.columns + column]) == __float_as_uint(values[i]);
  const auto key = [&](std::size_t at) {
    return keys.key(values[at], static_cast<std::size_t>(columns[at]));
  };
  if (!is_there || (i % k > 0 && key(i - 1) <= key(i))) {
    atomicAdd(&proof->wrong, 1ULL);
  }
}

__global__ __launch_bounds__(256) void count_reaching_kernel(
    const float* __restrict__ in, const float* __restrict__ values,
    const std::int32_t* __restrict__ columns, TopKProof* proof, RowKeys keys, std::size_t n,
    unsigned k) {
  unsigned long long reaching = 0;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) {
    const std::size_t row = i / keys.columns;
    const std::size_t last = row * k + k - 1;
    const SelectKey least = keys.key(values[last], static_cast<std::size_t>(columns[last]));
    reaching += keys.key(in[i], i - row * keys.columns) >= least ? 1 : 0;
  }
  if (reaching != 0) {
    atomicAdd(&proof->reaching, reaching);
  }
}

void prove_top_k(const float* in, const float* values, const std::int32_t* columns,
                 TopKProof* proof, RowsShape shape, unsigned k, cudaStream_t stream) {
  if (shape.rows == 0) {
    return;
  }
  require_selectable("prove_top_k", shape.columns, k);
  require_countable("prove_top_k", shape.rows, shape.columns, sizeof(float));
  const RowKeys keys = row_keys(shape.columns);
  const std::initializer_list<Array> arrays = {
      {"in", in}, {"values", values}, {"columns", columns}, {"proof", proof}};
  launch_elements({.launcher = "prove_top_k", .n = shape.rows * k, .threads = 256}, arrays, stream,
                  prove_results_kernel, in, values, columns, proof, keys, shape.rows * k, k);
  launch_elements({.launcher = "prove_top_k",
                   .n = shape.rows * shape.columns,
                   .threads = 256,
                   .most_blocks_an_sm = 8},
                  arrays, stream, count_reaching_kernel, in, values, columns, proof, keys,
                  shape.rows * shape.columns, k);
}

}  // namespace warpgauge::kernels
