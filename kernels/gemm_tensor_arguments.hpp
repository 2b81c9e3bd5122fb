// SPDX-License-Identifier: Apache-2.0
// What the tensor-core rungs ask before they launch.
#pragma once

#include "kernels/arguments.hpp"
#include "kernels/gemm_arguments.hpp"

namespace warpgauge::kernels {

/// require_gemm, c too, each aligned to the 16 bytes that are copied at once.
void require_tensor_gemm(const char* launcher, const void* a, const void* b, const void* c,
                         GemmShape shape);

/// Whether every row of A, B and C begins at a multiple of 16 bytes.
bool has_whole_chunks(GemmShape shape, std::size_t element_bytes);

/// Before it, tensor cores have neither bf16 nor TF32, and shared memory no asynchronous copies.
inline constexpr int tensor_compute_capability = 8;

/// Lets the kernel take this much shared memory. Throws std::runtime_error when the device has
/// less.
void allow_shared_memory(const char* launcher, const void* kernel, unsigned bytes);

}  // namespace warpgauge::kernels
