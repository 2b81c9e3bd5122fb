// SPDX-License-Identifier: Apache-2.0
// Every way of the all-reduce gives the reference's sums on all ranks, launched and replayed.
#include "kernels/all_reduce/all_reduce.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <warpgauge/cuda/current_device.hpp>
#include <warpgauge/cuda/elements.hpp>
#include <warpgauge/cuda/sm_clock.hpp>
#include <warpgauge/testing/under_sanitizer.hpp>
#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

/// Lets the current device access the memory of `other`; false if CUDA does not.
bool reaches(int other) {
  int possible = 0;
  WARPGAUGE_CHECK(cudaDeviceCanAccessPeer(&possible, current_device(), other));
  if (possible == 0) {
    return false;
  }
  const cudaError_t code = cudaDeviceEnablePeerAccess(other, 0);
  static_cast<void>(cudaGetLastError());
  return code == cudaSuccess || code == cudaErrorPeerAccessAlreadyEnabled;
}

/// A rank's data and stream, on the device that is current at construction.
template <class T>
struct Rank {
  explicit Rank(std::size_t count) : host(count), input(count), output(count) {}

  /// Other inputs; the output becomes NaN again.
  void renew(unsigned seed) {
    host = random_values_as<T>(host.size(), seed);
    const std::size_t bytes = host.size() * sizeof(T);
    WARPGAUGE_CHECK(
        cudaMemcpyAsync(input.data(), host.data(), bytes, cudaMemcpyDefault, stream.get()));
    WARPGAUGE_CHECK(cudaMemsetAsync(output.data(), 0xFF, bytes, stream.get()));
    stream.synchronize();
  }

  std::vector<T> host;
  DeviceArray<T> input;
  GuardedOutput<T> output;
  DeviceArray<std::uint32_t> flags = zeroed<std::uint32_t>(all_reduce_flags);
  DeviceArray<FlaggedWords> inbox = zeroed<FlaggedWords>(all_reduce_inbox);
  Stream stream;
  std::optional<ExecutableGraph> graph;
};

template <class T>
using Ranks = std::vector<std::unique_ptr<Rank<T>>>;

/// The ranks take turns on the visible devices, so that one device is enough.
class AllReduceTest : public DeviceTest {
 protected:
  /// Streams that share one of the default eight hardware queues would wait for each other.
  static void SetUpTestSuite() { setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1); }

  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    WARPGAUGE_CHECK(cudaGetDeviceCount(&devices_));
    for (int device = 0; device < devices_; ++device) {
      const OnDevice on(device);
      for (int other = 0; other < devices_; ++other) {
        if (other != device && !reaches(other)) {
          GTEST_SKIP() << "no usable GPU: CUDA has no peer access between all of them";
        }
      }
      load_all_reduce();
    }
  }

  template <class T>
  void expect_sums(unsigned ranks, std::size_t count) const {
    Ranks<T> all;
    for_each(ranks, [&](unsigned) { all.push_back(std::make_unique<Rank<T>>(count)); });
    AllReduce<T> call{};
    call.ranks = ranks;
    call.count = count;
    for (unsigned rank = 0; rank < ranks; ++rank) {
      call.inputs[rank] = all[rank]->input.data();
      call.outputs[rank] = all[rank]->output.data();
      call.flags[rank] = all[rank]->flags.data();
      call.inboxes[rank] = all[rank]->inbox.data();
    }
    for (const AllReduceWay<T>& way : all_reduce_ways<T>) {
      SCOPED_TRACE(::testing::Message()
                   << way.name << ", " << ranks << " ranks, " << count << " elements");
      if (count * sizeof(T) > way.most_bytes) {
        continue;
      }
      const auto launch = [&](unsigned rank) {
        AllReduce<T> own = call;
        own.rank = rank;
        way.launch(own, all[rank]->stream.get());
      };
      for_each(ranks, [&](unsigned rank) {
        const cudaStream_t stream = all[rank]->stream.get();
        all[rank]->graph.emplace(Graph::capture(stream, [&] { launch(rank); }), stream);
      });
      for (int round = 0; round < 2; ++round) {
        expect_sums_by(all, launch);
        expect_sums_by(all,
                       [&](unsigned rank) { all[rank]->graph->launch(all[rank]->stream.get()); });
      }
    }
  }

  /// Calls follow each other without the host: a rank renews its input before its call, though
  /// others may still be in the one before, and loses it right after. Another rank is the last in
  /// each call, so that whoever does not wait for it adds up what is not there yet, or not any
  /// more.
  template <class T>
  void expect_no_overtaking(const AllReduceWay<T>& way) const {
    SCOPED_TRACE(way.name);
    constexpr unsigned ranks = 4;
    constexpr unsigned calls = 4;
    constexpr std::size_t count = 72;
    struct Queue {
      Queue() : inputs(calls * count), results(calls * count) {}
      DeviceArray<T> inputs, results;
    };
    Ranks<T> all;
    std::vector<std::unique_ptr<Queue>> queues;
    std::vector<double> expected(calls * count);
    AllReduce<T> call{};
    call.ranks = ranks;
    call.count = count;
    for_each(ranks, [&](unsigned rank) {
      all.push_back(std::make_unique<Rank<T>>(count));
      queues.push_back(std::make_unique<Queue>());
      all[rank]->renew(rank);
      const auto values = random_values_as<T>(calls * count, rank + 1);
      queues[rank]->inputs = DeviceArray<T>(values);
      for (std::size_t i = 0; i < values.size(); ++i) {
        expected[i] += static_cast<double>(values[i]);
      }
      warpgauge::detail::delay(0, all[rank]->stream.get());  // loads it
      all[rank]->stream.synchronize();
      call.inputs[rank] = all[rank]->input.data();
      call.outputs[rank] = all[rank]->output.data();
      call.flags[rank] = all[rank]->flags.data();
      call.inboxes[rank] = all[rank]->inbox.data();
    });
    const auto copy = [](T* to, const T* from, cudaStream_t stream) {
      WARPGAUGE_CHECK(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDefault, stream));
    };
    for (unsigned i = 0; i < calls; ++i) {
      for_each(ranks, [&](unsigned rank) {
        const cudaStream_t stream = all[rank]->stream.get();
        AllReduce<T> own = call;
        own.rank = rank;
        warpgauge::detail::delay((rank + i) % ranks * 1'000'000, stream);
        copy(all[rank]->input.data(), queues[rank]->inputs.data() + i * count, stream);
        way.launch(own, stream);
        WARPGAUGE_CHECK(
            cudaMemsetAsync(all[rank]->input.data(), 0xFF, count * sizeof(T), stream));  // NaN
        copy(queues[rank]->results.data() + i * count, all[rank]->output.data(), stream);
      });
    }
    for_each(ranks, [&](unsigned rank) { all[rank]->stream.synchronize(); });
    for_each(ranks, [&](unsigned rank) {
      SCOPED_TRACE(rank);
      expect_within(queues[rank]->results.download(all[rank]->stream.get()), expected,
                    [](double value) { return 1e-6 + unit_roundoff<T> * std::abs(value); });
    });
  }

  /// Calls use(rank), with its device current.
  template <class Use>
  void for_each(std::size_t ranks, const Use& use) const {
    for (unsigned rank = 0; rank < ranks; ++rank) {
      const OnDevice on(static_cast<int>(rank) % devices_);
      use(rank);
    }
  }

 private:
  template <class T, class Launch>
  void expect_sums_by(const Ranks<T>& all, const Launch& launch) const {
    static unsigned seed = 0;
    std::vector<double> expected(all.front()->host.size());
    for_each(all.size(), [&](unsigned rank) {
      all[rank]->renew(++seed);
      std::transform(expected.begin(), expected.end(), all[rank]->host.begin(), expected.begin(),
                     [](double sum, T value) { return sum + static_cast<double>(value); });
    });
    for_each(all.size(), launch);
    for_each(all.size(), [&](unsigned rank) { all[rank]->stream.synchronize(); });
    const double sums =
        2.0 * static_cast<double>(all.size()) * std::numeric_limits<float>::epsilon();
    for_each(all.size(), [&](unsigned rank) {
      SCOPED_TRACE(rank);
      expect_within(all[rank]->output.values(), expected,
                    [=](double value) { return sums + unit_roundoff<T> * std::abs(value); });
    });
  }

  int devices_ = 0;
};

// One rank alone adds nothing, and waits for nobody: also under a sanitizer. The second count has
// the most blocks, of which the first has more than one pack a thread.
TEST_F(AllReduceTest, OneRankCopies) {
  for (const std::size_t count :
       {std::size_t{520}, std::size_t{8} * (all_reduce_blocks * 512 + 100)}) {
    expect_sums<float>(1, count);
    expect_sums<__nv_bfloat16>(1, count);
  }
}

class AllReduceOfSeveralTest : public AllReduceTest {
 protected:
  void SetUp() override {
    AllReduceTest::SetUp();
    if (!IsSkipped() && under_sanitizer()) {
      GTEST_SKIP() << "a sanitizer runs one kernel at a time";
    }
  }
};

// One pack; shares that are empty, or shorter for the last rank; edges of blocks.
TEST_F(AllReduceOfSeveralTest, FewElementsAreAddedUpOnAllRanks) {
  for (unsigned ranks = 2; ranks <= most_ranks; ++ranks) {
    for (const std::size_t count : {8, 72, 8 * 513}) {
      expect_sums<float>(ranks, count);
      expect_sums<__nv_bfloat16>(ranks, count);
    }
  }
}

TEST_F(AllReduceOfSeveralTest, AsManyElementsAsAreFlaggedAreAddedUpOnAllRanks) {
  for (const unsigned ranks : {2U, most_ranks}) {
    expect_sums<float>(ranks, most_flagged_bytes / sizeof(float));
    expect_sums<__nv_bfloat16>(ranks, most_flagged_bytes / sizeof(__nv_bfloat16));
  }
}

// The most blocks, of which the first has more than one pack a thread. Two ranks' blocks run at
// once on one device.
TEST_F(AllReduceOfSeveralTest, ManyElementsAreAddedUpOnAllRanks) {
  constexpr std::size_t packs_of_a_rank = all_reduce_blocks * 512;  // threads
  expect_sums<float>(2, 2 * 4 * (packs_of_a_rank + 100));
}

TEST_F(AllReduceOfSeveralTest, NoRankOvertakesAnother) {
  for (const AllReduceWay<float>& way : all_reduce_ways<float>) {
    expect_no_overtaking(way);
  }
  for (const AllReduceWay<__nv_bfloat16>& way : all_reduce_ways<__nv_bfloat16>) {
    expect_no_overtaking(way);
  }
}

// Each rank reads what another one, later than itself, wrote before the barrier.
TEST_F(AllReduceOfSeveralTest, TheBarrierWaitsForTheLastRank) {
  constexpr unsigned ranks = 4;
  Ranks<float> all;
  AllReduce<float> call{};
  call.ranks = ranks;
  for_each(ranks, [&](unsigned rank) {
    all.push_back(std::make_unique<Rank<float>>(1));
    all[rank]->renew(rank);
    warpgauge::detail::delay(0, all[rank]->stream.get());  // loads it
    all[rank]->stream.synchronize();
    call.flags[rank] = all[rank]->flags.data();
  });
  const auto copy = [](float* to, const float* from, cudaStream_t stream) {
    WARPGAUGE_CHECK(cudaMemcpyAsync(to, from, sizeof(float), cudaMemcpyDefault, stream));
  };
  for_each(ranks, [&](unsigned rank) {
    const cudaStream_t stream = all[rank]->stream.get();
    call.rank = rank;
    warpgauge::detail::delay(rank * 1'000'000, stream);
    copy(all[rank]->output.data(), all[rank]->input.data(), stream);
    all_reduce_barrier(call, stream);
    copy(all[rank]->input.data(), all[(rank + 1) % ranks]->output.data(), stream);
  });
  for_each(ranks, [&](unsigned rank) { all[rank]->stream.synchronize(); });
  for (unsigned rank = 0; rank < ranks; ++rank) {
    expect_same(all[rank]->input.download(stream()), {all[(rank + 1) % ranks]->host.front()});
  }
}

/// The first of two ranks calls twice. Exits with 3 if both calls fail.
[[noreturn]] void call_without_partner(void (*launch)(const AllReduce<float>&, cudaStream_t)) {
  Rank<float> own(4);
  Rank<float> absent(4);
  AllReduce<float> call{};
  call.ranks = 2;
  call.count = 4;
  for (unsigned rank = 0; rank < 2; ++rank) {
    Rank<float>& of = rank == 0 ? own : absent;
    call.inputs[rank] = of.input.data();
    call.outputs[rank] = of.output.data();
    call.flags[rank] = of.flags.data();
    call.inboxes[rank] = of.inbox.data();
  }
  const auto fails = [&] {
    try {
      launch(call, own.stream.get());
      own.stream.synchronize();
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  };
  const bool first = fails();
  std::_Exit(first && fails() ? 3 : 1);
}

using AllReduceDeathTest = AllReduceOfSeveralTest;

TEST_F(AllReduceDeathTest, WithoutAPartnerThisCallAndTheNextFail) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const auto launch : {all_reduce_one_shot<float>, all_reduce_flagged<float>}) {
    EXPECT_EXIT(call_without_partner(launch), testing::ExitedWithCode(3), "");
  }
}

}  // namespace
}  // namespace warpgauge::kernels
