// SPDX-License-Identifier: Apache-2.0
// A block (a cluster if rows are long) stays and takes row after row. While it works on one, copies
// into shared memory fetch the next two, each vector by the thread that will use it, so that no
// barrier guards them. dgamma and dbeta are summed in that thread's registers over all its rows; a
// second kernel adds up what the blocks have, in a fixed order. Bound by device memory: dy and x
// are read once, dx is written once.
#include <algorithm>
#include <bit>
#include <initializer_list>
#include <utility>

#include <warpgauge/cuda/current_device.hpp>
#include "kernels/norm/norm.hpp"
#include "kernels/norm/row_ring.cuh"
#include "kernels/reduce/row_in_registers.cuh"
#include "kernels/reduce/row_launch.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned backward_vectors = 4;
inline constexpr unsigned backward_threads_per_sm = 512;  // more would not find registers

template <unsigned threads, unsigned blocks = 1>
using BackwardShape = RowShape<threads, backward_vectors, blocks>;

/// dgamma and, for layer norm, dbeta of a group of threads.
struct Partials {
  float* gamma;
  float* beta;
};

template <class T, class Shape, bool centred>
__global__ __launch_bounds__(
    Shape::threads,
    backward_threads_per_sm /
        Shape::threads) void norm_backward_kernel(const T* __restrict__ dy,
                                                  const T* __restrict__ in,
                                                  const T* __restrict__ gamma,
                                                  const float* __restrict__ means,
                                                  const float* __restrict__ scales,
                                                  T* __restrict__ dx, Partials partials,
                                                  std::size_t rows, unsigned row_vectors) {
  constexpr unsigned n = vector_elements<T>;
  constexpr unsigned sums = centred ? 2 : 1;
  extern __shared__ uint4 memory[];
  __shared__ typename RowGroup<Shape, sums>::Storage storage;
  RowGroup<Shape, sums> group(storage);
  const unsigned first = group.first();
  RowRing<Shape> ring(memory, first, row_vectors);
  const std::size_t groups = gridDim.x / Shape::blocks;
  const std::size_t group_index = blockIdx.x / Shape::blocks;
  const auto fetch = [&](std::size_t row) {
    const std::size_t start = row * row_vectors + first;
    ring.fetch(reinterpret_cast<const uint4*>(in) + start,
               reinterpret_cast<const uint4*>(dy) + start, row < rows);
  };
#pragma unroll
  for (unsigned i = 0; i + 1 < backward_stages; ++i) {
    fetch(group_index + i * groups);
  }
  uint4 factors[Shape::vectors];
  float of_gamma[Shape::vectors][n] = {};
  float of_beta[Shape::vectors][centred ? n : 1] = {};
#pragma unroll
  for (unsigned j = 0; j < Shape::vectors; ++j) {
    factors[j] = first + j * Shape::step < row_vectors
                     ? reinterpret_cast<const uint4*>(gamma)[first + j * Shape::step]
                     : make_uint4(0, 0, 0, 0);
  }
  const unsigned zero = row_vectors >> 31;  // a row has at most 2^13
  const float per_element = 1.0F / static_cast<float>(row_vectors * n);
  float next_scale = scales[group_index];
  float next_mean = centred ? means[group_index] : 0.0F;
  for (std::size_t row = group_index; row < rows; row += groups) {
    const float scale = next_scale;
    const float shift = -next_mean * scale;
    fetch(row + (backward_stages - 1) * groups);
    if (row + groups < rows) {
      next_scale = scales[row + groups];
      next_mean = centred ? means[row + groups] : 0.0F;
    }
    ring.next();
    float sum[sums] = {};
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      float x[n];
      float y[n];
      float factor[n];
      forget_unpacked<T>(factors[j], zero);
      unpack(ring.x(j), x);
      unpack(ring.dy(j), y);
      unpack(factors[j], factor);
#pragma unroll
      for (unsigned e = 0; e < n; ++e) {
        x[e] = centred ? fmaf(x[e], scale, shift) : x[e] * scale;
        of_gamma[j][e] = fmaf(y[e], x[e], of_gamma[j][e]);
        if constexpr (centred) {
          of_beta[j][e] += y[e];
        }
        factor[e] *= y[e];
        x[e] *= factor[e];
      }
      sum[0] += fold(x, Plus{});
      if constexpr (centred) {
        sum[1] += fold(factor, Plus{});
      }
    }
    group.reduce(sum, 0.0F, Plus{});
    __syncwarp();  // otherwise the compiler mixes both loops, and the warp of a short row spills
    const float along = sum[0] * per_element * scale;
    const float offset = centred ? sum[sums - 1] * per_element * scale : 0.0F;
    // dx = scale g - offset - along n, and n = x scale + shift.
    const float of_x = -along * scale;
    const float constant = -offset - along * shift;
    uint4* const to = reinterpret_cast<uint4*>(dx) + row * row_vectors + first;
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      if (first + j * Shape::step < row_vectors) {
        float x[n];
        float y[n];
        float factor[n];
        forget_unpacked<T>(factors[j], zero);
        unpack(ring.x(j), x);
        unpack(ring.dy(j), y);
        unpack(factors[j], factor);
#pragma unroll
        for (unsigned e = 0; e < n; ++e) {
          x[e] = fmaf(x[e], of_x, constant);
          x[e] = fmaf(y[e] * factor[e], scale, x[e]);
        }
        __stcs(to + j * Shape::step, pack(x));
      }
    }
  }
  const auto store = [&](float* to, const auto& from) {
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      if (first + j * Shape::step < row_vectors) {
        float* const place =
            to + group_index * row_vectors * n + std::size_t{first + j * Shape::step} * n;
#pragma unroll
        for (unsigned e = 0; e < n; e += 4) {
          *reinterpret_cast<float4*>(place + e) =
              make_float4(from[j][e], from[j][e + 1], from[j][e + 2], from[j][e + 3]);
        }
      }
    }
  };
  store(partials.gamma, of_gamma);
  if constexpr (centred) {
    store(partials.beta, of_beta);
  }
}

inline constexpr unsigned summing_threads = 1024;
inline constexpr unsigned summing_blocks = 128;   // for one array, so that all run at once
inline constexpr unsigned least_sum_columns = 8;  // 32 bytes, so that no sector is read in part

/// sums[c] = the sum of partials[g][c] over g. Blocks along y: gamma, then beta. A block has
/// `block_columns` columns, a power of two.
__global__ __launch_bounds__(summing_threads) void sum_partials_kernel(
    Partials partials, float* __restrict__ dgamma, float* __restrict__ dbeta, unsigned groups,
    std::size_t columns, unsigned block_columns) {
  __shared__ float sums[summing_threads];
  const float* const from = blockIdx.y == 0 ? partials.gamma : partials.beta;
  float* const to = blockIdx.y == 0 ? dgamma : dbeta;
  const std::size_t column =
      std::size_t{blockIdx.x} * block_columns + (threadIdx.x & (block_columns - 1));
  float sum = 0;
  if (column < columns) {
#pragma unroll 8
    for (unsigned g = threadIdx.x / block_columns; g < groups;
         g += summing_threads / block_columns) {
      sum += from[g * columns + column];
    }
  }
  sums[threadIdx.x] = sum;
  for (unsigned half = summing_threads / 2; half >= block_columns; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      sums[threadIdx.x] += sums[threadIdx.x + half];
    }
  }
  if (threadIdx.x < block_columns && column < columns) {
    to[column] = sums[threadIdx.x];
  }
}

namespace {

/// Groups of threads that an H100 holds at once. Others may hold fewer; the rest then wait. Four
/// blocks of a cluster must find SMs of one GPC, whose number need not be a multiple of four: with
/// an eighth fewer clusters none waits.
template <class Shape>
unsigned resident_groups() {
  const unsigned groups = sm_count() * (backward_threads_per_sm / Shape::threads) / Shape::blocks;
  return std::max(1U, Shape::blocks > 2 ? groups - groups / 8 : groups);
}

/// Calls launch(shape) with the smallest that holds the row.
template <class Launch>
void with_backward_shape(std::size_t vectors, const Launch& launch) {
  const auto fits = [&]<class Shape>(Shape tried) {
    if (vectors > Shape::most_vectors) {
      return false;
    }
    launch(tried);
    return true;
  };
  static_cast<void>(fits(BackwardShape<32>{}) || fits(BackwardShape<64>{}) ||
                    fits(BackwardShape<128>{}) || fits(BackwardShape<256>{}) ||
                    fits(BackwardShape<512>{}) || fits(BackwardShape<512, 2>{}) ||
                    fits(BackwardShape<512, 4>{}));
}

template <class T>
void require_backward_rows(const char* launcher, RowsShape shape) {
  require_countable(launcher, shape.rows, shape.columns, sizeof(T));
  constexpr std::size_t most = most_backward_row_bytes / sizeof(T);
  if (shape.columns > most || shape.columns % vector_elements<T> != 0) {
    throw std::invalid_argument(std::string(launcher) + ": rows of " +
                                std::to_string(shape.columns) + "; it takes multiples of " +
                                std::to_string(vector_elements<T>) + " up to " +
                                std::to_string(most));
  }
  if (shape.columns * sizeof(T) > most_backward_row_bytes_before_clusters) {
    require_compute_capability(launcher, 9);
  }
}

template <class T, bool centred>
void launch_backward(const char* launcher, const T* dy, const T* in, const T* gamma,
                     const float* means, const float* scales, T* dx, float* dgamma, float* dbeta,
                     float* partials, RowsShape shape, cudaStream_t stream) {
  const auto row_vectors = static_cast<unsigned>(shape.columns / vector_elements<T>);
  with_backward_shape(row_vectors, [&]<class Shape>(Shape) {
    constexpr auto kernel = norm_backward_kernel<T, Shape, centred>;
    const auto groups =
        static_cast<unsigned>(std::min(shape.rows, std::size_t{resident_groups<Shape>()}));
    const Partials sums{partials, partials + groups * shape.columns};
    launch_rows<Shape, kernel, RowRing<Shape>::bytes>(
        launcher, groups, stream, dy, in, gamma, means, scales, dx, sums, shape.rows, row_vectors);
    const auto block_columns = static_cast<unsigned>(
        std::max(std::bit_ceil(shape.columns / summing_blocks), std::size_t{least_sum_columns}));
    sum_partials_kernel<<<dim3(blocks_for(launcher, shape.columns, block_columns),
                               centred ? 2U : 1U),
                          summing_threads, 0, stream>>>(sums, dgamma, dbeta, groups, shape.columns,
                                                        block_columns);
    WARPGAUGE_CHECK(cudaGetLastError());
  });
}

/// The sum over no rows.
void clear_gradients(const char* launcher,
                     std::initializer_list<std::pair<const char*, float*>> gradients,
                     std::size_t columns, cudaStream_t stream) {
  for (const auto& [name, gradient] : gradients) {
    require_pointer(launcher, name, gradient, alignof(float));
  }
  for (const auto& [name, gradient] : gradients) {
    WARPGAUGE_CHECK(cudaMemsetAsync(gradient, 0, columns * sizeof(float), stream));
  }
}

}  // namespace

std::size_t backward_partials(std::size_t columns) {
  // The largest rows of float have as many groups as rows of bf16 have, or fewer.
  std::size_t floats = 0;
  with_backward_shape((columns * sizeof(__nv_bfloat16) - 1) / sizeof(uint4) + 1,
                      [&]<class Shape>(Shape) { floats = resident_groups<Shape>() * columns; });
  return floats;
}

template <class T>
void rms_norm_backward(const T* dy, const T* in, const T* gamma, const float* scales, T* dx,
                       float* dgamma, float* partials, RowsShape shape, cudaStream_t stream) {
  if (shape.columns == 0) {
    return;
  }
  if (shape.rows == 0) {
    clear_gradients("rms_norm_backward", {{"dgamma", dgamma}}, shape.columns, stream);
    return;
  }
  require_arrays("rms_norm_backward", {{"dy", dy, sizeof(uint4)},
                                       {"in", in, sizeof(uint4)},
                                       {"gamma", gamma, sizeof(uint4)},
                                       {"scales", scales},
                                       {"dx", dx, sizeof(uint4)},
                                       {"dgamma", dgamma},
                                       {"partials", partials, sizeof(float4)}});
  require_backward_rows<T>("rms_norm_backward", shape);
  launch_backward<T, false>("rms_norm_backward", dy, in, gamma, nullptr, scales, dx, dgamma,
                            nullptr, partials, shape, stream);
}

template <class T>
void layer_norm_backward(const T* dy, const T* in, const T* gamma, const float* means,
                         const float* scales, T* dx, float* dgamma, float* dbeta, float* partials,
                         RowsShape shape, cudaStream_t stream) {
  if (shape.columns == 0) {
    return;
  }
  if (shape.rows == 0) {
    clear_gradients("layer_norm_backward", {{"dgamma", dgamma}, {"dbeta", dbeta}}, shape.columns,
                    stream);
    return;
  }
  require_arrays("layer_norm_backward", {{"dy", dy, sizeof(uint4)},
                                         {"in", in, sizeof(uint4)},
                                         {"gamma", gamma, sizeof(uint4)},
                                         {"means", means},
                                         {"scales", scales},
                                         {"dx", dx, sizeof(uint4)},
                                         {"dgamma", dgamma},
                                         {"dbeta", dbeta},
                                         {"partials", partials, sizeof(float4)}});
  require_backward_rows<T>("layer_norm_backward", shape);
  launch_backward<T, true>("layer_norm_backward", dy, in, gamma, means, scales, dx, dgamma, dbeta,
                           partials, shape, stream);
}

template void rms_norm_backward(const float*, const float*, const float*, const float*, float*,
                                float*, float*, RowsShape, cudaStream_t);
template void rms_norm_backward(const __nv_bfloat16*, const __nv_bfloat16*, const __nv_bfloat16*,
                                const float*, __nv_bfloat16*, float*, float*, RowsShape,
                                cudaStream_t);
template void layer_norm_backward(const float*, const float*, const float*, const float*,
                                  const float*, float*, float*, float*, float*, RowsShape,
                                  cudaStream_t);
template void layer_norm_backward(const __nv_bfloat16*, const __nv_bfloat16*, const __nv_bfloat16*,
                                  const float*, const float*, __nv_bfloat16*, float*, float*,
                                  float*, RowsShape, cudaStream_t);

}  // namespace warpgauge::kernels
