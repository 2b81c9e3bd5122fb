// SPDX-License-Identifier: Apache-2.0
// Every rung of the fp32 ladder against the reference.
#include "kernels/gemm/ladder.hpp"

#include <limits>
#include <string>
#include <vector>

#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

/// first: the number of floats from a multiple of 16 bytes to the start of each matrix.
struct Case {
  GemmShape shape;
  std::size_t first = 0;
};

// Edges on every side of a tile and none; rows aligned and not aligned to 16 bytes; k from less
// than a tile to more tiles than a rung keeps at once, without and with every kind of remainder;
// more than the eight rows of tiles that blocks visit together. Small, since racecheck takes 50
// times as long.
constexpr Case cases[] = {
    {{1, 1, 1}},      {{31, 1, 2}},        {{1, 33, 5}},     {{33, 31, 1}},   {{32, 32, 32}},
    {{129, 4, 16}},   {{4, 132, 8}},       {{128, 128, 32}}, {{60, 68, 44}},  {{257, 129, 65}},
    {{132, 260, 20}}, {{128, 128, 32}, 1}, {{5, 260, 83}},   {{130, 64, 52}}, {{1152, 20, 4}},
    {{20, 36, 127}},  {{1157, 260, 9}},
};

/// Values on the device, followed by NaNs: a result that used one is NaN.
class Input {
 public:
  Input(std::size_t n, std::size_t first, unsigned seed) : first_(first) {
    constexpr float none = std::numeric_limits<float>::quiet_NaN();
    constexpr std::size_t guard = 4096;
    std::vector<float> values(first, none);
    const std::vector<float> inner = random_values(n, seed);
    values.insert(values.end(), inner.begin(), inner.end());
    values.resize(values.size() + guard, none);
    memory_ = DeviceArray<float>(values);
  }
  const float* data() const { return memory_.data() + first_; }

 private:
  std::size_t first_;
  DeviceArray<float> memory_;
};

class GemmLadderTest : public DeviceTest, public ::testing::WithParamInterface<GemmRung> {};

TEST_P(GemmLadderTest, MatchesTheReference) {
  for (const auto& [shape, first] : cases) {
    SCOPED_TRACE(::testing::Message()
                 << shape.m << " x " << shape.n << " x " << shape.k << " from " << first);
    const std::size_t outputs = shape.m * shape.n;
    const Input a(shape.m * shape.k, first, 1);
    const Input b(shape.k * shape.n, first, 2);
    GuardedOutput<double> expected(outputs);
    GuardedOutput<float> direct(outputs);
    GuardedOutput<float> replayed(outputs);
    gemm_reference(a.data(), b.data(), expected.data(), shape, 0, outputs, stream());
    GetParam().launch(a.data(), b.data(), direct.data(), shape, stream());
    synchronize();
    // 2 k units in the last place of 1. Rounding errors of k signed terms of at most 1 add up like
    // a random walk, to less than 0.5 k of them here. A term that is lost or taken twice is off by
    // 0.25 or more, at the largest k here 8000 times the tolerance.
    const auto tolerance = [&](double) {
      return 2 * static_cast<double>(shape.k) * std::numeric_limits<float>::epsilon();
    };
    expect_within(direct.values(), expected.values(), tolerance);
    capture_and_replay(
        stream(), [&] { GetParam().launch(a.data(), b.data(), replayed.data(), shape, stream()); });
    expect_within(replayed.values(), expected.values(), tolerance);
  }
}

TEST_P(GemmLadderTest, AnInfiniteInputReachesItsOwnRowOnly) {
  // An infinity read past the end of k, times a zero, would give NaN.
  constexpr GemmShape shape{3, 5, 17};
  std::vector<float> host_a(shape.m * shape.k, 1.0F);
  host_a[shape.k] = std::numeric_limits<float>::infinity();  // row 1, right after row 0
  const DeviceArray<float> a(host_a);
  const DeviceArray<float> b(std::vector<float>(shape.k * shape.n, 1.0F));
  GuardedOutput<float> c(shape.m * shape.n);
  GetParam().launch(a.data(), b.data(), c.data(), shape, stream());
  synchronize();
  const std::vector<float> values = c.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], i / shape.n == 1 ? host_a[shape.k] : static_cast<float>(shape.k)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Rungs, GemmLadderTest, ::testing::ValuesIn(gemm_ladder),
                         [](const auto& rung) { return std::string(rung.param.name); });

}  // namespace
}  // namespace warpgauge::kernels
