// SPDX-License-Identifier: Apache-2.0
#include "kernels/sort/top_k.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

using Values = std::vector<float>;

class TopKTest : public DeviceTest {
 protected:
  struct Selected {
    std::vector<double> values, columns;
  };

  /// The largest first; of equal ones the first.
  static Selected on_host(const Values& in, RowsShape shape, unsigned k) {
    Selected selected;
    std::vector<std::size_t> order(shape.columns);
    for (std::size_t row = 0; row < shape.rows; ++row) {
      const float* const x = in.data() + row * shape.columns;
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::partial_sort(
          order.begin(), order.begin() + k, order.end(),
          [&](std::size_t a, std::size_t b) { return x[a] != x[b] ? x[a] > x[b] : a < b; });
      for (unsigned i = 0; i < k; ++i) {
        selected.values.push_back(static_cast<double>(x[order[i]]));
        selected.columns.push_back(static_cast<double>(order[i]));
      }
    }
    return selected;
  }

  void expect_selects(const Values& in, RowsShape shape, unsigned k) const {
    SCOPED_TRACE(::testing::Message()
                 << shape.rows << " x " << shape.columns << ", k " << k << ", the first " << in[0]);
    const Selected expected = on_host(in, shape, k);
    const DeviceArray<float> there(in);
    GuardedOutput<float> values(shape.rows * k);
    GuardedOutput<std::int32_t> columns(shape.rows * k);
    capture_and_replay(stream(), [&] {
      top_k_rows(there.data(), values.data(), columns.data(), shape, k, stream());
    });
    expect_same(values.values(), expected.values);
    expect_same(columns.values(), expected.columns);
    if (shape.rows != 1) {
      return;
    }
    GuardedOutput<float> again(k);
    GuardedOutput<std::int32_t> columns_again(k);
    GuardedOutput<std::uint64_t> scratch(top_k_scratch_bytes() / 8);
    capture_and_replay(stream(), [&] {
      top_k(there.data(), again.data(), columns_again.data(), scratch.data(), shape.columns, k,
            stream());
    });
    static_cast<void>(scratch.values());  // checks the guard
    expect_same(again.values(), expected.values);
    expect_same(columns_again.values(), expected.columns);
  }
};

constexpr unsigned ks[] = {1, 2, 31, 100, 1024, 2047, 2048};

// From one column over what fits in shared memory, 8192, to several readings; rows that begin
// between vectors.
constexpr RowsShape shapes[] = {{1, 1},    {1, 31},   {3, 100},    {1, 2048},  {3, 5003},
                                {1, 8192}, {5, 8193}, {1, 100003}, {7, 131072}};

TEST_F(TopKTest, SelectsOfRandomElements) {
  for (const RowsShape shape : shapes) {
    for (const unsigned k : ks) {
      if (k <= shape.columns) {
        expect_selects(random_values(shape.rows * shape.columns, k), shape, k);
      }
    }
  }
}

// Beyond 2^20 elements a sample is tried first. Where many are equal, it says too little; where the
// largest are few, the k-th largest may be below its threshold.
TEST_F(TopKTest, SelectsOfALongRow) {
  constexpr std::size_t n = 1200007;
  Values in = random_values(n, 1);
  expect_selects(in, {1, n}, 2048);
  for (std::size_t i = 0; i < n; i += 4 * 64) {  // what a sample may read
    std::fill(in.begin() + static_cast<std::ptrdiff_t>(i),
              in.begin() + static_cast<std::ptrdiff_t>(std::min(i + 4, n)), 2.0F + in[i] / 4);
  }
  expect_selects(in, {1, n}, 2048);
  expect_selects(Values(n, 1.0F), {1, n}, 2048);
}

// Few different elements: their columns decide which are selected.
TEST_F(TopKTest, SelectsTheFirstOfEqualElements) {
  for (const RowsShape shape : shapes) {
    const std::size_t n = shape.rows * shape.columns;
    const unsigned k = static_cast<unsigned>(std::min<std::size_t>(shape.columns, 1000));
    expect_selects(Values(n, -2.5F), shape, k);
    expect_selects(small_integers<float>(n, 1), shape, k);
    Values ascending(n);
    for (std::size_t i = 0; i < n; ++i) {
      ascending[i] = static_cast<float>(i) - static_cast<float>(n / 2);
    }
    expect_selects(ascending, shape, k);
    expect_selects({ascending.rbegin(), ascending.rend()}, shape, k);
  }
}

TEST_F(TopKTest, ProofFailsForAnyOtherResult) {
  const DeviceArray<float> in(Values{1, 3, 2, 3, 9, 8, 7, 6});
  constexpr RowsShape shape{2, 4};
  const auto holds = [&](const Values& values, const std::vector<std::int32_t>& columns) {
    const DeviceArray<float> values_there(values);
    const DeviceArray<std::int32_t> columns_there(columns);
    auto proof = zeroed<TopKProof>(1);
    prove_top_k(in.data(), values_there.data(), columns_there.data(), proof.data(), shape, 2,
                stream());
    const TopKProof result = proof.download(stream())[0];
    return result.wrong == 0 && result.reaching == 4;
  };
  EXPECT_TRUE(holds({3, 3, 9, 8}, {1, 3, 0, 1}));
  EXPECT_FALSE(holds({3, 3, 9, 8}, {3, 1, 0, 1}));
  EXPECT_FALSE(holds({3, 3, 9, 8}, {1, 1, 0, 1}));
  EXPECT_FALSE(holds({3, 2, 9, 8}, {1, 2, 0, 1}));
  EXPECT_FALSE(holds({3, 3, 9, 8}, {1, 3, 0, -1}));
}

TEST_F(TopKTest, SelectsInfinities) {
  Values in = random_values(20000, 1);
  in[19999] = std::numeric_limits<float>::infinity();
  std::fill(in.begin(), in.begin() + 19000, -std::numeric_limits<float>::infinity());
  expect_selects(in, {1, in.size()}, 1024);
}

}  // namespace
}  // namespace warpgauge::kernels
