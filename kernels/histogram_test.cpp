// SPDX-License-Identifier: Apache-2.0
#include "kernels/histogram.hpp"

#include <stdexcept>

#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

// Nothing, less than a vector, around a warp, many blocks with a tail.
constexpr std::size_t sizes[] = {0, 1, 3, 31, 33, 4096, 1000003};
// All bins, eight of them far apart, one.
constexpr BinOf all_bins{255};
constexpr BinOf few_bins{0b0010'0101};
constexpr BinOf one_bin{0};

class HistogramTest : public DeviceTest {
 protected:
  static std::vector<std::int32_t> random_keys(std::size_t n) {
    std::mt19937 generator(9);
    std::vector<std::int32_t> keys(n);
    for (std::int32_t& key : keys) {
      key = static_cast<std::int32_t>(generator());
    }
    return keys;
  }

  /// The formula of the header written out again: bits 31 to 24, masked.
  static std::vector<double> counted_on_host(const std::vector<std::int32_t>& keys, BinOf bin_of) {
    std::vector<double> bins(histogram_bins);
    for (const std::int32_t key : keys) {
      const std::uint64_t byte = (static_cast<std::uint64_t>(key) & 0xff00'0000U) >> 24U;
      bins[byte & bin_of.mask] += 1;
    }
    return bins;
  }

  /// launch, on its own and twice in one graph, for all sizes and masks. The second of two would
  /// count on where the first left its bins.
  template <class T, class Launch>
  void expect_counts(Launch& launch) const {
    for (const std::size_t n : sizes) {
      const std::vector<std::int32_t> host_keys = random_keys(n);
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
        expect_bins(direct.values(), expected);
        expect_bins(replayed.values(), expected);
      }
    }
  }

  template <class T>
  static void expect_bins(const std::vector<T>& actual, const std::vector<double>& expected) {
    for (std::size_t bin = 0; bin < histogram_bins; ++bin) {
      EXPECT_EQ(static_cast<double>(actual[bin]), expected[bin]) << "bin " << bin;
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
}

TEST_F(HistogramTest, CubCounts) {
  CubHistogram made(1000003);
  CubHistogram moved = std::move(made);
  expect_counts<std::int32_t>(moved);
}

TEST_F(HistogramTest, CubRefusesBadPointersAndMoreThanItWasMadeFor) {
  const DeviceArray<std::int32_t> keys(8);
  GuardedOutput<std::int32_t> bins(histogram_bins);
  const std::int32_t* const input = keys.data();
  CubHistogram histogram(4);
  EXPECT_THROW(histogram(nullptr, bins.data(), 4, all_bins, stream()), std::invalid_argument);
  EXPECT_THROW(histogram(input, nullptr, 4, all_bins, stream()), std::invalid_argument);
  EXPECT_THROW(histogram(input, bins.data(), 5, all_bins, stream()), std::invalid_argument);
}

}  // namespace
}  // namespace warpgauge::kernels
