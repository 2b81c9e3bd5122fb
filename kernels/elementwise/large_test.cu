// SPDX-License-Identifier: Apache-2.0
// More elements than a 32-bit index can count. A separate executable: it skips on small GPUs.
#include <warpgauge/cuda/device_array.hpp>

#include "kernels/device_test.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace warpgauge::kernels {
namespace {

constexpr std::size_t past_32_bits = std::size_t{1} << 32;
constexpr std::size_t n = past_32_bits + 5;  // wraps to 5 in 32 bits; not a multiple of 4

// Their squares are exact in float.
constexpr float common = 0.75F;
constexpr float marked = 1.25F;

constexpr unsigned blocks = 1024;
constexpr unsigned threads = 1024;

__device__ bool is_marked(std::size_t i) {
  return i == 0 || i == past_32_bits || i == n - 1;
}

__global__ void fill_kernel(float* values) {
  for (std::size_t i = blockIdx.x * threads + threadIdx.x; i < n; i += blocks * threads) {
    values[i] = is_marked(i) ? marked : common;
  }
}

template <class T>
__global__ void count_squares_kernel(const T* values, unsigned long long* count) {
  for (std::size_t i = blockIdx.x * threads + threadIdx.x; i < n; i += blocks * threads) {
    const T root = is_marked(i) ? marked : common;
    if (values[i] == root * root) {
      atomicAdd(count, 1);
    }
  }
}

class ElementwiseLargeTest : public DeviceTest {
 protected:
  /// Squares n values on the device and counts the right ones there.
  template <class T, class Launcher>
  void expect_squares(Launcher launch) {
    constexpr std::size_t needed = n * (sizeof(float) + sizeof(T)) + (std::size_t{1} << 30);
    std::size_t free = 0;
    std::size_t total = 0;
    ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    if (free < needed) {
      GTEST_SKIP() << "needs " << needed << " bytes of device memory, " << free << " are free";
    }
    DeviceArray<float> in(n);
    DeviceArray<T> out(n);
    DeviceArray<unsigned long long> right(1);
    fill_kernel<<<blocks, threads, 0, stream()>>>(in.data());
    out.fill_bytes(0xFF, stream());  // NaN
    right.fill_bytes(0, stream());
    launch(in.data(), out.data(), n, stream(), Square{});
    count_squares_kernel<<<blocks, threads, 0, stream()>>>(out.data(), right.data());
    WARPGAUGE_CHECK(cudaGetLastError());
    EXPECT_EQ(right.download(stream()).front(), n);
  }
};

TEST_F(ElementwiseLargeTest, ScalarIndexesPast32Bits) {
  expect_squares<float>(transform_scalar<Square>);
}

TEST_F(ElementwiseLargeTest, GridStrideIndexesPast32Bits) {
  expect_squares<float>(transform_grid_stride<Square>);
}

TEST_F(ElementwiseLargeTest, VectorIndexesPast32Bits) {
  expect_squares<float>(transform_vector<Square>);
}

TEST_F(ElementwiseLargeTest, ThrustIndexesPast32Bits) {
  expect_squares<float>(transform_thrust<Square>);
}

TEST_F(ElementwiseLargeTest, CubIndexesPast32Bits) {
  if (!cub_transforms()) {
    GTEST_SKIP() << "compiled without cub::DeviceTransform";
  }
  expect_squares<float>(transform_cub<Square>);
}

TEST_F(ElementwiseLargeTest, ReferenceIndexesPast32Bits) {
  expect_squares<double>(transform_reference<Square>);
}

}  // namespace
}  // namespace warpgauge::kernels
