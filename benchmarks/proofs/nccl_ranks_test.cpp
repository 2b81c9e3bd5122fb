// SPDX-License-Identifier: Apache-2.0
// The nccl benchmarks detect a wrong element on any rank; NCCL's own results are right; a rank that
// dies or hangs is named, and the next benchmark has new ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <warpgauge/cuda/graph.hpp>
#include <warpgauge/testing/device_required.hpp>
#include <warpgauge/testing/refusal.hpp>
#include "benchmarks/nccl/ranks.hpp"

namespace warpgauge {
namespace {

/// The child processes of this one.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    if (std::isdigit(static_cast<unsigned char>(name.front())) && std::getline(file, stat)) {
      // After the name in parentheses: the state and the parent (proc(5)).
      std::istringstream rest(stat.substr(stat.rfind(')') + 1));
      std::string state;
      pid_t parent = 0;
      if (rest >> state >> parent && parent == getpid()) {
        found.push_back(std::stoi(name));
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

class NcclRequired : public DeviceRequired {
 protected:
  void SetUp() override {
    DeviceRequired::SetUp();
    if (!IsSkipped()) {
      start(ranks());
    }
  }

  /// Skips the test where there are no ranks to start.
  static void start(Ranks& ranks) {
    try {
      ranks.start();
    } catch (const Unsupported& reason) {
      GTEST_SKIP() << "no usable GPU: the family nccl " << reason.what();
    }
  }

  RankedShape shape(Collective collective, bool in_place = false, std::size_t element = 4,
                    std::size_t bytes = 4096) const {
    return {Shape(collective, ranks().count(), bytes, element), 0, in_place, 1 << 20};
  }

  /// Captures `here` operations of this rank, and has the others capture `there`.
  std::optional<ExecutableGraph> captured(RankedCollective& all, std::size_t here,
                                          std::size_t there) {
    const cudaStream_t stream = gpu().stream();
    std::optional<ExecutableGraph> graph;
    all.prepare({true, 0, there}, [&] {
      graph.emplace(Graph::capture(stream,
                                   [&] {
                                     for (std::size_t i = 0; i < here; ++i) {
                                       all.issue(Iteration(stream, i));
                                     }
                                   }),
                    stream);
    });
    return graph;
  }

  /// One operation on `slot`, captured, `times` times, or issued if that is 0.
  void run(RankedCollective& all, std::size_t slot, int times = 1) {
    const cudaStream_t stream = gpu().stream();
    const Iteration at(stream, slot);
    if (times == 0) {
      all.prepare({false, slot, 1}, [] {});
      run_together(&all, stream, [&] { all.issue(at); });
    } else {
      std::optional<ExecutableGraph> graph;
      all.prepare({true, slot, 1},
                  [&] { graph.emplace(Graph::capture(stream, [&] { all.issue(at); }), stream); });
      for (int i = 0; i < times; ++i) {
        run_together(&all, stream, [&] { graph->launch(stream); });
        gpu().synchronize();
      }
    }
    gpu().synchronize();
  }

  /// Of all tests, because starting them takes seconds.
  static Ranks& ranks() {
    static Ranks shared{BENCH_NCCL};
    return shared;
  }
};

class EveryCollective : public NcclRequired, public testing::WithParamInterface<Collective> {};

TEST_P(EveryCollective, IsRightOnEveryRankWhenCapturedAndIssued) {
  for (const std::size_t element : {4, 2}) {
    RankedCollective all(ranks(), shape(GetParam(), false, element));
    run(all, 3);
    EXPECT_NO_THROW(all.require_right(3)) << element;
    all.renew();
    run(all, 2, 0);
    EXPECT_NO_THROW(all.require_right(2)) << element;
  }
}

class EveryInPlace : public EveryCollective {};

TEST_P(EveryInPlace, IsRightHoweverOften) {
  RankedCollective all(ranks(), shape(GetParam(), true));
  run(all, 1, 3);
  EXPECT_NO_THROW(all.require_right(1));
}

TEST_P(EveryCollective, IsWrongBeforeItRanAndWhereOneElementIs) {
  const RankedShape of = shape(GetParam());
  RankedCollective all(ranks(), of);
  EXPECT_THROW(all.require_right(0), WrongResult);
  run(all, 0);
  EXPECT_NO_THROW(all.require_right(0));
  const float other = 1000;
  float* const fifth = static_cast<float*>(all.buffers().output(0)) + 5;
  WARPGAUGE_CHECK(cudaMemcpyAsync(fifth, &other, sizeof other, cudaMemcpyDefault, gpu().stream()));
  gpu().synchronize();
  EXPECT_EQ(refusal<WrongResult>([&] {
              all.require_right(0);
            }).find(name_of(GetParam()) + ": element 5 of rank 0 is 1000"),
            0U);
  all.renew();
  EXPECT_THROW(all.require_right(0), WrongResult) << "a former result was kept";
}

INSTANTIATE_TEST_SUITE_P(Nccl, EveryCollective,
                         testing::Values(Collective::all_reduce, Collective::all_gather,
                                         Collective::reduce_scatter, Collective::broadcast,
                                         Collective::all_to_all),
                         [](const auto& one) { return name_of(one.param); });

// all_to_all is not available in place.
INSTANTIATE_TEST_SUITE_P(Nccl, EveryInPlace,
                         testing::Values(Collective::all_reduce, Collective::all_gather,
                                         Collective::reduce_scatter, Collective::broadcast),
                         [](const auto& one) { return name_of(one.param); });

TEST_F(NcclRequired, AWrongResultOfAnotherRankIsNamed) {
  RankedCollective all(ranks(), shape(Collective::broadcast));
  // What rank 0 would have got; the broadcast itself does not run.
  RankBuffers& own = all.buffers();
  WARPGAUGE_CHECK(
      cudaMemcpyAsync(own.output(0), own.input(0), 4096, cudaMemcpyDefault, gpu().stream()));
  gpu().synchronize();
  EXPECT_EQ(refusal<WrongResult>([&] {
              all.require_right(0);
            }).find("broadcast: element 0 of rank 1 is "),
            0U);
}

TEST_F(NcclRequired, ARankThatIsKilledWhileItRunsIsNamedAndTheNextBenchmarkHasNewOnes) {
  for (int time = 0; time < 2; ++time) {
    {
      RankedCollective all(ranks(), shape(Collective::all_reduce));
      const cudaStream_t stream = gpu().stream();
      auto graph = captured(all, 100, 101);  // one more than rank 0 has: it never ends
      all.begin(0, false);
      all.barrier(stream);
      graph->launch(stream);
      for (const pid_t pid : children()) {
        kill(pid, SIGKILL);
      }
      const std::string failure = refusal<RankFailed>([&] { all.end(); });
      EXPECT_EQ(failure.find("rank 1 (GPU-"), 0U) << failure;
      EXPECT_NE(failure.find(" was killed by SIGKILL"), std::string::npos) << failure;
      EXPECT_TRUE(children().empty());
      gpu().synchronize();
    }
    ranks().start();
    RankedCollective all(ranks(), shape(Collective::all_reduce));
    run(all, 0);
    EXPECT_NO_THROW(all.require_right(0));
  }
}

TEST_F(NcclRequired, CallsOnTheDeviceThatWaitForALostRankEnd) {
  {
    RankedCollective all(ranks(), shape(Collective::all_reduce));
    const cudaStream_t stream = gpu().stream();
    auto graph = captured(all, 50, 1);  // fewer than rank 0 has: rank 0 waits on its device
    all.begin(0, false);
    all.barrier(stream);
    graph->launch(stream);
    all.end();
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    static_cast<void>(cudaGetLastError());
    for (const pid_t pid : children()) {
      kill(pid, SIGKILL);
    }
    EXPECT_THROW(all.renew(), RankFailed);
    gpu().synchronize();
  }
  ranks().start();
  RankedCollective all(ranks(), shape(Collective::all_reduce));
  run(all, 0);
  EXPECT_NO_THROW(all.require_right(0));
}

TEST_F(NcclRequired, ARankThatIsStoppedIsNamed) {
  Ranks impatient(BENCH_NCCL, 5);
  start(impatient);
  const std::vector<pid_t> before = children();
  {
    RankedCollective all(impatient, shape(Collective::all_gather));
    kill(before.back(), SIGSTOP);
    const std::string failure = refusal<RankFailed>([&] { all.renew(); });
    EXPECT_EQ(failure.find("rank "), 0U) << failure;
    EXPECT_NE(failure.find(" (GPU-"), std::string::npos) << failure;
    EXPECT_TRUE(failure.ends_with(") is stopped")) << failure;
  }
  EXPECT_LT(children().size(), before.size());
}

TEST_F(NcclRequired, AFailedCallSaysWhichAndWhy) {
  const Nccl& nccl = Nccl::loaded();
  const std::string failure = refusal<NcclError>([&] {
    nccl.require(nccl.group_end(), "ncclGroupEnd");  // without ncclGroupStart
  });
  EXPECT_EQ(failure.find("ncclGroupEnd: invalid"), 0U) << failure;
}

}  // namespace
}  // namespace warpgauge
