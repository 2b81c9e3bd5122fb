// SPDX-License-Identifier: Apache-2.0
// Every Hopper rung matches the reference, launched and captured.
#include "kernels/gemm/hopper/hopper.hpp"

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include <warpgauge/cuda/elements.hpp>
#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

// The smallest shape; one tile of the first rung; edges inside an instruction, a box, a tile and a
// stage; terms that wrap around the ring several times and end in its middle; clusters in which one
// block has no outputs.
constexpr GemmShape shapes[] = {{1, 8, 8},       {64, 128, 64},   {63, 120, 56},
                                {65, 136, 72},   {128, 256, 256}, {129, 264, 200},
                                {257, 520, 648}, {300, 72, 1032}, {17, 264, 4104}};

/// A rung of the ladder, or stream-K's for one shape.
template <class T>
struct Rung {
  const char* name;
  std::function<void(const T* a, const T* b, T* c, cudaStream_t stream)> launch;
};

template <class T>
std::vector<Rung<T>> rungs_for(GemmShape shape) {
  std::vector<Rung<T>> rungs;
  for (const WgmmaRung<T>& rung : wgmma_ladder<T>) {
    rungs.push_back({rung.name, [=](const T* a, const T* b, T* c, cudaStream_t stream) {
                       rung.launch(a, b, c, shape, stream);
                     }});
  }
  const auto stream_k = std::make_shared<GemmWgmmaStreamK<T>>(shape);
  rungs.push_back({"gemm_wgmma_stream_k", [=](const T* a, const T* b, T* c, cudaStream_t stream) {
                     (*stream_k)(a, b, c, stream);
                   }});
  return rungs;
}

class GemmWgmmaTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped() && !has_wgmma()) {
      GTEST_SKIP() << "wgmma needs compute capability 9.0";
    }
  }

  /// Runs every rung of T on inputs(n, seed), launched and captured, and calls
  /// expect(results, reference results, shape) for each.
  template <class T, class Expect>
  void expect_of_all_rungs(std::vector<T> (*inputs)(std::size_t, unsigned), GemmShape shape,
                           const Expect& expect) {
    const std::size_t outputs = shape.m * shape.n;
    const DeviceArray<T> a(inputs(shape.m * shape.k, 1));
    const DeviceArray<T> b(inputs(shape.k * shape.n, 2));
    GuardedOutput<double> reference(outputs);
    gemm_reference(a.data(), b.data(), reference.data(), shape, 0, outputs, stream());
    synchronize();
    const std::vector<double> expected = reference.values();
    for (const Rung<T>& rung : rungs_for<T>(shape)) {
      SCOPED_TRACE(::testing::Message()
                   << rung.name << ' ' << shape.m << " x " << shape.n << " x " << shape.k);
      GuardedOutput<T> direct(outputs);
      GuardedOutput<T> replayed(outputs);
      rung.launch(a.data(), b.data(), direct.data(), stream());
      synchronize();
      expect(direct.values(), expected, shape);
      capture_and_replay(stream(),
                         [&] { rung.launch(a.data(), b.data(), replayed.data(), stream()); });
      expect(replayed.values(), expected, shape);
    }
  }

  /// The tolerance is that of tensor_test.cpp.
  template <class T>
  void expect_all_rungs_match_the_reference() {
    for (const GemmShape shape : shapes) {
      expect_of_all_rungs<T>(
          random_values_as<T>, shape,
          [](const std::vector<T>& got, const std::vector<double>& expected, GemmShape of) {
            const double sum =
                2 * static_cast<double>(of.k) * std::numeric_limits<float>::epsilon();
            expect_within(got, expected,
                          [=](double value) { return sum + unit_roundoff<T> * std::abs(value); });
          });
    }
  }

  /// Inputs are integers up to 8. Products and sums up to 2^18 are exact in fp32 in any order, so
  /// each result is the exact one rounded to T.
  template <class T>
  static void expect_exact(const std::vector<T>& got, std::vector<double> expected, GemmShape) {
    for (double& value : expected) {
      value = static_cast<double>(static_cast<T>(value));
    }
    expect_same(got, expected);
  }
};

TEST_F(GemmWgmmaTest, RungsOfBf16MatchTheReference) {
  expect_all_rungs_match_the_reference<__nv_bfloat16>();
}

TEST_F(GemmWgmmaTest, RungsOfF16MatchTheReference) {
  expect_all_rungs_match_the_reference<__half>();
}

TEST_F(GemmWgmmaTest, RungsAreExactForSmallIntegers) {
  for (const GemmShape shape : shapes) {
    expect_of_all_rungs<__nv_bfloat16>(small_integers<__nv_bfloat16>, shape,
                                       expect_exact<__nv_bfloat16>);
    expect_of_all_rungs<__half>(small_integers<__half>, shape, expect_exact<__half>);
  }
}

// More than two tiles per multiprocessor and an odd number of tile rows: persistent blocks make
// several tiles, the ring continues from tile to tile, and the last group of tile rows is short.
TEST_F(GemmWgmmaTest, RungsAreExactForManyTiles) {
  expect_of_all_rungs<__nv_bfloat16>(small_integers<__nv_bfloat16>, {4104, 2568, 136},
                                     expect_exact<__nv_bfloat16>);
}

// Few tiles and many terms, for each of stream-K's tiles: several clusters share a tile, a cluster
// has parts of two tiles, and the last part is short. Then tiles that are shared and, after them,
// whole ones. The results of repeated launches are the same bits, whatever the timing.
TEST_F(GemmWgmmaTest, StreamKIsExactAndRepeatable) {
  using T = __nv_bfloat16;
  for (const GemmShape shape : {GemmShape{1, 1032, 16'392},
                                {50, 648, 4104},
                                {100, 648, 4104},
                                {264, 1544, 3080},
                                {4104, 2568, 1160}}) {
    SCOPED_TRACE(::testing::Message() << shape.m << " x " << shape.n << " x " << shape.k);
    const std::size_t outputs = shape.m * shape.n;
    GemmWgmmaStreamK<T> gemm(shape);
    const auto product = [&](std::vector<T> (*inputs)(std::size_t, unsigned), double* expected) {
      const DeviceArray<T> a(inputs(shape.m * shape.k, 1));
      const DeviceArray<T> b(inputs(shape.k * shape.n, 2));
      if (expected != nullptr) {
        gemm_reference(a.data(), b.data(), expected, shape, 0, outputs, stream());
      }
      GuardedOutput<T> c(outputs);
      gemm(a.data(), b.data(), c.data(), stream());
      synchronize();
      return c.values();
    };
    GuardedOutput<double> expected(outputs);
    const std::vector<T> integers = product(small_integers<T>, expected.data());
    expect_exact<T>(integers, expected.values(), shape);
    const std::vector<T> first = product(random_values_as<T>, nullptr);
    for (int repetition = 0; repetition < 5; ++repetition) {
      const std::vector<T> again = product(random_values_as<T>, nullptr);
      expect_same(again, std::vector<double>(first.begin(), first.end()));
    }
  }
}

// Elements outside the matrices count as 0, whatever lies there in memory: a NaN or an infinity in
// one row of A appears in all of that row of C and in no other row.
TEST_F(GemmWgmmaTest, WhatIsNotFiniteShowsInItsRow) {
  using T = __nv_bfloat16;
  constexpr GemmShape shape{33, 40, 24};
  constexpr std::size_t nan_row = 3;
  constexpr std::size_t infinite_row = 32;
  std::vector<T> host_a = random_values_as<T>(shape.m * shape.k, 1);
  host_a[nan_row * shape.k] = T(std::bit_cast<float>(0x7FFFFFFFU));
  host_a[infinite_row * shape.k + shape.k - 1] = T(-std::numeric_limits<float>::infinity());
  const DeviceArray<T> a(host_a);
  const DeviceArray<T> b(random_values_as<T>(shape.k * shape.n, 2));
  for (const Rung<T>& rung : rungs_for<T>(shape)) {
    SCOPED_TRACE(rung.name);
    GuardedOutput<T> c(shape.m * shape.n);
    rung.launch(a.data(), b.data(), c.data(), stream());
    synchronize();
    const std::vector<T> values = c.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_FALSE(GuardedOutput<T>::is_poison(values[i])) << i << " is not written";
      const auto value = static_cast<float>(values[i]);
      EXPECT_EQ(std::isnan(value), i / shape.n == nan_row) << i;
      EXPECT_EQ(std::isinf(value), i / shape.n == infinite_row) << i;
    }
  }
}

}  // namespace
}  // namespace warpgauge::kernels
