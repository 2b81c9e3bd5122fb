// SPDX-License-Identifier: Apache-2.0
#include "kernels/memory/cache.hpp"

#include <set>

#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

class CacheTest : public DeviceTest {};

/// By the definition: thread t of all T reads vectors t, t + T, ...
std::vector<double> sums_on_host(const std::vector<std::int32_t>& in, ReadShape shape) {
  const std::size_t vectors = in.size() / 4;
  std::vector<double> sums;
  for (std::size_t block = 0; block < shape.blocks; ++block) {
    std::uint32_t sum = 0;
    for (std::size_t thread = 0; thread < read_threads; ++thread) {
      for (std::size_t load = 0; load < shape.loads; ++load) {
        const std::size_t first = block * read_threads + thread;
        const std::size_t vector = (first + load * shape.blocks * read_threads) % vectors;
        for (std::size_t i = 0; i < 4; ++i) {
          sum += static_cast<std::uint32_t>(in[4 * vector + i]);
        }
      }
    }
    sums.push_back(static_cast<double>(static_cast<std::int32_t>(sum)));
  }
  return sums;
}

// Vectors: one for all threads, fewer than threads, an odd number more. Loads: numbers around the
// eight in flight.
TEST_F(CacheTest, ReadsRoundAndRound) {
  for (const std::size_t vectors : {1, 31, 33, 10'007}) {
    const std::vector<std::int32_t> values = random_integers(4 * vectors, 1);
    const DeviceArray<std::int32_t> device(values);
    const std::int32_t* const in = device.data();
    for (const ReadShape shape : {ReadShape{1, 0}, {1, 1}, {3, 7}, {3, 8}, {5, 17}}) {
      SCOPED_TRACE(::testing::Message() << vectors << " vectors, " << shape.blocks << " blocks, "
                                        << shape.loads << " loads");
      const std::vector<double> expected = sums_on_host(values, shape);
      GuardedOutput<std::int32_t> direct(shape.blocks);
      GuardedOutput<std::int32_t> replayed(shape.blocks);
      GuardedOutput<double> reference(shape.blocks);
      read_round(in, direct.data(), values.size(), shape, stream());
      capture_and_replay(stream(), [&] {
        read_round(in, replayed.data(), values.size(), shape, stream());
        read_round_reference(in, reference.data(), values.size(), shape, 0, 1, stream());
        read_round_reference(in, reference.data() + 1, values.size(), shape, 1, shape.blocks - 1,
                             stream());
      });
      expect_same(direct.values(), expected);
      expect_same(replayed.values(), expected);
      expect_same(reference.values(), expected);
    }
  }
}

class ChaseTest : public DeviceTest {
 protected:
  double place(const ChaseRing& ring, std::size_t number) const {
    GuardedOutput<double> expected(1);
    ring.reference(number, expected.data(), stream());
    synchronize();
    return expected.values().front();
  }
  /// Runs the chase directly and captured, and expects the same line.
  double chased(const ChaseRing& ring, std::size_t start, std::size_t loads) const {
    GuardedOutput<std::int32_t> direct(1);
    GuardedOutput<std::int32_t> replayed(1);
    ring(start, loads, direct.data(), stream());
    capture_and_replay(stream(), [&] { ring(start, loads, replayed.data(), stream()); });
    EXPECT_EQ(direct.values(), replayed.values());
    return direct.values().front();
  }
};

TEST_F(ChaseTest, EndsWhereTheFormulaSays) {
  // Rings read into the L1 first and not; the smallest; an odd and an even number of bits.
  for (const std::size_t bytes : {512, 16 << 10, 128 << 10, 256 << 10, 1 << 20}) {
    SCOPED_TRACE(bytes);
    const ChaseRing ring(bytes);
    for (const std::size_t start : {std::size_t{0}, std::size_t{5}, ring.lines() - 1}) {
      for (const std::size_t loads : {0, 1, 9, 1003}) {
        SCOPED_TRACE(::testing::Message() << loads << " loads from " << start);
        EXPECT_EQ(chased(ring, start, loads), place(ring, start + loads));
      }
    }
    EXPECT_EQ(chased(ring, 3, ring.lines()), place(ring, 3));  // once round
  }
}

TEST_F(ChaseTest, ComesByEveryLineOnce) {
  for (const std::size_t bytes : {512, 1024, 16 << 10}) {
    SCOPED_TRACE(bytes);
    const ChaseRing ring(bytes);
    std::set<double> seen;
    for (std::size_t loads = 0; loads < ring.lines(); ++loads) {
      const double line = chased(ring, 0, loads);
      EXPECT_GE(line, 0);
      EXPECT_LT(line, static_cast<double>(ring.lines()));
      seen.insert(line);
    }
    EXPECT_EQ(seen.size(), ring.lines());
  }
}

// A prefetcher or a page of the TLB could guess neighbours in memory. By chance, about one pair of
// neighbours in the order is such a pair.
TEST_F(ChaseTest, NeighboursInTheOrderLieApart) {
  const ChaseRing ring(16 << 10);
  int near = 0;
  double last = place(ring, 0);
  for (std::size_t number = 1; number <= ring.lines(); ++number) {
    const double line = place(ring, number);
    near += std::abs(line - last) <= 1 ? 1 : 0;
    last = line;
  }
  EXPECT_LE(near, 8);
}

}  // namespace
}  // namespace warpgauge::kernels
