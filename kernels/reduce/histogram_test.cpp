// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce/histogram.hpp"

#include <stdexcept>

#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

// No keys; less than a vector; around a warp; many blocks with a tail.
constexpr std::size_t sizes[] = {0, 1, 3, 31, 33, 4096, 1000003};
// Blocks of 16384 keys loop if there are more than one per SM: more than twice on 264 SMs.
constexpr std::size_t more_than_a_grid_takes_at_once = 10'000'019;
// All bins, eight of them far apart, one.
constexpr BinOf all_bins{255};
constexpr BinOf few_bins{0b0010'0101};
constexpr BinOf one_bin{0};

class HistogramTest : public DeviceTest {
 protected:
  /// The header's formula, written out again: bits 31 to 24, masked.
  static std::vector<double> counted_on_host(const std::vector<std::int32_t>& keys, BinOf bin_of) {
    std::vector<double> bins(histogram_bins);
    for (const std::int32_t key : keys) {
      const std::uint64_t byte = (static_cast<std::uint64_t>(key) & 0xff00'0000U) >> 24U;
      bins[byte & bin_of.mask] += 1;
    }
    return bins;
  }

  /// Checks launch, called directly and twice in one graph, for all sizes and masks. The second
  /// call must not count on from the bins of the first.
  template <class T, class Launch>
  void expect_counts(Launch& launch, const std::vector<std::size_t>& of_sizes = {
                                         std::begin(sizes), std::end(sizes)}) const {
    for (const std::size_t n : of_sizes) {
      const std::vector<std::int32_t> host_keys = random_integers(n, 9);
      const DeviceArray<std::int32_t> keys(host_keys);
      const std::int32_t* const input = keys.data();
      for (const BinOf bin_of : {all_bins, few_bins, one_bin}) {
        SCOPED_TRACE(::testing::Message() << n << " keys, mask " << unsigned{bin_of.mask});
        const std::vector<double> expected = counted_on_host(host_keys, bin_of);
        GuardedOutput<T> direct(histogram_bins);
        GuardedOutput<T> replayed(histogram_bins);
        launch(input, direct.data(), n, bin_of, stream());
        synchronize();
        capture_and_replay(stream(), [&] {
          launch(input, replayed.data(), n, bin_of, stream());
          launch(input, replayed.data(), n, bin_of, stream());
        });
        expect_same(direct.values(), expected);
        expect_same(replayed.values(), expected);
      }
    }
  }
};

TEST_F(HistogramTest, ReferenceMatchesTheHost) {
  expect_counts<double>(histogram_reference);
}

TEST_F(HistogramTest, GlobalCounts) {
  expect_counts<std::int32_t>(histogram_global);
}

TEST_F(HistogramTest, SharedCounts) {
  expect_counts<std::int32_t>(histogram_shared);
  expect_counts<std::int32_t>(histogram_shared, {more_than_a_grid_takes_at_once});
}

TEST_F(HistogramTest, CubCounts) {
  CubHistogram made(1000003);
  CubHistogram moved = std::move(made);
  expect_counts<std::int32_t>(moved);
}

TEST_F(HistogramTest, CubRefusesBadPointersAndMoreThanItWasMadeFor) {
  const auto keys = zeroed<std::int32_t>(8);
  GuardedOutput<std::int32_t> bins(histogram_bins);
  const std::int32_t* const input = keys.data();
  CubHistogram histogram(4);
  EXPECT_THROW(histogram(nullptr, bins.data(), 4, all_bins, stream()), std::invalid_argument);
  EXPECT_THROW(histogram(input, nullptr, 4, all_bins, stream()), std::invalid_argument);
  EXPECT_THROW(histogram(input, bins.data(), 5, all_bins, stream()), std::invalid_argument);
}

}  // namespace
}  // namespace warpgauge::kernels
