// SPDX-License-Identifier: Apache-2.0
#include "kernels/p2p/p2p.hpp"

#include <warpgauge/cuda/current_device.hpp>
#include <warpgauge/testing/under_sanitizer.hpp>
#include "kernels/device_test.hpp"
#include "kernels/memory/cache.hpp"
#include "kernels/memory/copy.hpp"

namespace warpgauge::kernels {
namespace {

constexpr int home = 0;
constexpr int away = 1;

/// Skips the test unless there are two GPUs that can access each other's memory.
class TwoDevicesTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    int devices = 0;
    WARPGAUGE_CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2) {
      GTEST_SKIP() << "no usable GPU: needs two, and one is visible";
    }
    if (!reaches(home, away) || !reaches(away, home)) {
      GTEST_SKIP() << "no usable GPU: CUDA has no peer access between the two";
    }
    const OnDevice there(away);
    away_stream_.emplace();
  }

  cudaStream_t away_stream() const { return away_stream_.value().get(); }

  /// Returns make(), called with the second device current.
  template <class Make>
  static auto on_peer(const Make& make) {
    const OnDevice there(away);
    return make();
  }

 private:
  static bool reaches(int from, int to) {
    int possible = 0;
    WARPGAUGE_CHECK(cudaDeviceCanAccessPeer(&possible, from, to));
    if (possible == 0) {
      return false;
    }
    const OnDevice on(from);
    const cudaError_t code = cudaDeviceEnablePeerAccess(to, 0);
    static_cast<void>(cudaGetLastError());
    return code == cudaSuccess || code == cudaErrorPeerAccessAlreadyEnabled;
  }

  std::optional<Stream> away_stream_;
};

class PingPongTest : public TwoDevicesTest {
 protected:
  void SetUp() override {
    TwoDevicesTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    if (under_sanitizer()) {
      GTEST_SKIP() << "a sanitizer runs one kernel at a time";
    }
    home_box_ = zeroed<std::uint32_t>(1);
    away_box_ = on_peer([] { return zeroed<std::uint32_t>(1); });
    // Load both kernels first: loading waits for running kernels, and one would wait for the other.
    serve(0, GuardedOutput<std::int32_t>(1));
    answer(0, on_peer([] { return GuardedOutput<std::int32_t>(1); }));
  }

  void serve(std::size_t rounds, GuardedOutput<std::int32_t>&& done) { serve(rounds, done); }
  void serve(std::size_t rounds, GuardedOutput<std::int32_t>& done) {
    ping_pong(home_box_.data(), away_box_.data(), rounds, true, done.data(), stream());
    synchronize_after_no_round(rounds, stream());
  }
  void answer(std::size_t rounds, GuardedOutput<std::int32_t>&& done) { answer(rounds, done); }
  void answer(std::size_t rounds, GuardedOutput<std::int32_t>& done) {
    const OnDevice there(away);
    ping_pong(away_box_.data(), home_box_.data(), rounds, false, done.data(), away_stream());
    synchronize_after_no_round(rounds, away_stream());
  }
  bool boxes_are_empty() const {
    return home_box_.download(stream()).front() == 0 && away_box_.download(stream()).front() == 0;
  }

 private:
  static void synchronize_after_no_round(std::size_t rounds, cudaStream_t stream) {
    if (rounds == 0) {
      WARPGAUGE_CHECK(cudaStreamSynchronize(stream));
    }
  }

  DeviceArray<std::uint32_t> home_box_;
  DeviceArray<std::uint32_t> away_box_;
};

TEST_F(PingPongTest, GoesToAndFroAsOftenAsAsked) {
  for (const std::size_t rounds : {1, 2, 1000}) {
    SCOPED_TRACE(rounds);
    GuardedOutput<std::int32_t> served(1);
    auto answered = on_peer([] { return GuardedOutput<std::int32_t>(1); });
    serve(rounds, served);
    answer(rounds, answered);
    synchronize();
    WARPGAUGE_CHECK(cudaStreamSynchronize(away_stream()));
    EXPECT_EQ(served.values().front(), static_cast<std::int32_t>(rounds));
    EXPECT_EQ(answered.values().front(), static_cast<std::int32_t>(rounds));
    EXPECT_TRUE(boxes_are_empty());
  }
}

TEST_F(PingPongTest, OneGraphHoldsBothSides) {
  GuardedOutput<std::int32_t> served(1);
  auto answered = on_peer([] { return GuardedOutput<std::int32_t>(1); });
  const Event begun;
  const auto ended = on_peer([] { return Event(); });
  const Graph graph = Graph::capture(stream(), [&] {
    begun.record(stream());
    WARPGAUGE_CHECK(cudaStreamWaitEvent(away_stream(), begun.get()));
    serve(100, served);
    answer(100, answered);
    ended.record(away_stream());
    WARPGAUGE_CHECK(cudaStreamWaitEvent(stream(), ended.get()));
  });
  const ExecutableGraph executable(graph, stream());
  for (int replay = 0; replay < 3; ++replay) {
    executable.launch(stream());
    synchronize();
    EXPECT_EQ(served.values().front(), 100);
    EXPECT_EQ(answered.values().front(), 100);
  }
}

TEST_F(PingPongTest, ASideThatIsAloneComesToAnEnd) {
  GuardedOutput<std::int32_t> served(1);
  serve(10, served);
  synchronize();
  EXPECT_EQ(served.values().front(), 0);
}

class AtomicAddTest : public TwoDevicesTest {};

TEST_F(AtomicAddTest, AddsInTheMemoryOfThePeer) {
  for (const bool returning : {false, true}) {
    for (const AddShape shape : {AddShape{1, 1}, {33, 7}, {1000, 0}, {4099, 64}}) {
      SCOPED_TRACE(::testing::Message() << shape.threads << " x " << shape.adds);
      const std::vector<std::int32_t> host = random_integers(shape.threads, 1);
      const DeviceArray<std::int32_t> values(host);
      auto counters = on_peer([&] { return zeroed<std::uint32_t>(shape.threads); });
      GuardedOutput<std::int32_t> direct(shape.threads);
      GuardedOutput<std::int32_t> replayed(shape.threads);
      atomic_add(values.data(), counters.data(), direct.data(), shape, returning, stream());
      capture_and_replay(stream(), [&] {
        atomic_add(values.data(), counters.data(), replayed.data(), shape, returning, stream());
      });
      std::vector<double> once;
      std::vector<std::uint32_t> twice;
      for (const std::int32_t value : host) {
        const std::uint32_t sum =
            static_cast<std::uint32_t>(value) * static_cast<std::uint32_t>(shape.adds);
        once.push_back(static_cast<std::int32_t>(sum));
        twice.push_back(2 * sum);
      }
      expect_same(direct.values(), once);
      expect_same(replayed.values(), once);
      EXPECT_EQ(counters.download(stream()), twice);
    }
  }
}

class PeerMemoryTest : public TwoDevicesTest {};

TEST_F(PeerMemoryTest, IsReadAndWrittenByACopyingKernel) {
  const std::size_t n = 100'003;
  const std::vector<std::int32_t> host = random_integers(n, 1);
  const std::vector<double> expected(host.begin(), host.end());
  const DeviceArray<std::int32_t> here(host);
  auto there = on_peer([&] { return GuardedOutput<std::int32_t>(n); });
  GuardedOutput<std::int32_t> back(n);
  capture_and_replay(stream(), [&] {
    copy_bytes(here.data(), there.data(), n * sizeof(std::int32_t), stream());
    copy_bytes(there.data(), back.data(), n * sizeof(std::int32_t), stream());
  });
  expect_same(there.values(), expected);
  expect_same(back.values(), expected);
}

TEST_F(PeerMemoryTest, ARingInItIsChased) {
  const ChaseRing ring = on_peer([] { return ChaseRing(1 << 20); });
  for (const std::size_t loads : {0, 1, 1003}) {
    GuardedOutput<std::int32_t> end(1);
    GuardedOutput<double> expected(1);
    ring(5, loads, end.data(), stream());
    ring.reference(5 + loads, expected.data(), stream());
    synchronize();
    expect_same(end.values(), expected.values());
  }
}

}  // namespace
}  // namespace warpgauge::kernels
