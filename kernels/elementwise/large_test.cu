// SPDX-License-Identifier: Apache-2.0
// More elements than a 32-bit index counts. Its own executable, for it skips on small GPUs.
#include <thrust/count.h>
#include <thrust/device_vector.h>

#include "kernels/device_test.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace warpgauge::kernels {
namespace {

constexpr std::size_t past_32_bits = std::size_t{1} << 32;
constexpr std::size_t n = past_32_bits + 5;  // wraps to 5 in 32 bits; not a multiple of 4

// Their squares are exact in float.
constexpr float common = 0.75F;
constexpr float marked = 1.25F;

class ElementwiseLargeTest : public DeviceTest {
 protected:
  /// Squares n values on the device and counts the wrong ones there.
  template <class T, class Launcher>
  void expect_squares(Launcher launch) {
    constexpr std::size_t needed = n * (sizeof(float) + sizeof(T)) + (std::size_t{1} << 30);
    std::size_t free = 0;
    std::size_t total = 0;
    ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    if (free < needed) {
      GTEST_SKIP() << "needs " << needed << " bytes of device memory, " << free << " are free";
    }
    thrust::device_vector<float> in(n, common);
    in[0] = marked;
    in[past_32_bits] = marked;
    in[n - 1] = marked;
    thrust::device_vector<T> out(n, std::numeric_limits<T>::quiet_NaN());
    // The fills went to the default stream, for which ours does not wait.
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    launch(thrust::raw_pointer_cast(in.data()), thrust::raw_pointer_cast(out.data()), n, stream(),
           Square{});
    synchronize();
    EXPECT_EQ(out[0], T{marked} * T{marked});
    EXPECT_EQ(out[past_32_bits], T{marked} * T{marked});
    EXPECT_EQ(out[n - 1], T{marked} * T{marked});
    EXPECT_EQ(thrust::count(out.begin(), out.end(), T{common} * T{common}),
              static_cast<std::ptrdiff_t>(n - 3));
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
