// SPDX-License-Identifier: Apache-2.0
// How the vectorised kernels read and write: 16 bytes an instruction and thread.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace warpgauge::kernels {

/// The widest load and store there is up to compute capability 9.0.
inline constexpr std::size_t vector_bytes = 16;

/// Elements a vector: as many as its widest type has in 16 bytes. Of a narrower type beside it
/// that is 8 bytes, so that neighbouring threads still read and write neighbouring bytes.
template <class... T>
inline constexpr unsigned vector_width = vector_bytes / std::max({sizeof(T)...});

// One 16-byte load a thread keeps 32 KiB an SM in flight, just what HBM3e's latency asks for (4.8
// TB/s * 0.7 us / 132 SMs = 25 KiB). Small blocks keep it so to the end of a wave. Of 404 kernels
// that square floats on an H200 (1 to 8 vectors a thread, 128 to 1024 threads, one tile a block or
// a grid-stride loop, cache hints of loads and stores) none is faster by 0.5 % at 64 to 400 MB.
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

/// `width` neighbouring elements, which one instruction loads or stores.
template <class T, unsigned width>
struct Vector {
  using Word = typename WordOf<width * sizeof(T)>::Type;

  T elements[width];

  /// Vector number `index` of an aligned array.
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
