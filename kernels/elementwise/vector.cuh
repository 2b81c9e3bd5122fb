// SPDX-License-Identifier: Apache-2.0
// How the vectorised kernels read and write: 16 bytes per instruction and thread.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace warpgauge::kernels {

/// The widest load and store up to compute capability 9.0.
inline constexpr std::size_t vector_bytes = 16;

/// Elements per vector: as many of the widest type as fit 16 bytes. A narrower type beside it then
/// has 8-byte vectors, so that neighbouring threads still access neighbouring bytes.
template <class... T>
inline constexpr unsigned vector_width = vector_bytes / std::max({sizeof(T)...});

// One 16-byte load per thread keeps 32 KiB per SM in flight. HBM3e's latency needs 25 KiB (4.8 TB/s
// * 0.7 us / 132 SMs). Small blocks keep it so to the end of a wave. Of 404 kernels that square
// floats on an H200 (1 to 8 vectors per thread, 128 to 1024 threads, one tile per block or a
// grid-stride loop, cache hints on loads and stores), none is 0.5 % faster at 64 to 400 MB.
inline constexpr unsigned vector_threads = 128;

template <std::size_t bytes>
struct WordOf;
template <>
struct WordOf<8> {
  using Type = uint2;
};
template <>
struct WordOf<16> {
  using Type = uint4;
};

/// `width` neighbouring elements, loaded or stored by one instruction.
template <class T, unsigned width>
struct Vector {
  using Word = typename WordOf<width * sizeof(T)>::Type;

  T elements[width];

  /// The vector at `index` of an aligned array.
  static __device__ Vector load(const T* in, std::size_t index) {
    const Word word = reinterpret_cast<const Word*>(in)[index];
    Vector vector;
    std::memcpy(&vector, &word, sizeof(word));
    return vector;
  }

  __device__ void store(T* out, std::size_t index) const {
    Word word;
    std::memcpy(&word, this, sizeof(word));
    reinterpret_cast<Word*>(out)[index] = word;
  }
};

}  // namespace warpgauge::kernels
