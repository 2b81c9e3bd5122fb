// SPDX-License-Identifier: Apache-2.0
// Ranks that die, hang or talk nonsense are named and leave nothing behind. With real processes.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <array>
#include <fstream>

#include <warpgauge/testing/refusal.hpp>
#include "benchmarks/nccl/processes.hpp"

namespace warpgauge {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds patience{400};

/// Rank i behaves as `behaviours[i - 1]` says.
std::vector<RankProcesses::Command> that(const std::vector<std::string>& behaviours) {
  std::vector<RankProcesses::Command> commands;
  for (const std::string& behaviour : behaviours) {
    commands.push_back(
        {"rank " + std::to_string(commands.size() + 1), {NCCL_FAKE_RANK, behaviour}});
  }
  return commands;
}

/// Rank 1 behaves as this says, rank 2 as it should.
std::unique_ptr<RankProcesses> ranks(const std::string& behaviour,
                                     milliseconds patient = patience) {
  auto commands = that({behaviour, "right"});
  commands[0].name += " (GPU a)";
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
        Behaviour{"stops", "is stopped; all ranks were killed"},
        Behaviour{"silent", "gave no answer for 0.4 s; all ranks were killed"},
        Behaviour{"hangs_up", "hung up; all ranks were killed"},
        Behaviour{"garbage",
                  "said '??? garbage?', which has no meaning here; all ranks were killed"},
        Behaviour{"fails", "failed: ncclAllReduce: remote process exited; all ranks were killed"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(NcclProcesses, OneWithAnotherNcclIsNamedWithItsVersion) {
  const auto both = ranks("other_version");
  both->ask("open 1");
  EXPECT_EQ(refusal<RankFailed>([&] { both->require_version("2.28.9"); }),
            "rank 1 (GPU a) has NCCL 2.19.3, and rank 0 has 2.28.9; all ranks were killed");
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
            "rank 1 (GPU a) said 'done', which has no meaning here; all ranks were killed");
}

TEST(NcclProcesses, ARankThatReadsNothingFillsItsPipeAndIsNamed) {
  RankProcesses deaf(that({"deaf"}), patience);
  const std::string failure = refusal<RankFailed>([&] {
    for (int i = 0; i < 100'000; ++i) {
      deaf.ask(std::string(Channel::longest_message, 'x'));
    }
  });
  EXPECT_EQ(failure, "rank 1 took no message for 0.4 s; all ranks were killed");
  EXPECT_FALSE(has_children());
}

TEST(NcclProcesses, OneThatDiesIsNamedAndNotAnotherThatSuffersFromIt) {
  RankProcesses three(that({"fails", "silent", "killed"}), patience);
  EXPECT_EQ(failure_of(three), "rank 3 was killed by SIGKILL");
}

TEST(NcclProcesses, OneThatIsStoppedIsNamedAndNotOneThatFails) {
  RankProcesses both(that({"fails", "stops"}), patience);
  EXPECT_EQ(failure_of(both), "rank 2 is stopped; all ranks were killed");
}

TEST(NcclProcesses, OneThatFailsIsNamedAndNotThoseThatAreSilent) {
  RankProcesses three(that({"silent", "silent", "fails"}), patience);
  EXPECT_EQ(failure_of(three),
            "rank 3 failed: ncclAllReduce: remote process exited; all ranks were killed");
}

TEST(NcclProcesses, AllThatAreSilentAreNamed) {
  RankProcesses three(that({"silent", "right", "silent"}), patience);
  EXPECT_EQ(failure_of(three), "rank 1 and rank 3 gave no answer for 0.4 s; all ranks were killed");
}

// An error of rank 0's own call, which a rank may have caused.
TEST(NcclProcesses, AfterAnErrorOfRankZeroTheRankThatFailedIsNamedAndOthersKeepTheirAnswers) {
  const auto failing = ranks("fails");
  failing->ask("now");
  EXPECT_EQ(refusal<RankFailed>([&] { failing->require_alive(); }),
            "rank 1 (GPU a) failed: ncclAllReduce: remote process exited; all ranks were killed");
  const auto hung_up = ranks("hangs_up");
  hung_up->ask("now");
  EXPECT_EQ(refusal<RankFailed>([&] { hung_up->require_alive(); }),
            "rank 1 (GPU a) hung up; all ranks were killed");
  const auto killed = ranks("killed");
  killed->ask("now");
  EXPECT_EQ(refusal<RankFailed>([&] { killed->require_alive(); }),
            "rank 1 (GPU a) was killed by SIGKILL");
  const auto right = ranks("right", std::chrono::seconds(20));
  right->ask("now");
  EXPECT_NO_THROW(right->require_alive());
  EXPECT_EQ(right->answers(), (RankProcesses::Messages{"done", "done"}));
}

TEST(NcclProcesses, OneThatDiesBetweenMessagesIsNamedByTheNext) {
  const auto both = ranks("right");
  both->ask("pid");
  const pid_t pid = std::stoi(both->answers().front());
  kill(pid, SIGKILL);
  ASSERT_TRUE(is_gone(pid));
  EXPECT_EQ(failure_of(*both, "renew 1"), "rank 1 (GPU a) was killed by SIGKILL");
}

TEST(NcclProcesses, EndAtOnceWhateverTheyDo) {
  for (const char* behaviour : {"right", "deaf", "silent", "stops"}) {
    auto both = ranks(behaviour, std::chrono::minutes(1));
    both->ask("now");
    const auto start = std::chrono::steady_clock::now();
    both.reset();
    EXPECT_FALSE(has_children()) << behaviour;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2)) << behaviour;
  }
}

/// As the system prints them.
std::string cpus_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/status");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("Cpus_allowed:")) {
  }
  return line;
}

// As in lock-step, where the driver does so after the start.
TEST(NcclProcesses, MayUseTheCpusOfTheStartAlthoughThisProcessHasOne) {
  const std::string at_start = cpus_of("self");
  const cpu_set_t before = allowed_cpus();
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const std::string pinned = cpus_of("self");
  const auto both = ranks("right");
  EXPECT_EQ(cpus_of("self"), pinned);
  sched_setaffinity(0, sizeof before, &before);
  both->ask("pid");
  for (const std::string& pid : both->answers()) {
    EXPECT_EQ(cpus_of(pid), at_start);
  }
}

TEST(NcclProcesses, AProgramThatIsMissingIsNamed) {
  const std::vector<RankProcesses::Command> missing{{"rank 1", {"/no/such/program"}}};
  EXPECT_EQ(refusal<std::runtime_error>([&] { const RankProcesses none(missing, patience); }),
            "rank 1 cannot be started: No such file or directory");
}

// The second does not look at its channel, as in a call into NCCL that waits for rank 0.
class Outliving : public testing::TestWithParam<const char*> {};

TEST_P(Outliving, IsNoRankWhenRankZeroIsKilled) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t rank_zero = fork();
  if (rank_zero == 0) {
    const auto both = ranks(GetParam(), std::chrono::minutes(1));
    both->ask("pid");
    const pid_t pid = std::stoi(both->answers().front());
    both->ask("now");
    std::this_thread::sleep_for(milliseconds(100));  // so that they have taken it
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

INSTANTIATE_TEST_SUITE_P(NcclProcesses, Outliving, testing::Values("right", "silent"),
                         [](const auto& one) { return std::string(one.param); });

/// A call of rank 0 that does not return, as in NCCL, while rank 1 is silent because rank 2 behaves
/// as this says.
[[noreturn]] void stay_while(const std::string& behaviour) {
  RankProcesses both(that({"silent", behaviour}), milliseconds(300));
  both.ask("now");
  std::this_thread::sleep_for(std::chrono::seconds(20));
  std::_Exit(0);
}

class StuckDeathTest : public testing::TestWithParam<Behaviour> {};

TEST_P(StuckDeathTest, EndsTheProcessAndNamesTheCause) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::string expected =
      std::string("^warpgauge: ") + GetParam().failure + ", and rank 0 cannot go on\n$";
  EXPECT_EXIT(stay_while(GetParam().name), testing::ExitedWithCode(1), expected);
  EXPECT_FALSE(has_children());
}

INSTANTIATE_TEST_SUITE_P(
    NcclProcesses, StuckDeathTest,
    testing::Values(Behaviour{"right", "rank 1 gave no answer for 0.4 s"},
                    Behaviour{"silent", "rank 1 and rank 2 gave no answer for 0.4 s"},
                    Behaviour{"killed", "rank 2 was killed by SIGKILL"},
                    Behaviour{"stops", "rank 2 is stopped"},
                    Behaviour{"fails", "rank 2 failed: ncclAllReduce: remote process exited"},
                    Behaviour{"hangs_up", "rank 2 hung up"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(NcclProcesses, TheWatchdogEndsNothingAfterItWasDisarmed) {
  Watchdog watchdog;
  watchdog.arm(milliseconds(20), [] { return "nobody"; });
  watchdog.disarm();
  std::this_thread::sleep_for(milliseconds(60));
}

}  // namespace
}  // namespace warpgauge
