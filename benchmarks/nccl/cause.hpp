// SPDX-License-Identifier: Apache-2.0
// Why ranks do not go on. They wait for each other, so that most of what can be seen is no cause.
// In this order one is: a rank that has ended, one that is stopped, one that says that it failed,
// and one that says nothing. These functions take no answer.
#pragma once

#include <algorithm>
#include <cctype>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <warpgauge/core/units.hpp>
#include "benchmarks/nccl/child_process.hpp"

namespace warpgauge {

/// Begins the answer of a rank that failed; the reason follows.
inline constexpr std::string_view failed_word = "failed ";

inline std::string seconds(std::chrono::milliseconds time) {
  return formatted("%.3g s", std::chrono::duration<double>(time).count());
}

/// A rank's text, as it can stand in a message.
inline std::string printable(std::string text) {
  constexpr std::size_t longest = 400;
  text = text.substr(0, longest);
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return !std::isprint(c); }, '?');
  return text;
}

/// What a rank's answer, or the end of its channel (nullopt), says against it; empty if nothing.
inline std::string fault_in(const std::optional<std::string>& answer) {
  if (!answer) {
    return "hung up";
  }
  return answer->starts_with(failed_word)
             ? "failed: " + printable(answer->substr(failed_word.size()))
             : "";
}

/// The same for the answer that waits to be taken, if one does.
inline std::string fault_of(const ChildProcess& process) {
  const Channel& channel = process.channel();
  return channel.wait(Channel::Clock::now()) ? fault_in(channel.peek()) : "";
}

/// "rank 1 (GPU-...) and rank 2 (GPU-...) gave no answer for 30 s"
inline std::string silent_ones(const std::vector<ChildProcess>& processes,
                               const std::vector<bool>& has_answered,
                               std::chrono::milliseconds time) {
  std::string names;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (!has_answered[i] && !processes[i].channel().wait(Channel::Clock::now())) {
      names += (names.empty() ? "" : " and ") + processes[i].name();
    }
  }
  return (names.empty() ? "NCCL or CUDA in rank 0" : names) + " gave no answer for " +
         seconds(time);
}

/// "rank 1 (GPU-...) was killed by SIGSEGV"; empty if none has ended.
inline std::string ended_one(const std::vector<ChildProcess>& processes) {
  for (const ChildProcess& process : processes) {
    if (const std::string end = process.ended(); !end.empty()) {
      return process.name() + " " + end;
    }
  }
  return "";
}

/// The rank that is stopped, or else one whose waiting answer says that it failed, or else
/// `otherwise`.
inline std::string living_cause(const std::vector<ChildProcess>& processes,
                                const std::string& otherwise) {
  for (const ChildProcess& process : processes) {
    if (process.is_stopped()) {
      return process.name() + " is stopped";
    }
  }
  for (const ChildProcess& process : processes) {
    if (const std::string fault = fault_of(process); !fault.empty()) {
      return process.name() + " " + fault;
    }
  }
  return otherwise;
}

}  // namespace warpgauge
