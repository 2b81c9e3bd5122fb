// SPDX-License-Identifier: Apache-2.0
#include "kernels/launch/chain.hpp"

#include "kernels/device_test.hpp"
#include "kernels/launch/probes.hpp"

namespace warpgauge::kernels {
namespace {

constexpr std::size_t sizes[] = {1, 31, 33, 256, 257, 1'000'003};
constexpr unsigned steps = 16;

class ChainTest : public DeviceTest {
 protected:
  bool has_capability(int major) const {
    int present = 0;
    EXPECT_EQ(cudaDeviceGetAttribute(&present, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
    return present >= major;
  }

  /// Compares run(in, out, n), called directly and captured, with in + steps in double.
  template <class Run>
  void expect_chain(const Run& run) const {
    for (const std::size_t n : sizes) {
      SCOPED_TRACE(n);
      const std::vector<float> values = random_values(n, 1);
      const DeviceArray<float> device(values);
      const float* const in = device.data();
      std::vector<double> expected(values.begin(), values.end());
      for (double& value : expected) {
        value += steps;
      }
      GuardedOutput<float> direct(n);
      GuardedOutput<float> replayed(n);
      run(in, direct.data(), n);
      capture_and_replay(stream(), [&] { run(in, replayed.data(), n); });
      synchronize();
      // Each of the 16 sums is at most 17 and rounded once.
      const auto most = [](double) { return steps * 17 * 0x1p-24; };
      expect_within(direct.values(), expected, most);
      expect_within(replayed.values(), expected, most);
    }
  }

  template <class Step>
  void expect_steps(const Step& step) const {
    expect_chain([&](const float* in, float* out, std::size_t n) {
      step(in, out, n, stream());
      for (unsigned i = 1; i < steps; ++i) {
        step(out, out, n, stream());
      }
    });
  }
};

TEST_F(ChainTest, StepsAddUp) {
  expect_steps(add_one);
}

TEST_F(ChainTest, FusedIsTheSameAsItsSteps) {
  expect_chain([this](const float* in, float* out, std::size_t n) {
    add_one_fused(in, out, n, steps, stream());
  });
}

TEST_F(ChainTest, StepsThatBeginEarlyWaitForEachOther) {
  if (!has_capability(9)) {
    GTEST_SKIP() << "needs compute capability 9.0";
  }
  expect_steps(add_one_early);
}

TEST_F(ChainTest, EarlyRefusesAnOlderDevice) {
  if (has_capability(9)) {
    GTEST_SKIP() << "this device has what it needs";
  }
  GuardedOutput<float> out(1);
  EXPECT_THROW(add_one_early(out.data(), out.data(), 1, stream()), std::runtime_error);
}

TEST_F(ChainTest, ReferenceAddsInDouble) {
  constexpr std::size_t n = 33;
  const std::vector<float> values = random_values(n, 1);
  const DeviceArray<float> in(values);
  GuardedOutput<double> expected(n);
  capture_and_replay(stream(),
                     [&] { add_one_reference(in.data(), expected.data(), n, 3, stream()); });
  const std::vector<double> got = expected.values();
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(got[i], static_cast<double>(values[i]) + 3);
  }
}

TEST_F(ChainTest, TallyCountsEveryLaunch) {
  DeviceArray<unsigned long long> count(std::vector<unsigned long long>{7, 7});
  unsigned long long* const first = count.data();
  tally(first, 1, stream());
  tally(first, 1000, stream());
  capture_and_replay(stream(), [&] {
    tally(first, 1, stream());
    tally(first, 1, stream());
  });
  EXPECT_EQ(count.download(stream()), (std::vector<unsigned long long>{7 + 1003, 7}));
}

}  // namespace
}  // namespace warpgauge::kernels
