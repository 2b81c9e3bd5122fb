// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce/scan.hpp"

#include <stdexcept>

#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

// No elements; one; around a warp; around a run of the reference; many tiles with a tail.
constexpr std::size_t sizes[] = {0, 1, 31, 33, 8191, 8193, 1000003};

class ScanTest : public DeviceTest {
 protected:
  static std::vector<double> scanned_on_host(const std::vector<std::int32_t>& in) {
    std::vector<double> out;
    out.reserve(in.size());
    std::uint32_t sum = 0;
    for (const std::int32_t value : in) {
      sum += static_cast<std::uint32_t>(value);
      out.push_back(static_cast<std::int32_t>(sum));
    }
    return out;
  }

  /// Checks launch, called directly and captured, for all sizes.
  template <class T, class Launch>
  void expect_scans(Launch& launch) const {
    for (const std::size_t n : sizes) {
      SCOPED_TRACE(n);
      const std::vector<std::int32_t> host_in = random_integers(n, 11);
      const DeviceArray<std::int32_t> in(host_in);
      const std::int32_t* const input = in.data();
      GuardedOutput<T> direct(n);
      launch(input, direct.data(), n, stream());
      synchronize();
      expect_same(direct.values(), scanned_on_host(host_in));
      if (n == 0) {
        continue;  // nothing is launched, so nothing is captured
      }
      GuardedOutput<T> replayed(n);
      capture_and_replay(stream(), [&] { launch(input, replayed.data(), n, stream()); });
      expect_same(replayed.values(), scanned_on_host(host_in));
    }
  }

  template <class Scan>
  void expect_refuses_bad_arguments() const {
    const auto in = zeroed<std::int32_t>(8);
    GuardedOutput<std::int32_t> out(8);
    const std::int32_t* const input = in.data();
    Scan scan(4);
    EXPECT_THROW(scan(nullptr, out.data(), 4, stream()), std::invalid_argument);
    EXPECT_THROW(scan(input, nullptr, 4, stream()), std::invalid_argument);
    EXPECT_THROW(scan(input, out.data(), 5, stream()), std::invalid_argument);
    EXPECT_NO_THROW(scan(nullptr, nullptr, 0, stream()));
  }
};

TEST_F(ScanTest, ReferenceMatchesTheHost) {
  const auto whole = [](const std::int32_t* in, double* out, std::size_t n, cudaStream_t stream) {
    scan_reference(in, out, 0, n, stream);
  };
  expect_scans<double>(whole);
}

TEST_F(ScanTest, ReferenceOfAWindowIsThatWindowOfTheWhole) {
  constexpr std::size_t first = 8190;  // so that the window begins at the end of a run
  constexpr std::size_t count = 10000;
  const std::vector<std::int32_t> host_in = random_integers(first + count, 11);
  const DeviceArray<std::int32_t> in(host_in);
  GuardedOutput<double> window(count);
  scan_reference(in.data(), window.data(), first, count, stream());
  synchronize();
  const std::vector<double> whole = scanned_on_host(host_in);
  expect_same(window.values(), {whole.begin() + first, whole.end()});
}

TEST_F(ScanTest, LookbackScans) {
  LookbackScan made(1000003);
  LookbackScan moved = std::move(made);
  expect_scans<std::int32_t>(moved);
}

// Each scan leaves the storage ready for the next, whatever its size.
TEST_F(ScanTest, LookbackScansAgainAndAgain) {
  constexpr std::size_t n = 100003;
  const std::vector<std::int32_t> host_in = random_integers(n, 11);
  const DeviceArray<std::int32_t> in(host_in);
  GuardedOutput<std::int32_t> out(n);
  GuardedOutput<std::int32_t> shorter(n / 3);
  LookbackScan scan(n);
  capture_and_replay(stream(), [&] {
    for (int i = 0; i < 20; ++i) {
      scan(in.data(), shorter.data(), n / 3, stream());
      scan(in.data(), out.data(), n, stream());
    }
  });
  const std::vector<double> whole = scanned_on_host(host_in);
  expect_same(out.values(), whole);
  expect_same(shorter.values(), {whole.begin(), whole.begin() + n / 3});
}

// 512 small tiles, the last incomplete, and 513 large ones: four times as many as a tile looks back
// over in one step. How far it looks depends on timing, so this is done twice.
TEST_F(ScanTest, LookbackScansByManyTiles) {
  for (const std::size_t n : {(std::size_t{4} << 20) - 5, (std::size_t{16} << 20) + 3}) {
    SCOPED_TRACE(n);
    const std::vector<std::int32_t> host_in = random_integers(n, 11);
    const DeviceArray<std::int32_t> in(host_in);
    const std::vector<double> expected = scanned_on_host(host_in);
    GuardedOutput<std::int32_t> first(n);
    GuardedOutput<std::int32_t> second(n);
    LookbackScan scan(n);
    capture_and_replay(stream(), [&] {
      scan(in.data(), first.data(), n, stream());
      scan(in.data(), second.data(), n, stream());
    });
    expect_same(first.values(), expected);
    expect_same(second.values(), expected);
  }
}

TEST_F(ScanTest, CubScans) {
  CubScan made(1000003);
  CubScan moved = std::move(made);
  expect_scans<std::int32_t>(moved);
}

TEST_F(ScanTest, ThrustScansWithoutAllocating) {
  ThrustScan scan(1000003);
  expect_scans<std::int32_t>(scan);
}

TEST_F(ScanTest, LookbackRefusesBadArguments) {
  expect_refuses_bad_arguments<LookbackScan>();
}

TEST_F(ScanTest, CubRefusesBadArguments) {
  expect_refuses_bad_arguments<CubScan>();
}

TEST_F(ScanTest, ThrustRefusesBadArguments) {
  expect_refuses_bad_arguments<ThrustScan>();
}

}  // namespace
}  // namespace warpgauge::kernels
