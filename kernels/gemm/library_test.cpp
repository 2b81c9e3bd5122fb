// SPDX-License-Identifier: Apache-2.0
// Library calls that gemm_test.cpp does not cover: cuBLAS in f16 and TF32, batched and skinny;
// cuBLASLt's fp8.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/device_test.hpp"
#include "kernels/gemm/cublaslt.hpp"
#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels {
namespace {

// Odd sizes; one row, as in decoding; whole tiles.
constexpr GemmShape shapes[] = {{1, 1, 1},      {31, 33, 5},     {1, 264, 512},
                                {16, 136, 256}, {128, 128, 128}, {257, 129, 511}};

struct Errors {
  double absolute, relative;
};

class GemmLibraryTest : public DeviceTest {
 protected:
  template <class T>
  static void expect_close(const std::vector<T>& actual, const std::vector<double>& expected,
                           Errors most) {
    expect_within(actual, expected,
                  [=](double value) { return most.absolute + most.relative * std::abs(value); });
  }

  /// Compares gemm(a, b, c), direct and captured, with the reference. Returns the direct error.
  template <class In, class Out, class Gemm>
  double expect_matches_reference(GemmShape shape, std::size_t batch, Errors most, GemmB layout,
                                  const Gemm& gemm) {
    SCOPED_TRACE(::testing::Message()
                 << batch << " x " << shape.m << " x " << shape.n << " x " << shape.k);
    const std::size_t outputs = shape.m * shape.n;
    const DeviceArray<In> a(random_values_as<In>(batch * shape.m * shape.k, 1));
    const DeviceArray<In> b(random_values_as<In>(batch * shape.k * shape.n, 2));
    GuardedOutput<double> expected(batch * outputs);
    for (std::size_t i = 0; i < batch; ++i) {
      gemm_reference(a.data() + i * shape.m * shape.k, b.data() + i * shape.k * shape.n,
                     expected.data() + i * outputs, shape, 0, outputs, stream(), layout);
    }
    GuardedOutput<Out> direct(batch * outputs);
    GuardedOutput<Out> replayed(batch * outputs);
    gemm(a.data(), b.data(), direct.data());
    synchronize();
    expect_close(direct.values(), expected.values(), most);
    capture_and_replay(stream(), [&] { gemm(a.data(), b.data(), replayed.data()); });
    expect_close(replayed.values(), expected.values(), most);
    return largest_error(direct.values(), expected.values());
  }

  template <class T>
  static double largest_error(const std::vector<T>& actual, const std::vector<double>& expected) {
    double largest = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(actual[i]) - expected[i]));
    }
    return largest;
  }

  bool has_tf32() const {
    int major = 0;
    EXPECT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
    return major >= 8;
  }

  /// 2 k units in the last place of 1 in fp32, as gemm_test.cpp explains.
  static double sum_error(GemmShape shape) {
    return 2 * static_cast<double>(shape.k) * std::numeric_limits<float>::epsilon();
  }
};

// Each of the sixteen numbers, in each half of a byte.
TEST_F(GemmLibraryTest, NumbersOfFourBitsAreUnpackedExactly) {
  constexpr double numbers[]{0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
  std::vector<E2m1Pair> pairs;
  std::vector<double> expected;
  for (unsigned bits = 0; bits < 256; ++bits) {
    pairs.push_back({static_cast<std::uint8_t>(bits)});
    expected.push_back(numbers[bits % 16]);
    expected.push_back(numbers[bits / 16]);
  }
  const DeviceArray<E2m1Pair> packed(pairs);
  DeviceArray<__nv_fp8_e4m3> unpacked(expected.size());
  unpack(packed.data(), unpacked.data(), pairs.size(), stream());
  std::vector<float> got;
  for (const __nv_fp8_e4m3 number : unpacked.download(stream())) {
    got.push_back(static_cast<float>(number));
  }
  expect_same(got, expected);
}

// Products are multiples of 2^-2 (NVFP4) and sums exact in fp32; of e4m3 as below.
TEST_F(GemmLibraryTest, CublasLtOfBlocksMatchesReference) {
  if (!multiplies_blocks()) {
    GTEST_SKIP() << "needs compute capability 10.0 and CUDA 12.8";
  }
  const GemmShape shape{129, 288, 544};
  CublasLtGemm<ScaledE4m3, __nv_bfloat16> mxfp8(shape, GemmB::transposed);
  expect_matches_reference<__nv_fp8_e4m3, __nv_bfloat16>(
      shape, 1, {static_cast<double>(shape.k) * 0x1p-12, 0x1p-8}, GemmB::transposed,
      [&](const __nv_fp8_e4m3* a, const __nv_fp8_e4m3* b, __nv_bfloat16* c) {
        mxfp8(reinterpret_cast<const ScaledE4m3*>(a), reinterpret_cast<const ScaledE4m3*>(b), c,
              stream());
      });
  CublasLtGemm<E2m1Pair, __nv_bfloat16> nvfp4(shape, GemmB::transposed);
  const auto packed = [&](std::size_t numbers, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<E2m1Pair> pairs(numbers / 2);
    for (E2m1Pair& pair : pairs) {
      pair.bits = static_cast<std::uint8_t>(generator());
    }
    return DeviceArray<E2m1Pair>(pairs);
  };
  const DeviceArray<E2m1Pair> a = packed(shape.m * shape.k, 1);
  const DeviceArray<E2m1Pair> b = packed(shape.n * shape.k, 2);
  DeviceArray<__nv_fp8_e4m3> whole_a(shape.m * shape.k);
  DeviceArray<__nv_fp8_e4m3> whole_b(shape.n * shape.k);
  unpack(a.data(), whole_a.data(), a.size(), stream());
  unpack(b.data(), whole_b.data(), b.size(), stream());
  GuardedOutput<double> expected(shape.m * shape.n);
  gemm_reference(whole_a.data(), whole_b.data(), expected.data(), shape, 0, shape.m * shape.n,
                 stream(), GemmB::transposed);
  GuardedOutput<__nv_bfloat16> c(shape.m * shape.n);
  nvfp4(a.data(), b.data(), c.data(), stream());
  synchronize();
  expect_close(c.values(), expected.values(), {0.25, 0x1p-8});
}

TEST_F(GemmLibraryTest, CublasOfF16MatchesReference) {
  CublasGemm cublas;
  for (const GemmShape shape : shapes) {
    expect_matches_reference<__half, __half>(
        shape, 1, {sum_error(shape), 0x1p-11}, GemmB::row_major,
        [&](const __half* a, const __half* b, __half* c) { cublas(a, b, c, shape, stream()); });
  }
}

// Truncating a float to 11 bits of significand loses up to 2^-10 of it, and 2^-9 of a product. The
// mean loss of the products moves the sum by the same fraction. The rest is a random walk of k
// steps, each with a spread of at most 2^-10 times a product, whose root mean square is 0.58: eight
// standard deviations are 5 * 2^-10 sqrt(k). A lost term is off by 0.25 or more.
TEST_F(GemmLibraryTest, CublasOfTf32MatchesReference) {
  CublasGemm cublas(CublasGemm::default_workspace_bytes, FloatProducts::tf32);
  for (const GemmShape shape : shapes) {
    const double walk = 5 * 0x1p-10 * std::sqrt(static_cast<double>(shape.k));
    const double largest = expect_matches_reference<float, float>(
        shape, 1, {sum_error(shape) + walk, 0x1p-9}, GemmB::row_major,
        [&](const float* a, const float* b, float* c) { cublas(a, b, c, shape, stream()); });
    // TF32 must be used, not only allowed. If products are rounded, each loses 2^-12 in the mean;
    // that comes to 0.002 over 128 terms of either sign, and to more in the largest of many
    // outputs. Sums of whole floats err by at most 3e-5.
    if (shape.m == 128 && has_tf32()) {
      EXPECT_GT(largest, sum_error(shape)) << "the products are those of whole floats";
    }
  }
}

TEST_F(GemmLibraryTest, BatchedCublasMatchesReference) {
  CublasGemm cublas;
  constexpr std::size_t batch = 3;
  for (const GemmShape shape : shapes) {
    expect_matches_reference<__nv_bfloat16, __nv_bfloat16>(
        shape, batch, {sum_error(shape), 0x1p-8}, GemmB::row_major,
        [&](const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
          cublas.batched(a, b, c, shape, batch, stream());
        });
  }
}

// Products of two e4m3 between 0.5 and 1 are multiples of 2^-8. A tensor core that adds 32 of them
// to a sum keeps at least 13 bits below the leading bit of the largest. Below 128 that is an error
// of 2^-7 per 32 terms, even if the tensor cores keep the whole sum. A lost term is off by 0.25 or
// more.
TEST_F(GemmLibraryTest, CublasLtOfFp8MatchesReference) {
  if (!multiplies_fp8()) {
    GTEST_SKIP() << "needs compute capability 8.9";
  }
  for (const GemmShape shape : {GemmShape{1, 16, 16}, GemmShape{31, 48, 32}, GemmShape{16, 256, 64},
                                GemmShape{129, 272, 528}}) {
    for (const Fp8Sums sums : {Fp8Sums::fp32, Fp8Sums::tensor_cores}) {
      CublasLtGemm<__nv_fp8_e4m3, __nv_bfloat16> gemm(shape, GemmB::transposed, LtChoice::first,
                                                      sums);
      const double sum = static_cast<double>(shape.k) * 0x1p-12;
      expect_matches_reference<__nv_fp8_e4m3, __nv_bfloat16>(
          shape, 1, {sum, 0x1p-8}, GemmB::transposed,
          [&](const __nv_fp8_e4m3* a, const __nv_fp8_e4m3* b, __nv_bfloat16* c) {
            gemm(a, b, c, stream());
          });
    }
  }
}

TEST_F(GemmLibraryTest, FastestOfCublasLtMatchesReferenceInBothLayoutsOfB) {
  if (!has_tf32()) {
    GTEST_SKIP() << "needs compute capability 8.0";
  }
  constexpr GemmShape shape{129, 264, 136};
  for (const GemmB layout : {GemmB::row_major, GemmB::transposed}) {
    CublasLtGemm<__nv_bfloat16, __nv_bfloat16> bf16(shape, layout, LtChoice::fastest);
    expect_matches_reference<__nv_bfloat16, __nv_bfloat16>(
        shape, 1, {sum_error(shape), 0x1p-8}, layout,
        [&](const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
          bf16(a, b, c, stream());
        });
    CublasLtGemm<float, float> tf32(shape, layout, LtChoice::fastest);
    const double walk = 5 * 0x1p-10 * std::sqrt(static_cast<double>(shape.k));
    expect_matches_reference<float, float>(
        shape, 1, {sum_error(shape) + walk, 0x1p-9}, layout,
        [&](const float* a, const float* b, float* c) { tf32(a, b, c, stream()); });
  }
}

TEST_F(GemmLibraryTest, CublasLtWorksAfterAMoveAndRefusesBadPointers) {
  if (!multiplies_fp8()) {
    GTEST_SKIP() << "needs compute capability 8.9";
  }
  constexpr GemmShape shape{16, 16, 16};
  CublasLtGemm<__nv_fp8_e4m3, __nv_bfloat16> first(shape, GemmB::transposed);
  CublasLtGemm<__nv_fp8_e4m3, __nv_bfloat16> gemm = std::move(first);
  const DeviceArray<__nv_fp8_e4m3> in(random_values_as<__nv_fp8_e4m3>(257, 1));
  GuardedOutput<__nv_bfloat16> out(256);
  EXPECT_THROW(gemm(nullptr, in.data(), out.data(), stream()), std::invalid_argument);
  EXPECT_THROW(gemm(in.data(), nullptr, out.data(), stream()), std::invalid_argument);
  EXPECT_THROW(gemm(in.data(), in.data(), nullptr, stream()), std::invalid_argument);
  EXPECT_THROW(gemm(in.data() + 1, in.data(), out.data(), stream()), std::invalid_argument);
  EXPECT_NO_THROW(gemm(in.data(), in.data(), out.data(), stream()));
  synchronize();
}

}  // namespace
}  // namespace warpgauge::kernels
