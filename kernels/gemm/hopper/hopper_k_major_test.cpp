// SPDX-License-Identifier: Apache-2.0
// gemm_wgmma_k_major equals the reference exactly, for TF32 and e4m3, launched and captured.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/hopper/wgmma_test.hpp"

namespace warpgauge::kernels {
namespace {

class GemmKMajorTest : public WgmmaTest {
 protected:
  /// Inputs are integers up to 8. Every sum is very probably an integer of at most 12 bits, and
  /// therefore exact even with the precision that the tensor cores keep for e4m3.
  template <class In, class Out>
  void expect_exact() {
    // The smallest shape; edges inside a box, a tile and a stage; terms that wrap around the ring
    // and end in its middle; more than two tiles per multiprocessor.
    for (const GemmShape shape : {GemmShape{1, 8, 16},
                                  {128, 256, 128},
                                  {65, 136, 48},
                                  {257, 520, 656},
                                  {17, 264, 1040},
                                  {4104, 2568, 144}}) {
      SCOPED_TRACE(::testing::Message() << shape.m << " x " << shape.n << " x " << shape.k);
      const std::size_t outputs = shape.m * shape.n;
      const DeviceArray<In> a(small_integers<In>(shape.m * shape.k, 1));
      const DeviceArray<In> b(small_integers<In>(shape.k * shape.n, 2));
      GuardedOutput<double> reference(outputs);
      gemm_reference(a.data(), b.data(), reference.data(), shape, 0, outputs, stream(),
                     GemmB::transposed);
      synchronize();
      expect_rounded<Out>(stream(), reference.values(), [&](Out* c) {
        gemm_wgmma_k_major(a.data(), b.data(), c, shape, stream());
      });
    }
  }
};

TEST_F(GemmKMajorTest, Tf32IsExactForSmallIntegers) {
  expect_exact<float, float>();
}

TEST_F(GemmKMajorTest, E4m3IsExactForSmallIntegers) {
  expect_exact<__nv_fp8_e4m3, __nv_bfloat16>();
}

}  // namespace
}  // namespace warpgauge::kernels
