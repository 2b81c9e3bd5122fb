// SPDX-License-Identifier: Apache-2.0
// Products that start before the kernel before them has ended read what that kernel writes last.
#include <functional>

#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/hopper/wgmma_test.hpp"

namespace warpgauge::kernels {

/// Lets the next kernel start at once, then waits for 0.2 ms, then copies. One block, so that most
/// multiprocessors are free for the next kernel.
template <class T>
__global__ void write_late(const T* from, T* to, std::size_t count) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
  const auto now = [] {
    unsigned long long nanoseconds = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
  };
  for (const unsigned long long end = now() + 200'000; now() < end;) {
  }
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) {
    to[i] = from[i];
  }
}

namespace {

class DependentLaunchTest : public WgmmaTest {
 protected:
  template <class In, class Out>
  using Product = std::function<void(const In*, const In*, Out*, GemmShape, cudaStream_t)>;

  /// A is 0 until a kernel before the product writes it.
  template <class In, class Out>
  void expect_waits(const Product<In, Out>& multiply, GemmShape shape, GemmB layout) {
    SCOPED_TRACE(::testing::Message() << shape.m << " x " << shape.n << " x " << shape.k);
    const std::size_t outputs = shape.m * shape.n;
    const DeviceArray<In> late(small_integers<In>(shape.m * shape.k, 1));
    const DeviceArray<In> b(small_integers<In>(shape.k * shape.n, 2));
    GuardedOutput<double> reference(outputs);
    gemm_reference(late.data(), b.data(), reference.data(), shape, 0, outputs, stream(), layout);
    synchronize();
    std::vector<double> expected = reference.values();
    for (double& value : expected) {
      value = static_cast<double>(static_cast<Out>(value));
    }
    const auto expect_of = [&](const auto& run) {
      DeviceArray<In> a = zeroed<In>(late.size());
      GuardedOutput<Out> c(outputs);
      run([&] {
        write_late<<<1, 256, 0, stream()>>>(late.data(), a.data(), a.size());
        multiply(a.data(), b.data(), c.data(), shape, stream());
      });
      synchronize();
      expect_same(c.values(), expected);
    };
    GuardedOutput<Out> first(outputs);
    multiply(late.data(), b.data(), first.data(), shape, stream());
    synchronize();  // the kernel is loaded, which would have waited for the one before
    expect_of([](const auto& launch) { launch(); });
    expect_of([&](const auto& launch) { capture_and_replay(stream(), launch); });
  }
};

TEST_F(DependentLaunchTest, ProductsWaitForTheKernelBefore) {
  using T = __nv_bfloat16;
  const GemmShape one_tile{128, 256, 128};
  expect_waits<T, T>(gemm_wgmma_dependent_launch<T>, one_tile, GemmB::row_major);
  expect_waits<T, T>(gemm_wgmma_early_loads<T>, one_tile, GemmB::row_major);
  expect_waits<T, T>(gemm_wgmma_staggered_end<T>, one_tile, GemmB::row_major);
  // 64 x 64, 64 x 128, 64 x 256, 128 x 128, 128 x 192
  for (const GemmShape shape : {GemmShape{136, 1080, 72},
                                {136, 5000, 72},
                                {72, 8584, 72},
                                {2824, 264, 72},
                                {136, 8552, 8}}) {
    expect_waits<T, T>(gemm_wgmma_best<T>, shape, GemmB::row_major);
  }
  expect_waits<float, float>(gemm_wgmma_k_major<float, float>, one_tile, GemmB::transposed);
}

}  // namespace
}  // namespace warpgauge::kernels
