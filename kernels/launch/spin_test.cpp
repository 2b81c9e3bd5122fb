// SPDX-License-Identifier: Apache-2.0
#include "kernels/launch/probes.hpp"

#include <algorithm>

#include <warpgauge/testing/under_sanitizer.hpp>
#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

constexpr std::uint64_t many_cycles = 1'000'000;  // about 0.5 ms: launch and events are 1 % of it

class SpinTest : public DeviceTest {
 protected:
  /// The shortest of several times: other work on the GPU only adds to a time.
  float milliseconds(std::uint64_t cycles, unsigned blocks) const {
    cudaEvent_t start = nullptr;
    cudaEvent_t stop = nullptr;
    EXPECT_EQ(cudaEventCreate(&start), cudaSuccess);
    EXPECT_EQ(cudaEventCreate(&stop), cudaSuccess);
    GuardedOutput<float> done(std::size_t{blocks} * spin_threads);
    float least = std::numeric_limits<float>::infinity();
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(cudaEventRecord(start, stream()), cudaSuccess);
      spin(cycles, blocks, done.data(), stream());
      EXPECT_EQ(cudaEventRecord(stop, stream()), cudaSuccess);
      EXPECT_EQ(cudaEventSynchronize(stop), cudaSuccess);
      float elapsed = 0;
      EXPECT_EQ(cudaEventElapsedTime(&elapsed, start, stop), cudaSuccess);
      least = std::min(least, elapsed);
    }
    EXPECT_EQ(cudaEventDestroy(stop), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(start), cudaSuccess);
    const std::vector<float> written = done.values();
    for (std::size_t i = 0; i < written.size(); ++i) {
      EXPECT_EQ(written[i], static_cast<float>(i));
    }
    return least;
  }
};

/// Its expectations of times hold only without a sanitizer.
class SpinTimeTest : public SpinTest {
 protected:
  void SetUp() override {
    SpinTest::SetUp();
    if (under_sanitizer()) {
      GTEST_SKIP() << "times under a sanitizer are others";
    }
  }
};

TEST_F(SpinTimeTest, TwiceTheCyclesTakeTwiceTheTime) {
  milliseconds(4 * many_cycles, 1);  // an idle GPU's clock rises
  const float once = milliseconds(many_cycles, 1);
  EXPECT_NEAR(milliseconds(2 * many_cycles, 1) / once, 2, 0.2);
}

TEST_F(SpinTimeTest, LastsNoShorterThanItsCycles) {
  int most_khz = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&most_khz, cudaDevAttrClockRate, 0), cudaSuccess);
  ASSERT_GT(most_khz, 0);
  const float least = static_cast<float>(many_cycles) / static_cast<float>(most_khz);
  EXPECT_GE(milliseconds(many_cycles, 1), 0.99F * least);
}

TEST_F(SpinTimeTest, BlocksSpinAtTheSameTime) {
  int sms = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  const float one = milliseconds(many_cycles, 1);
  EXPECT_NEAR(milliseconds(many_cycles, static_cast<unsigned>(sms)) / one, 1, 0.2);
}

TEST_F(SpinTimeTest, NoCyclesEndAtOnce) {
  EXPECT_LT(milliseconds(0, 1), 0.1F);
}

TEST_F(SpinTest, CanBeCaptured) {
  GuardedOutput<float> done(2 * spin_threads);
  capture_and_replay(stream(), [&] { spin(1000, 2, done.data(), stream()); });
  EXPECT_EQ(done.values().back(), 2 * spin_threads - 1);
}

}  // namespace
}  // namespace warpgauge::kernels
