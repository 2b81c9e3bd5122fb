// SPDX-License-Identifier: Apache-2.0
// What the tensor-core rungs ask before they launch.
#pragma once

#include "kernels/arguments.hpp"
#include "kernels/gemm/arguments.hpp"

namespace warpgauge::kernels {

/// require_gemm, c too, each aligned to the 16 bytes that are copied at once.
void require_tensor_gemm(const char* launcher, const void* a, const void* b, const void* c,
                         GemmShape shape);

/// Whether every row of A, B and C begins at a multiple of 16 bytes.
bool has_whole_chunks(GemmShape shape, std::size_t element_bytes);

/// Before it, tensor cores have neither bf16 nor TF32, and shared memory no asynchronous copies.
inline constexpr int tensor_compute_capability = 8;

/// Throws std::runtime_error "LAUNCHER: needs ... bytes of shared memory a block, this device has
/// ..." unless `present` are enough.
void require_shared_memory(const char* launcher, std::size_t needed, std::size_t present);

/// Lets the kernel take this much dynamic shared memory, of which it has no other. Throws as
/// require_shared_memory() when the current device has less.
void allow_shared_memory(const char* launcher, const void* kernel, unsigned bytes);

}  // namespace warpgauge::kernels
