// SPDX-License-Identifier: Apache-2.0
#include "kernels/launch/lcg.hpp"

#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

class LcgTest : public DeviceTest {
 protected:
  static std::vector<double> rounds_on_host(const std::vector<std::int32_t>& in, unsigned rounds) {
    std::vector<double> values;
    for (const std::int32_t start : in) {
      auto x = static_cast<std::uint32_t>(start);
      for (unsigned round = 0; round < rounds; ++round) {
        x = 1664525U * x + 1013904223U;
      }
      values.push_back(static_cast<double>(static_cast<std::int32_t>(x)));
    }
    return values;
  }
};

TEST_F(LcgTest, RoundsAndReferenceAreThoseOfTheHost) {
  for (const std::size_t n : {0, 1, 31, 33, 255, 256, 257, 100003}) {
    for (const unsigned rounds : {0U, 1U, 15U, 16U, 17U, 100U}) {
      SCOPED_TRACE(::testing::Message() << n << " elements, " << rounds << " rounds");
      const std::vector<std::int32_t> host = random_integers(n, 5);
      const DeviceArray<std::int32_t> in(host);
      const std::int32_t* const first = in.data();
      GuardedOutput<std::int32_t> direct(n);
      GuardedOutput<double> reference(n);
      lcg_rounds(first, direct.data(), n, rounds, stream());
      lcg_reference(first, reference.data(), n, rounds, stream());
      synchronize();
      const std::vector<double> expected = rounds_on_host(host, rounds);
      expect_same(direct.values(), expected);
      expect_same(reference.values(), expected);
    }
  }
}

TEST_F(LcgTest, CanBeCaptured) {
  constexpr std::size_t n = 1003;
  const std::vector<std::int32_t> host = random_integers(n, 5);
  const DeviceArray<std::int32_t> in(host);
  const std::int32_t* const first = in.data();
  GuardedOutput<std::int32_t> out(n);
  GuardedOutput<double> reference(n);
  capture_and_replay(stream(), [&] {
    lcg_rounds(first, out.data(), n, 33, stream());
    lcg_reference(first, reference.data(), n, 33, stream());
  });
  const std::vector<double> expected = rounds_on_host(host, 33);
  expect_same(out.values(), expected);
  expect_same(reference.values(), expected);
}

}  // namespace
}  // namespace warpgauge::kernels
