// SPDX-License-Identifier: Apache-2.0
// The processes of the other ranks: started, asked, and contained. Needs no NCCL or device.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/nccl/cause.hpp"
#include "benchmarks/nccl/child_process.hpp"
#include "benchmarks/nccl/cpus_at_start.hpp"
#include "benchmarks/nccl/watchdog.hpp"

namespace warpgauge {

/// A rank that died, hangs, or does not do what it is told; `what()` names it and says how.
class RankFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The descriptor of a rank's channel in its process.
inline constexpr int rank_descriptor = 3;

/// Ranks 1 and up. They answer each message with one. After a failure all of them are killed, and
/// every further call throws it again.
class RankProcesses {
 public:
  struct Command {
    std::string name;  ///< "rank 1 (GPU-...)"
    std::vector<std::string> arguments;
  };
  using Clock = Channel::Clock;
  using Messages = std::vector<std::string>;

  /// Starts them. A rank that takes longer than `patience` to take a message or to answer hangs.
  /// This process may take a third longer from ask() to answers().
  RankProcesses(const std::vector<Command>& commands, std::chrono::milliseconds patience)
      : patience_(patience) {
    const OnCpusOfStart all;
    for (const Command& command : commands) {
      processes_.emplace_back(command.name, command.arguments, rank_descriptor);
    }
  }
  /// Kills them: they have nothing to save.
  ~RankProcesses() {
    watchdog_.disarm();
    kill_all();
  }
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  std::size_t count() const { return processes_.size(); }
  bool failed() const { return !failure_.empty(); }
  /// Asked, and not all answers taken.
  bool outstanding() const { return outstanding_; }

  /// Sends each rank its message, `messages[0]` to rank 1.
  void ask(const Messages& messages) {
    require_sound();
    for (std::size_t i = 0; i < count(); ++i) {
      if (processes_[i].channel().wait(Clock::now())) {
        outstanding_ = true;
        const auto unasked = processes_[i].channel().receive();
        const std::string fault = fault_in(unasked);
        fault.empty() ? refuse(i, unasked.value_or("")) : blame(i, fault);
      }
    }
    outstanding_ = true;
    asked_ = Clock::now();
    const std::chrono::milliseconds longest = patience_ + patience_ / 3;
    watchdog_.arm(longest, [this, longest] { return why_stuck(longest); });
    for (std::size_t i = 0; i < count(); ++i) {
      if (!processes_[i].channel().send(messages[i], asked_ + patience_)) {
        blame(i, "took no message for " + seconds(patience_));
      }
    }
  }
  void ask(const std::string& message) { ask(Messages(count(), message)); }

  /// Waits for an answer from each rank. Throws RankFailed.
  Messages answers() {
    require_sound();
    Messages answers(count());
    std::vector<bool> has_answered(count());
    for (std::size_t left = count(); left > 0; --left) {
      const std::size_t i = next_to_answer(has_answered);
      has_answered[i] = true;
      const std::optional<std::string> answer = processes_[i].channel().receive();
      if (const std::string fault = fault_in(answer); !fault.empty()) {
        blame(i, fault);
      }
      answers[i] = answer.value_or("");  // there is one: no fault in it
    }
    outstanding_ = false;
    watchdog_.disarm();
    return answers;
  }

  /// The same, where each rank has to answer `expected`.
  void expect(const std::string& expected) {
    const Messages got = answers();
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] != expected) {
        refuse(i, got[i]);
      }
    }
  }

  /// The same for the answers to "open": the version of each rank's NCCL.
  void require_version(const std::string& version) {
    const std::string word = version_word;
    const Messages got = answers();
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!got[i].starts_with(word)) {
        refuse(i, got[i]);
      }
      if (got[i] != word + version) {
        blame(i,
              "has NCCL " + printable(got[i].substr(word.size())) + ", and rank 0 has " + version);
      }
    }
  }

  /// Throws RankFailed for rank i + 1, which gave this answer.
  [[noreturn]] void refuse(std::size_t i, const std::string& answer) {
    blame(i, "said '" + printable(answer) + "', which has no meaning here");
  }

  /// The same; `how` says what it did. Another rank is named instead if it is the cause.
  [[noreturn]] void blame(std::size_t i, const std::string& how) {
    blame_unless_other(processes_[i].name() + " " + how);
  }

  /// Throws if a rank has ended, failed or hung up; for an error of this process that one may have
  /// caused. Takes no answer.
  void require_alive() {
    constexpr std::chrono::seconds to_be_seen{1};
    require_sound();
    const auto until = Clock::now() + to_be_seen;
    do {
      for (std::size_t i = 0; i < count(); ++i) {
        if (const std::string fault = fault_of(processes_[i]); !fault.empty()) {
          blame(i, fault);
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } while (Clock::now() < until);
  }

  /// Kills all of them, and waits until they are gone: some seconds in all, however often it is
  /// called. The system may need longer for one that is stuck in a driver.
  void kill_all() noexcept {
    constexpr std::chrono::seconds to_die{4};  // a side in lock-step has 10 s to end
    for (const ChildProcess& process : processes_) {
      process.kill();
    }
    dead_by_ = dead_by_.value_or(Clock::now() + to_die);
    for (ChildProcess& process : processes_) {
      process.reap(*dead_by_);
    }
  }

  /// For the watchdog, which interrupts a call of another thread that does not return: whom to
  /// blame, in the same order. Kills all, and takes no answer.
  std::string why_stuck(std::chrono::milliseconds time) const {
    const std::string silent = silent_ones(processes_, std::vector<bool>(count()), time);
    const std::string end = ended_one(processes_);
    const std::string why = end.empty() ? living_cause(processes_, silent) : end;
    for (const ChildProcess& process : processes_) {
      process.kill();
    }
    return why + ", and rank 0 cannot go on";
  }

  /// Ends this process if disarm() does not come first; see Watchdog.
  Watchdog& watchdog() { return watchdog_; }

  static constexpr const char* version_word = "nccl ";

 private:
  /// Waits for the first of those that have not answered. In any order: where one fails, the others
  /// may wait for it.
  std::size_t next_to_answer(const std::vector<bool>& has_answered) {
    std::vector<pollfd> polled;
    for (std::size_t i = 0; i < count(); ++i) {
      // Negative descriptors are ignored (poll(2)).
      const int descriptor = processes_[i].channel().descriptor();
      polled.push_back({has_answered[i] ? -1 : descriptor, POLLIN, 0});
    }
    const auto found = [](const pollfd& one) { return one.revents != 0; };
    const auto until = asked_ + patience_;
    while (true) {
      const int ready = poll(polled.data(), polled.size(), Channel::milliseconds_until(until));
      if (ready > 0) {
        const auto first = std::find_if(polled.begin(), polled.end(), found);
        return static_cast<std::size_t>(first - polled.begin());
      }
      if (Clock::now() >= until) {
        blame_unless_other(silent_ones(processes_, has_answered, patience_));
      }
    }
  }

  /// Fails. Ranks wait for each other, and this one for all. So the first of these is blamed: a
  /// rank that has ended, one that is stopped, one that says that it failed, and `otherwise`.
  [[noreturn]] void blame_unless_other(const std::string& otherwise) {
    constexpr std::chrono::milliseconds to_be_seen{300};
    watchdog_.disarm();
    const auto until = Clock::now() + to_be_seen;
    std::string end = ended_one(processes_);
    while (end.empty() && Clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      end = ended_one(processes_);
    }
    fail(end.empty() ? living_cause(processes_, otherwise) + "; all ranks were killed" : end);
  }

  void require_sound() const {
    if (failed()) {
      throw RankFailed(failure_);
    }
  }

  [[noreturn]] void fail(const std::string& failure) {
    failure_ = failure;
    kill_all();
    throw RankFailed(failure_);
  }

  std::chrono::milliseconds patience_;
  std::vector<ChildProcess> processes_;
  Clock::time_point asked_;
  bool outstanding_ = false;
  std::string failure_;
  std::optional<Clock::time_point> dead_by_;
  Watchdog watchdog_;  // last: it ends before what it looks at
};

}  // namespace warpgauge
