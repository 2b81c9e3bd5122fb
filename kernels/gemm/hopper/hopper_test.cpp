// SPDX-License-Identifier: Apache-2.0
// Every Hopper rung matches the reference, launched and captured.
#include "kernels/gemm/hopper/hopper.hpp"

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include <warpgauge/cuda/elements.hpp>
#include <warpgauge/cuda/seeded_data.hpp>
#include "kernels/hopper/wgmma_test.hpp"

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

/// The object must outlive the result.
template <class T>
auto launch_of(GemmWgmmaStreamK<T>& gemm) {
  return [&gemm](const T* a, const T* b, T* c, cudaStream_t stream) { gemm(a, b, c, stream); };
}

class GemmWgmmaTest : public WgmmaTest {
 protected:
  /// Runs each rung on inputs(n, seed), launched and captured, and calls
  /// expect(results, reference results, shape) for each.
  template <class T, class Expect>
  void expect_of(const std::vector<Rung<T>>& rungs, std::vector<T> (*inputs)(std::size_t, unsigned),
                 GemmShape shape, const Expect& expect) {
    const std::size_t outputs = shape.m * shape.n;
    const DeviceArray<T> a(inputs(shape.m * shape.k, 1));
    const DeviceArray<T> b(inputs(shape.k * shape.n, 2));
    GuardedOutput<double> reference(outputs);
    gemm_reference(a.data(), b.data(), reference.data(), shape, 0, outputs, stream());
    synchronize();
    const std::vector<double> expected = reference.values();
    for (const Rung<T>& rung : rungs) {
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

  template <class T, class Expect>
  void expect_of_all_rungs(std::vector<T> (*inputs)(std::size_t, unsigned), GemmShape shape,
                           const Expect& expect) {
    expect_of<T>(rungs_for<T>(shape), inputs, shape, expect);
  }

  /// Compares the launches of one object with the reference and with each other. The device fills
  /// the inputs, so that they may be large.
  template <class T>
  void expect_repeatable(GemmWgmmaStreamK<T>& gemm, GemmShape shape, int launches) {
    SCOPED_TRACE(::testing::Message() << shape.m << " x " << shape.n << " x " << shape.k);
    const std::size_t outputs = shape.m * shape.n;
    DeviceArray<T> a(shape.m * shape.k);
    DeviceArray<T> b(shape.k * shape.n);
    warpgauge::detail::fill_seeded(a.data(), a.size(), 1, 0, stream());
    warpgauge::detail::fill_seeded(b.data(), b.size(), 2, 0, stream());
    GuardedOutput<double> reference(outputs);
    gemm_reference(a.data(), b.data(), reference.data(), shape, 0, outputs, stream());
    std::vector<double> first;
    for (int launch = 0; launch < launches; ++launch) {
      GuardedOutput<T> c(outputs);
      gemm(a.data(), b.data(), c.data(), stream());
      synchronize();
      const std::vector<T> values = c.values();
      if (launch == 0) {
        expect_near(values, reference.values(), shape);
        first.assign(values.begin(), values.end());
      }
      expect_same(values, first);
    }
  }

  /// The tolerance is that of tensor_test.cpp, but for inputs up to 1.5 instead of 1.
  template <class T>
  static void expect_near(const std::vector<T>& got, const std::vector<double>& expected,
                          GemmShape of) {
    const double sum =
        2 * 1.5 * 1.5 * static_cast<double>(of.k) * std::numeric_limits<float>::epsilon();
    expect_within(got, expected,
                  [=](double value) { return sum + unit_roundoff<T> * std::abs(value); });
  }

  template <class T>
  void expect_all_rungs_match_the_reference() {
    for (const GemmShape shape : shapes) {
      expect_of_all_rungs<T>(random_values_as<T>, shape, expect_near<T>);
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

  template <class T>
  void expect_exact_of_best_and_stream_k(GemmShape shape) {
    const auto rungs = rungs_for<T>(shape);
    expect_of<T>({rungs.end() - 2, rungs.end()}, small_integers<T>, shape, expect_exact<T>);
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

// Three tiles of 256 x 128 per cluster: persistent blocks make several tiles, the ring continues
// from tile to tile, and the last group of tile rows is short. Then several columns of groups, and
// tiles with more stages than the ring. Few columns keep the test fast.
TEST_F(GemmWgmmaTest, RungsAreExactForManyTiles) {
  for (const GemmShape shape : {GemmShape{34'056, 16, 72}, {2056, 264, 72}, {17'160, 8, 328}}) {
    expect_of_all_rungs<__nv_bfloat16>(small_integers<__nv_bfloat16>, shape,
                                       expect_exact<__nv_bfloat16>);
  }
}

// Shapes for which these tiles are chosen on 132 multiprocessors: 64 x 64, where one block of a
// cluster has no rows; 64 x 128 alone; 64 x 256; 128 x 128; 128 x 192, where a box of columns has
// none; 128 x 256, one per block.
TEST_F(GemmWgmmaTest, BestAndStreamKAreExactWithEachTile) {
  for (const GemmShape shape : {GemmShape{136, 1080, 72},
                                {136, 5000, 520},
                                {72, 8584, 72},
                                {2824, 264, 72},
                                {136, 8552, 8},
                                {136, 12'680, 328}}) {
    expect_exact_of_best_and_stream_k<__nv_bfloat16>(shape);
    expect_exact_of_best_and_stream_k<__half>(shape);
  }
}

// Terms that wrap around the ring: with tiles of 64 x 64, whose last stage ends in the second
// block's half of the terms, and of 128 x 192. Then terms that are split because there are many.
TEST_F(GemmWgmmaTest, BestAndStreamKAreExactWithManyTerms) {
  for (const GemmShape shape : {GemmShape{72, 2184, 936}, {136, 8552, 264}, {72, 24, 8200}}) {
    expect_exact_of_best_and_stream_k<__nv_bfloat16>(shape);
  }
}

// Up to 16 rows, whose stages hold no others, and up to 64; wide tiles, because narrow ones would
// be more than run at once, and narrow ones; with an edge in the columns and in the last split's
// terms.
TEST_F(GemmWgmmaTest, FewRowsAreExactWithEachTile) {
  using T = __nv_bfloat16;
  for (const GemmShape shape :
       {GemmShape{2, 12'296, 520}, {40, 12'296, 520}, {16, 520, 2600}, {9, 24, 1000}}) {
    const auto launch = [=](const T* a, const T* b, T* c, cudaStream_t stream) {
      gemm_wgmma_split_k(a, b, c, shape, stream);
    };
    expect_of<T>({{"gemm_wgmma_split_k", launch}}, small_integers<T>, shape, expect_exact<T>);
  }
}

// Each product multiplies the one before by a matrix that moves every column one further. A kernel
// that starts early and does not wait for the one before reads something else.
TEST_F(GemmWgmmaTest, EachProductReadsTheOneBefore) {
  using T = __nv_bfloat16;
  constexpr GemmShape shape{600, 264, 264};
  constexpr int products = 7;
  std::vector<T> moves(shape.k * shape.n, T(0.0F));
  for (std::size_t k = 0; k < shape.k; ++k) {
    moves[k * shape.n + (k + 1) % shape.n] = T(1.0F);
  }
  const std::vector<T> start = small_integers<T>(shape.m * shape.k, 1);
  std::vector<double> expected(start.size());
  for (std::size_t i = 0; i < start.size(); ++i) {
    const std::size_t column = i % shape.n;
    const std::size_t from = (column + shape.n - products) % shape.n;
    expected[i] = static_cast<float>(start[i - column + from]);
  }
  const DeviceArray<T> a(start);
  const DeviceArray<T> b(moves);
  for (const Rung<T>& rung : rungs_for<T>(shape)) {
    SCOPED_TRACE(rung.name);
    const auto expect_chain = [&](const auto& run) {
      GuardedOutput<T> odd(start.size());
      GuardedOutput<T> even(start.size());
      run([&] {
        const T* from = a.data();
        for (int i = 0; i < products; ++i) {
          T* const to = i % 2 == 0 ? odd.data() : even.data();
          rung.launch(from, b.data(), to, stream());
          from = to;
        }
      });
      synchronize();
      expect_same(odd.values(), expected);
    };
    expect_chain([](const auto& chain) { chain(); });
    expect_chain([&](const auto& chain) { capture_and_replay(stream(), chain); });
  }
}

// Stream-K without and with shared tiles, one of them shared by many clusters; clusters with parts
// of two tiles; edges in rows, columns and terms. An object's later launches give the same bits,
// whatever the timing.
TEST_F(GemmWgmmaTest, StreamKIsExactAndRepeatable) {
  using T = __nv_bfloat16;
  for (const GemmShape shape : {GemmShape{65, 136, 200}, {1, 72, 2696}, {100, 264, 2696}}) {
    GemmWgmmaStreamK<T> gemm(shape);
    expect_of<T>({{"gemm_wgmma_stream_k", launch_of(gemm)}}, small_integers<T>, shape,
                 expect_exact<T>);
    expect_repeatable(gemm, shape, 4);
  }
}

// On 132 multiprocessors, 66 clusters of two blocks have 134 tiles: each makes a whole one, and
// they share the others.
TEST_F(GemmWgmmaTest, ClustersShareTheLastTurns) {
  constexpr GemmShape shape{34'056, 8, 2696};
  GemmWgmmaStreamK<__nv_bfloat16> gemm(shape);
  expect_repeatable(gemm, shape, 2);
}

// On 132 multiprocessors, 66 clusters of two blocks share all stages of 35 tiles of 64 x 64 per
// block.
TEST_F(GemmWgmmaTest, ClustersShareSmallTiles) {
  constexpr GemmShape shape{72, 2184, 5512};
  GemmWgmmaStreamK<__nv_bfloat16> gemm(shape);
  expect_repeatable(gemm, shape, 2);
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
