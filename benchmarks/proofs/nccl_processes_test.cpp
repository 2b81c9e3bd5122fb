// SPDX-License-Identifier: Apache-2.0
// Ranks that die, hang or talk nonsense are named and leave nothing behind. With real processes.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <fstream>

#include <warpgauge/testing/refusal.hpp>
#include "benchmarks/nccl/processes.hpp"

namespace warpgauge {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds patience{400};

/// Rank 1 behaves as this says, rank 2 as it should.
std::unique_ptr<RankProcesses> ranks(const std::string& behaviour,
                                     milliseconds patient = patience) {
  const std::vector<RankProcesses::Command> commands{
      {"rank 1 (GPU a)", {NCCL_FAKE_RANK, behaviour}},
      {"rank 2 (GPU b)", {NCCL_FAKE_RANK, "right"}}};
  return std::make_unique<RankProcesses>(commands, patient);
}

std::string failure_of(RankProcesses& ranks, const std::string& message = "now") {
  return refusal<RankFailed>([&] {
    ranks.ask(message);
    ranks.expect("done");
  });
}

bool has_children() {
  return waitpid(-1, nullptr, WNOHANG) == 0;
}

/// Ends within some seconds.
bool is_gone(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string stat;
    if (!std::getline(file, stat) || stat.find(") Z ") != std::string::npos) {
      return true;
    }
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

TEST(NcclProcesses, AnswerEachMessageAndEndWhenTheConnectionDoes) {
  {
    const auto both = ranks("right");
    for (int i = 0; i < 1000; ++i) {
      both->ask("renew 1");
      EXPECT_EQ(both->answers(), (RankProcesses::Messages{"done", "done"}));
    }
    EXPECT_FALSE(both->failed());
    EXPECT_FALSE(both->outstanding());
  }
  EXPECT_FALSE(has_children());
}

struct Behaviour {
  const char* name;
  const char* failure;
};

class Failing : public testing::TestWithParam<Behaviour> {};

TEST_P(Failing, IsNamedWithWhatItDidAndLeavesNoProcess) {
  const auto both = ranks(GetParam().name);
  EXPECT_EQ(failure_of(*both), std::string("rank 1 (GPU a) ") + GetParam().failure);
  EXPECT_FALSE(has_children());
  EXPECT_EQ(failure_of(*both), std::string("rank 1 (GPU a) ") + GetParam().failure) << "later";
}

INSTANTIATE_TEST_SUITE_P(
    NcclProcesses, Failing,
    testing::Values(
        Behaviour{"killed", "was killed by SIGKILL"}, Behaviour{"crashes", "was killed by SIGSEGV"},
        Behaviour{"exits", "exited with status 3"},
        Behaviour{"stops", "gave no answer for 0.4 s: it is stopped, and was killed"},
        Behaviour{"silent", "gave no answer for 0.4 s, and was killed"},
        Behaviour{"hangs_up", "hung up, and was killed"},
        Behaviour{"garbage", "said '??? garbage?', which has no meaning here, and was killed"},
        Behaviour{"fails", "failed: ncclAllReduce: remote process exited, and was killed"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(NcclProcesses, OneWithAnotherNcclIsNamedWithItsVersion) {
  const auto both = ranks("other_version");
  both->ask("open 1");
  EXPECT_EQ(refusal<RankFailed>([&] { both->require_version("2.28.9"); }),
            "rank 1 (GPU a) has NCCL 2.19.3, and rank 0 has 2.28.9, and was killed");
  const auto same = ranks("right");
  same->ask("open 1");
  EXPECT_NO_THROW(same->require_version("2.28.9"));
}

TEST(NcclProcesses, AMessageThatIsTooLongIsRefused) {
  const auto both = ranks("long");
  EXPECT_NE(failure_of(*both).find("rank 1 (GPU a) said 'xxx"), std::string::npos);
}

TEST(NcclProcesses, AnAnswerThatNobodyAskedForIsRefusedAtTheNextMessage) {
  const auto both = ranks("twice");
  EXPECT_EQ(failure_of(*both), "");
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(failure_of(*both, "renew 1"),
            "rank 1 (GPU a) said 'done', which has no meaning here, and was killed");
}

TEST(NcclProcesses, ARankThatReadsNothingFillsItsPipeAndIsNamed) {
  RankProcesses deaf({{"rank 1 (GPU a)", {NCCL_FAKE_RANK, "deaf"}}}, patience);
  const std::string failure = refusal<RankFailed>([&] {
    for (int i = 0; i < 100'000; ++i) {
      deaf.ask(std::string(Channel::longest_message, 'x'));
    }
  });
  EXPECT_EQ(failure, "rank 1 (GPU a) took no message for 0.4 s, and was killed");
  EXPECT_FALSE(has_children());
}

TEST(NcclProcesses, OneThatDiesIsNamedAndNotAnotherThatSuffersFromIt) {
  const std::vector<RankProcesses::Command> commands{{"rank 1", {NCCL_FAKE_RANK, "fails"}},
                                                     {"rank 2", {NCCL_FAKE_RANK, "silent"}},
                                                     {"rank 3", {NCCL_FAKE_RANK, "killed"}}};
  RankProcesses three(commands, patience);
  EXPECT_EQ(failure_of(three), "rank 3 was killed by SIGKILL");
}

TEST(NcclProcesses, OneThatDiesBetweenMessagesIsNamedByTheNext) {
  const auto both = ranks("right");
  both->ask("pid");
  const pid_t pid = std::stoi(both->answers().front());
  kill(pid, SIGKILL);
  ASSERT_TRUE(is_gone(pid));
  EXPECT_EQ(failure_of(*both, "renew 1"), "rank 1 (GPU a) was killed by SIGKILL");
}

TEST(NcclProcesses, OneThatStaysAfterTheEndIsKilled) {
  const auto start = std::chrono::steady_clock::now();
  ranks("stays").reset();
  EXPECT_FALSE(has_children());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
}

TEST(NcclProcesses, AProgramThatIsMissingIsNamed) {
  const std::vector<RankProcesses::Command> missing{{"rank 1", {"/no/such/program"}}};
  EXPECT_EQ(refusal<std::runtime_error>([&] { const RankProcesses none(missing, patience); }),
            "rank 1 cannot be started: No such file or directory");
}

TEST(NcclProcesses, NoneOutlivesRankZeroThatIsKilled) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t rank_zero = fork();
  if (rank_zero == 0) {
    const auto both = ranks("right");
    both->ask("pid");
    const pid_t pid = std::stoi(both->answers().front());
    static_cast<void>(!write(ends[1], &pid, sizeof pid));
    while (true) {
      pause();
    }
  }
  pid_t pid = 0;
  ASSERT_EQ(read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  kill(rank_zero, SIGKILL);
  waitpid(rank_zero, nullptr, 0);
  EXPECT_TRUE(is_gone(pid));
  close(ends[0]);
  close(ends[1]);
}

TEST(NcclProcessesDeathTest, ACallThatDoesNotReturnEndsTheProcessAndNamesTheSilentRank) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const auto both = ranks("silent", milliseconds(300));
        both->ask("now");
        std::this_thread::sleep_for(std::chrono::seconds(20));  // as in NCCL
      },
      testing::ExitedWithCode(1), "^warpgauge: rank 1 \\(GPU a\\) gave no answer for 0.4 s, ");
  EXPECT_FALSE(has_children());
}

TEST(NcclProcesses, TheWatchdogEndsNothingAfterItWasDisarmed) {
  Watchdog watchdog;
  watchdog.arm(milliseconds(20), [] { return "nobody"; });
  watchdog.disarm();
  std::this_thread::sleep_for(milliseconds(60));
}

}  // namespace
}  // namespace warpgauge
