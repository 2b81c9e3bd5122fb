// SPDX-License-Identifier: Apache-2.0
// The k largest elements. Bound by device memory, which must be read at least once.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/reduce/rows.hpp"

namespace warpgauge::kernels {

// All below write the k largest of a row, largest first, and their columns; of equal elements the
// one in the lower column comes first. Elements are ordered by their bits, so that 0 is larger than
// -0, and a NaN than all numbers, or smaller if its sign is set. 1 <= k <= most_selected, and a row
// has at least k columns, and fewer than 2^31. Asynchronous on stream; can be captured into a
// graph. Throw std::invalid_argument for a null or misaligned pointer, or if n or k is not as said,
// std::runtime_error for a refused launch.

inline constexpr unsigned most_selected = 2048;

/// A block reads a row and selects by digits of 11 bits, the highest first, until few elements are
/// left, which it sorts in shared memory. values and columns: rows x k. No rows: does nothing.
void top_k_rows(const float* in, float* values, std::int32_t* columns, RowsShape shape, unsigned k,
                cudaStream_t stream);

/// The same of one row of n elements, by all blocks of the device; n > 0. `scratch` has
/// top_k_scratch_bytes(), is aligned to 16 bytes and needs no initial contents.
std::size_t top_k_scratch_bytes();
void top_k(const float* in, float* values, std::int32_t* columns, void* scratch, std::size_t n,
           unsigned k, cudaStream_t stream);

/// What shows that `values` and `columns` are the k largest of each row, as above.
struct TopKProof {
  unsigned long long wrong;     ///< results that are not what the row has there, or out of order
  unsigned long long reaching;  ///< elements that come no later than the last result of their row
};

/// Adds to `proof`, which is zero before. It holds if nothing is wrong and rows x k elements reach.
void prove_top_k(const float* in, const float* values, const std::int32_t* columns,
                 TopKProof* proof, RowsShape shape, unsigned k, cudaStream_t stream);

}  // namespace warpgauge::kernels
