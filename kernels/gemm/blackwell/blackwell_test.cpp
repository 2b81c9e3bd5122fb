// SPDX-License-Identifier: Apache-2.0
// gemm_tcgen05 equals the reference exactly for small integers, launched and captured.
#include "kernels/gemm/blackwell/blackwell.hpp"
#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

class GemmTcgen05Test : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped() && !has_tcgen05()) {
      GTEST_SKIP() << "tcgen05 needs compute capability 10.0";
    }
  }

  /// Inputs are integers up to 8, so all sums are exact, and each result is rounded once.
  template <class T>
  void expect_exact() {
    // The smallest shape; one tile; edges inside a box, a tile and a stage; a second block without
    // outputs; terms that wrap around the ring and end in its middle; several tiles.
    for (const GemmShape shape : {GemmShape{1, 8, 8},
                                  {256, 256, 64},
                                  {129, 264, 72},
                                  {100, 520, 648},
                                  {300, 72, 1032},
                                  {1032, 776, 200}}) {
      SCOPED_TRACE(::testing::Message() << shape.m << " x " << shape.n << " x " << shape.k);
      const std::size_t outputs = shape.m * shape.n;
      const DeviceArray<T> a(small_integers<T>(shape.m * shape.k, 1));
      const DeviceArray<T> b(small_integers<T>(shape.k * shape.n, 2));
      GuardedOutput<double> reference(outputs);
      gemm_reference(a.data(), b.data(), reference.data(), shape, 0, outputs, stream());
      synchronize();
      expect_rounded<T>(stream(), reference.values(),
                        [&](T* c) { gemm_tcgen05(a.data(), b.data(), c, shape, stream()); });
    }
  }
};

TEST_F(GemmTcgen05Test, Bf16IsExactForSmallIntegers) {
  expect_exact<__nv_bfloat16>();
}

TEST_F(GemmTcgen05Test, F16IsExactForSmallIntegers) {
  expect_exact<__half>();
}

}  // namespace
}  // namespace warpgauge::kernels
