// SPDX-License-Identifier: Apache-2.0
#include "kernels/launch/blocks.hpp"

#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

class BlocksTest : public DeviceTest {
 protected:
  bool has_clusters() const {
    int major = 0;
    EXPECT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
    return major >= 9;
  }

  /// The number that block `block` gets from the next block of its group.
  static double next_of(std::size_t block, std::size_t group) {
    const bool last = block % group == group - 1;
    return static_cast<double>(last ? block + 1 - group : block + 1);
  }

  /// Runs launch(out), directly and captured.
  template <class Launch>
  void expect_exchange(std::size_t blocks, std::size_t group, const Launch& launch) const {
    SCOPED_TRACE(::testing::Message() << blocks << " blocks in groups of " << group);
    std::vector<double> expected(blocks);
    for (std::size_t block = 0; block < blocks; ++block) {
      expected[block] = next_of(block, group);
    }
    GuardedOutput<float> direct(blocks);
    GuardedOutput<float> replayed(blocks);
    launch(direct.data());
    capture_and_replay(stream(), [&] { launch(replayed.data()); });
    synchronize();
    expect_same(direct.values(), expected);
    expect_same(replayed.values(), expected);
  }
};

TEST_F(BlocksTest, EveryBlockHasItsNumber) {
  for (const std::size_t blocks : {1, 31, 33, 1'000'003}) {
    expect_exchange(blocks, 1, [&](float* out) { number_blocks(out, blocks, stream()); });
  }
}

TEST_F(BlocksTest, BlocksOfAGridExchange) {
  for (const std::size_t blocks : {1, 2, 31, 33, 128}) {
    // Each call has its own middle: in one that an earlier call filled, a block that does not wait
    // for its neighbour would still find the right number.
    GuardedOutput<float> middles[] = {GuardedOutput<float>(blocks), GuardedOutput<float>(blocks)};
    std::size_t calls = 0;
    expect_exchange(blocks, blocks, [&](float* out) {
      exchange_in_grid(middles[calls++ % 2].data(), out, blocks, stream());
    });
    EXPECT_EQ(calls, 2U);
    for (const GuardedOutput<float>& middle : middles) {
      EXPECT_EQ(middle.values().back(), static_cast<float>(blocks - 1));
    }
  }
}

TEST_F(BlocksTest, AGridThatFindsNoRoomIsRefused) {
  constexpr std::size_t blocks = std::size_t{1} << 20;
  GuardedOutput<float> middle(blocks);
  GuardedOutput<float> out(blocks);
  EXPECT_THROW(exchange_in_grid(middle.data(), out.data(), blocks, stream()), std::runtime_error);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // and does not spoil what comes after it
}

TEST_F(BlocksTest, BlocksOfAClusterExchange) {
  if (!has_clusters()) {
    GTEST_SKIP() << "needs compute capability 9.0";
  }
  for (std::size_t cluster = 1; cluster <= most_cluster_blocks; ++cluster) {
    for (const std::size_t clusters : {1, 3, 16}) {
      expect_exchange(clusters * cluster, cluster, [&](float* out) {
        exchange_in_cluster(out, clusters * cluster, cluster, stream());
      });
    }
  }
}

TEST_F(BlocksTest, ClustersRefuseAnOlderDevice) {
  if (has_clusters()) {
    GTEST_SKIP() << "this device has what it needs";
  }
  GuardedOutput<float> out(8);
  EXPECT_THROW(exchange_in_cluster(out.data(), 8, 8, stream()), std::runtime_error);
}

TEST_F(BlocksTest, ReferenceOfAWindowIsThatWindowOfTheWhole) {
  constexpr std::size_t first = 5;
  constexpr std::size_t count = 300;
  for (const std::size_t group : {1, 8, 1000}) {
    SCOPED_TRACE(group);
    GuardedOutput<double> expected(count);
    capture_and_replay(stream(),
                       [&] { exchange_reference(expected.data(), first, count, group, stream()); });
    const std::vector<double> got = expected.values();
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(got[i], next_of(first + i, group));
    }
  }
}

}  // namespace
}  // namespace warpgauge::kernels
