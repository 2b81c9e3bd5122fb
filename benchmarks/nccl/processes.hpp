// SPDX-License-Identifier: Apache-2.0
// The processes of the other ranks: started, asked, and contained. Needs no NCCL or device.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstring>
#include <thread>
#include <vector>

#include <warpgauge/core/units.hpp>
#include "benchmarks/nccl/child_process.hpp"
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
    for (const Command& command : commands) {
      processes_.emplace_back(command.name, command.arguments, rank_descriptor);
    }
  }
  /// Hangs up, which ends them, and kills those that go on.
  ~RankProcesses() {
    constexpr std::chrono::seconds to_end{3};
    for (ChildProcess& process : processes_) {
      process.hang_up();
    }
    const auto until = Clock::now() + to_end;
    for (ChildProcess& process : processes_) {
      process.reap(until);
    }
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
        unasked ? refuse(i, *unasked) : blame(i, "hung up");
      }
    }
    outstanding_ = true;
    asked_ = Clock::now();
    watchdog_.arm(patience_ + patience_ / 3, [this] { return silent_names(); });
    for (std::size_t i = 0; i < count(); ++i) {
      if (!processes_[i].channel().send(messages[i], asked_ + patience_)) {
        blame(i, "took no message for " + patience());
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
      if (!answer) {
        blame(i, "hung up");
      }
      if (answer->starts_with(failed_word)) {
        blame(i, "failed: " + printable(answer->substr(std::strlen(failed_word))));
      }
      answers[i] = *answer;
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

  /// The same; `how` says what it did.
  [[noreturn]] void blame(std::size_t i, const std::string& how) {
    constexpr std::chrono::milliseconds to_be_seen{300};
    watchdog_.disarm();
    // Ranks wait for each other: one that died or was stopped is the cause of what others say.
    const auto until = Clock::now() + to_be_seen;
    do {
      for (const ChildProcess& process : processes_) {
        if (const std::string end = process.ended(); !end.empty()) {
          fail(process.name() + " " + end);
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } while (Clock::now() < until);
    for (const ChildProcess& process : processes_) {
      if (process.is_stopped()) {
        fail(process.name() + " " + how + ": it is stopped, and was killed");
      }
    }
    fail(processes_[i].name() + " " + how + ", and was killed");
  }

  /// Throws if a rank has ended; for an error of this process that one may have caused.
  void require_alive() {
    constexpr std::chrono::seconds to_be_seen{1};
    require_sound();
    for (std::size_t i = 0; i < count(); ++i) {
      if (processes_[i].channel().wait(Clock::now() + to_be_seen / static_cast<int>(count())) &&
          !processes_[i].channel().receive()) {
        blame(i, "hung up");
      }
    }
  }

  /// Kills all of them, and waits until they are gone.
  void kill_all() noexcept {
    constexpr std::chrono::seconds to_die{10};
    for (const ChildProcess& process : processes_) {
      process.kill();
    }
    const auto until = Clock::now() + to_die;
    for (ChildProcess& process : processes_) {
      process.reap(until);
    }
  }

  /// Ends this process if disarm() does not come first; see Watchdog.
  Watchdog& watchdog() { return watchdog_; }

  static constexpr const char* failed_word = "failed ";
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
    const auto silent = [](const pollfd& one) { return one.fd >= 0; };
    const auto until = asked_ + patience_;
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
      const int ready = poll(polled.data(), polled.size(), static_cast<int>(std::max(0L, left)));
      const auto first = ready > 0   ? std::find_if(polled.begin(), polled.end(), found)
                         : left <= 0 ? std::find_if(polled.begin(), polled.end(), silent)
                                     : polled.end();
      if (first != polled.end()) {
        const auto i = static_cast<std::size_t>(first - polled.begin());
        if (ready <= 0) {
          blame(i, "gave no answer for " + patience());
        }
        return i;
      }
    }
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

  /// Of the ranks that have not answered; for the watchdog, which interrupts a call of another
  /// thread that does not return.
  std::string silent_names() {
    std::string names;
    for (const ChildProcess& process : processes_) {
      if (!process.channel().wait(Clock::now())) {
        names += (names.empty() ? "" : " and ") + process.name();
      }
    }
    kill_all();
    return names.empty() ? "NCCL or CUDA in rank 0" : names;
  }

  std::string patience() const {
    return formatted("%.3g s", std::chrono::duration<double>(patience_).count());
  }

  static std::string printable(std::string text) {
    constexpr std::size_t longest = 400;
    text = text.substr(0, longest);
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return !std::isprint(c); }, '?');
    return text;
  }

  std::chrono::milliseconds patience_;
  std::vector<ChildProcess> processes_;
  Clock::time_point asked_;
  bool outstanding_ = false;
  std::string failure_;
  Watchdog watchdog_;  // last: it ends before what it looks at
};

}  // namespace warpgauge
