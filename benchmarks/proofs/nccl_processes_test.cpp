// SPDX-License-Identifier: Apache-2.0
// Ranks that die, hang or talk nonsense are named and leave nothing behind. With real processes.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>

#include <warpgauge/testing/refusal.hpp>
#include "benchmarks/nccl/processes.hpp"

namespace warpgauge {
namespace {

using std::chrono::milliseconds;

// Where no rank is waited for to the end: however busy the machine is.
constexpr milliseconds patience = std::chrono::hours(1);
// Of a rank that does nothing. The watchdog, which this process must not keep waiting for, adds 1
// s.
constexpr milliseconds impatience{3000};

/// Made by rank `i` once it has done what it is there for.
std::string mark_of(std::size_t i) {
  return testing::TempDir() + "warpgauge_nccl_rank_" + std::to_string(i);
}

/// Rank i behaves as `behaviours[i - 1]` says.
std::vector<RankProcesses::Command> that(const std::vector<std::string>& behaviours) {
  std::vector<RankProcesses::Command> commands;
  for (const std::string& behaviour : behaviours) {
    const std::size_t i = commands.size() + 1;
    std::remove(mark_of(i).c_str());
    commands.push_back({"rank " + std::to_string(i), {NCCL_FAKE_RANK, behaviour, mark_of(i)}});
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

/// The letter of proc(5) for what the process does; Z where it is gone.
char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t end = stat.rfind(") ");
  return end == std::string::npos ? 'Z' : stat[end + 2];
}

template <class Condition>
void wait_until(const Condition& condition) {
  while (!condition()) {
    std::this_thread::sleep_for(milliseconds(2));
  }
}

void wait_until_gone(pid_t pid) {
  wait_until([pid] { return state_of(pid) == 'Z'; });
}

/// In the order in which they were started.
std::vector<pid_t> children() {
  std::ifstream file("/proc/thread-self/children");
  return {std::istream_iterator<pid_t>(file), {}};
}

/// Asks, and returns once every rank has done what it does.
void ask_and_see(RankProcesses& ranks) {
  const std::vector<pid_t> pids = children();
  ranks.ask("now");
  ranks.watchdog().disarm();
  for (std::size_t i = 0; i < pids.size(); ++i) {
    wait_until([&] {
      const char state = state_of(pids[i]);
      return state == 'Z' || state == 'T' || std::ifstream(mark_of(i + 1)).good();
    });
  }
}

/// As failure_of, but no answer is taken before every rank has done what it does.
std::string failure_seen(RankProcesses& ranks) {
  ask_and_see(ranks);
  return refusal<RankFailed>([&] { ranks.expect("done"); });
}

std::string failure_seen(const std::vector<std::string>& behaviours,
                         milliseconds patient = patience) {
  RankProcesses ranks(that(behaviours), patient);
  return failure_seen(ranks);
}

bool has_children() {
  return waitpid(-1, nullptr, WNOHANG) == 0;
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
  EXPECT_EQ(failure_seen(*both), std::string("rank 1 (GPU a) ") + GetParam().failure);
  EXPECT_FALSE(has_children());
  EXPECT_EQ(failure_of(*both), std::string("rank 1 (GPU a) ") + GetParam().failure) << "later";
}

INSTANTIATE_TEST_SUITE_P(
    NcclProcesses, Failing,
    testing::Values(
        Behaviour{"killed", "was killed by SIGKILL"}, Behaviour{"crashes", "was killed by SIGSEGV"},
        Behaviour{"exits", "exited with status 3"},
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
  EXPECT_EQ(failure_seen(*both), "");
  EXPECT_EQ(failure_of(*both, "renew 1"),
            "rank 1 (GPU a) said 'done', which has no meaning here; all ranks were killed");
}

TEST(NcclProcesses, ARankThatReadsNothingFillsItsPipeAndIsNamed) {
  RankProcesses deaf(that({"deaf"}), impatience);
  const std::string failure = refusal<RankFailed>([&] {
    for (int i = 0; i < 100'000; ++i) {
      deaf.ask(std::string(Channel::longest_message, 'x'));
    }
  });
  EXPECT_EQ(failure, "rank 1 took no message for 3 s; all ranks were killed");
  EXPECT_FALSE(has_children());
}

TEST(NcclProcesses, OneThatDiesIsNamedAndNotAnotherThatSuffersFromIt) {
  EXPECT_EQ(failure_seen({"fails", "silent", "killed"}), "rank 3 was killed by SIGKILL");
}

TEST(NcclProcesses, OneThatIsStoppedIsNamed) {
  EXPECT_EQ(failure_seen({"stops", "right"}, impatience),
            "rank 1 is stopped; all ranks were killed");
  EXPECT_FALSE(has_children());
}

TEST(NcclProcesses, OneThatIsStoppedIsNamedAndNotOneThatFails) {
  EXPECT_EQ(failure_seen({"fails", "stops"}), "rank 2 is stopped; all ranks were killed");
}

TEST(NcclProcesses, OneThatFailsIsNamedAndNotThoseThatAreSilent) {
  EXPECT_EQ(failure_seen({"silent", "silent", "fails"}),
            "rank 3 failed: ncclAllReduce: remote process exited; all ranks were killed");
}

TEST(NcclProcesses, AllThatAreSilentAreNamed) {
  EXPECT_EQ(failure_seen({"silent", "right", "silent"}, impatience),
            "rank 1 and rank 3 gave no answer for 3 s; all ranks were killed");
  EXPECT_FALSE(has_children());
}

// An error of rank 0's own call, which a rank may have caused.
TEST(NcclProcesses, AfterAnErrorOfRankZeroTheRankThatFailedIsNamedAndOthersKeepTheirAnswers) {
  const auto blamed = [](const std::string& behaviour) {
    const auto both = ranks(behaviour);
    ask_and_see(*both);
    return refusal<RankFailed>([&] { both->require_alive(); });
  };
  EXPECT_EQ(blamed("fails"),
            "rank 1 (GPU a) failed: ncclAllReduce: remote process exited; all ranks were killed");
  EXPECT_EQ(blamed("hangs_up"), "rank 1 (GPU a) hung up; all ranks were killed");
  EXPECT_EQ(blamed("killed"), "rank 1 (GPU a) was killed by SIGKILL");
  const auto right = ranks("right");
  ask_and_see(*right);
  EXPECT_NO_THROW(right->require_alive());
  EXPECT_EQ(right->answers(), (RankProcesses::Messages{"done", "done"}));
}

TEST(NcclProcesses, OneThatDiesBetweenMessagesIsNamedByTheNext) {
  const auto both = ranks("right");
  both->ask("pid");
  const pid_t pid = std::stoi(both->answers().front());
  kill(pid, SIGKILL);
  wait_until_gone(pid);
  EXPECT_EQ(failure_of(*both, "renew 1"), "rank 1 (GPU a) was killed by SIGKILL");
}

// Not after an hour.
TEST(NcclProcesses, EndAtOnceWhateverTheyDo) {
  for (const char* behaviour : {"right", "deaf", "silent", "stops"}) {
    auto both = ranks(behaviour);
    both->ask("now");
    both.reset();
    EXPECT_FALSE(has_children()) << behaviour;
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
    const auto both = ranks(GetParam());
    const pid_t pid = children().front();
    ask_and_see(*both);
    static_cast<void>(!write(ends[1], &pid, sizeof pid));
    while (true) {
      pause();
    }
  }
  pid_t pid = 0;
  ASSERT_EQ(read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  kill(rank_zero, SIGKILL);
  waitpid(rank_zero, nullptr, 0);
  wait_until_gone(pid);
  close(ends[0]);
  close(ends[1]);
}

INSTANTIATE_TEST_SUITE_P(NcclProcesses, Outliving, testing::Values("right", "silent"),
                         [](const auto& one) { return std::string(one.param); });

// Where a call of rank 0 does not return, as in NCCL.
class Stuck : public testing::TestWithParam<Behaviour> {};

TEST_P(Stuck, IsRankZeroBecauseOfTheCause) {
  RankProcesses both(that({"silent", GetParam().name}), patience);
  ask_and_see(both);
  EXPECT_EQ(both.why_stuck(milliseconds(400)),
            std::string(GetParam().failure) + ", and rank 0 cannot go on");
  both.kill_all();
  EXPECT_FALSE(has_children());
}

INSTANTIATE_TEST_SUITE_P(
    NcclProcesses, Stuck,
    testing::Values(Behaviour{"right", "rank 1 gave no answer for 0.4 s"},
                    Behaviour{"silent", "rank 1 and rank 2 gave no answer for 0.4 s"},
                    Behaviour{"killed", "rank 2 was killed by SIGKILL"},
                    Behaviour{"stops", "rank 2 is stopped"},
                    Behaviour{"fails", "rank 2 failed: ncclAllReduce: remote process exited"},
                    Behaviour{"hangs_up", "rank 2 hung up"}),
    [](const auto& one) { return std::string(one.param.name); });

[[noreturn]] void stay() {
  RankProcesses both(that({"silent", "silent"}), milliseconds(300));
  both.ask("now");
  while (true) {
    pause();
  }
}

TEST(StuckDeathTest, EndsTheProcessAndNamesTheCause) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(stay(), testing::ExitedWithCode(1),
              "^warpgauge: rank 1 and rank 2 gave no answer for 0.4 s, and rank 0 cannot go on\n$");
  EXPECT_FALSE(has_children());
}

TEST(NcclProcesses, TheWatchdogEndsNothingAfterItWasDisarmed) {
  constexpr std::chrono::seconds armed{2};
  Watchdog watchdog;
  watchdog.arm(armed, [] { return "nobody"; });
  watchdog.disarm();
  std::this_thread::sleep_for(armed + milliseconds(100));
}

}  // namespace
}  // namespace warpgauge
