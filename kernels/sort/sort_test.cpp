// SPDX-License-Identifier: Apache-2.0
#include "kernels/sort/sort.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

using Keys = std::vector<std::uint32_t>;
using Sort = void (*)(SortedKeys, void*, std::size_t, cudaStream_t);
using SortPairs = void (*)(SortedKeys, SortedKeys, void*, std::size_t, cudaStream_t);

Keys random_keys(std::size_t n) {
  const auto integers = random_integers(n, 1);
  return {integers.begin(), integers.end()};
}

/// Random, few different ones, mixed or in runs of more than a tile, one only, ascending,
/// descending, and those that stand for nothing in an incomplete tile.
std::vector<Keys> kinds_of_keys(std::size_t n) {
  std::vector<Keys> kinds = {random_keys(n)};
  Keys few = kinds[0];
  for (std::uint32_t& key : few) {
    key %= 3;
  }
  kinds.push_back(few);
  for (std::size_t i = 0; i < n; ++i) {
    few[i] = static_cast<std::uint32_t>(~(i / 20000)) * 0x01010101U;
  }
  kinds.push_back(few);
  kinds.push_back(Keys(n, 0x01020304U));
  kinds.push_back(Keys(n, ~0U));
  Keys ascending(n);
  std::iota(ascending.begin(), ascending.end(), 0x7fffff00U);
  kinds.push_back(ascending);
  kinds.push_back({ascending.rbegin(), ascending.rend()});
  return kinds;
}

// A key, less and more than a warp; around a tile, of 8192 pairs or 9216 keys; and many tiles.
constexpr std::size_t sizes[] = {1, 31, 33, 1000, 8191, 8192, 9216, 9217, 100003};

std::vector<double> as_doubles(const Keys& keys) {
  return {keys.begin(), keys.end()};
}

class SortTest : public DeviceTest {
 protected:
  /// Into another array, with scratch memory that holds whatever it held, and then in place.
  void expect_sorts(const Keys& keys, Sort sort, std::size_t scratch_bytes) const {
    SCOPED_TRACE(::testing::Message() << keys.size() << " keys, the first " << keys[0]);
    Keys expected = keys;
    std::sort(expected.begin(), expected.end());
    const DeviceArray<std::uint32_t> in(keys);
    DeviceArray<std::uint32_t> in_place(keys);
    GuardedOutput<std::uint32_t> out(keys.size());
    GuardedOutput<std::uint32_t> scratch(scratch_bytes / 4 + 1);
    capture_and_replay(stream(), [&] {
      sort({in.data(), out.data()}, scratch.data(), keys.size(), stream());
      if (sort != cub_sort) {
        sort({in_place.data(), in_place.data()}, scratch.data(), keys.size(), stream());
      }
    });
    static_cast<void>(scratch.values());  // checks the guard
    EXPECT_EQ(in.download(stream()), keys);
    expect_same(out.values(), as_doubles(expected));
    if (sort != cub_sort) {
      expect_same(in_place.download(stream()), as_doubles(expected));
    }
  }

  /// Values are the keys' places, so that their order shows which of equal keys came first.
  void expect_sorts_pairs(const Keys& keys, SortPairs sort, std::size_t scratch_bytes) const {
    SCOPED_TRACE(::testing::Message() << keys.size() << " pairs, the first key " << keys[0]);
    Keys places(keys.size());
    std::iota(places.begin(), places.end(), 0U);
    Keys expected_values = places;
    std::stable_sort(expected_values.begin(), expected_values.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
    Keys expected = keys;
    std::sort(expected.begin(), expected.end());
    const DeviceArray<std::uint32_t> in(keys);
    const DeviceArray<std::uint32_t> values(places);
    GuardedOutput<std::uint32_t> out(keys.size());
    GuardedOutput<std::uint32_t> values_out(keys.size());
    GuardedOutput<std::uint32_t> scratch(scratch_bytes / 4 + 1);
    capture_and_replay(stream(), [&] {
      sort({in.data(), out.data()}, {values.data(), values_out.data()}, scratch.data(), keys.size(),
           stream());
    });
    static_cast<void>(scratch.values());  // checks the guard
    expect_same(out.values(), as_doubles(expected));
    expect_same(values_out.values(), as_doubles(expected_values));
  }
};

TEST_F(SortTest, SortsKeys) {
  for (const std::size_t n : sizes) {
    for (const Keys& keys : kinds_of_keys(n)) {
      expect_sorts(keys, radix_sort, radix_sort_scratch_bytes(n));
    }
  }
}

TEST_F(SortTest, SortsPairsAndKeepsTheOrderOfEqualKeys) {
  for (const std::size_t n : sizes) {
    for (const Keys& keys : kinds_of_keys(n)) {
      expect_sorts_pairs(keys, radix_sort_pairs, radix_sort_pairs_scratch_bytes(n));
    }
  }
}

// Far more tiles than a GPU holds at once. How far a tile looks back depends on timing.
TEST_F(SortTest, SortsManyTiles) {
  constexpr std::size_t n = (std::size_t{4} << 20) + 3;
  const DeviceArray<std::uint32_t> keys(random_keys(n));
  auto keys_out = zeroed<std::uint32_t>(n);
  auto values_out = zeroed<std::uint32_t>(n);
  auto scratch = zeroed<std::uint8_t>(radix_sort_pairs_scratch_bytes(n));
  auto proof = zeroed<SortProof>(1);
  radix_sort({keys.data(), keys_out.data()}, scratch.data(), n, stream());
  prove_sorted({keys.data(), keys_out.data()}, {}, proof.data(), n, stream());
  EXPECT_TRUE(proof.download(stream())[0].holds());
  radix_sort_pairs({keys.data(), keys_out.data()}, {keys.data(), values_out.data()}, scratch.data(),
                   n, stream());
  prove_sorted({keys.data(), keys_out.data()}, {keys.data(), values_out.data()}, proof.data(), n,
               stream());
  EXPECT_TRUE(proof.download(stream())[0].holds());
}

TEST_F(SortTest, ProofFailsForAnyChange) {
  const auto holds = [&](const Keys& in, const Keys& out, const Keys& values, const Keys& moved) {
    const DeviceArray<std::uint32_t> arrays[] = {DeviceArray(in), DeviceArray(out),
                                                 DeviceArray(values), DeviceArray(moved)};
    auto proof = zeroed<SortProof>(1);
    prove_sorted({arrays[0].data(), const_cast<std::uint32_t*>(arrays[1].data())},
                 {arrays[2].data(), const_cast<std::uint32_t*>(arrays[3].data())}, proof.data(),
                 in.size(), stream());
    return proof.download(stream())[0].holds();
  };
  EXPECT_TRUE(holds({3, 1, 2}, {1, 2, 3}, {7, 8, 9}, {8, 9, 7}));
  EXPECT_FALSE(holds({3, 1, 2}, {1, 3, 2}, {7, 8, 9}, {8, 7, 9}));
  EXPECT_FALSE(holds({3, 1, 2}, {1, 2, 2}, {7, 8, 9}, {8, 9, 7}));
  EXPECT_FALSE(holds({3, 1, 2}, {1, 2, 3}, {7, 8, 9}, {9, 8, 7}));
}

TEST_F(SortTest, CubSorts) {
  const Keys keys = random_keys(100003);
  expect_sorts(keys, cub_sort, cub_sort_scratch_bytes(keys.size()));
  expect_sorts_pairs(keys, cub_sort_pairs, cub_sort_pairs_scratch_bytes(keys.size()));
}

}  // namespace
}  // namespace warpgauge::kernels
