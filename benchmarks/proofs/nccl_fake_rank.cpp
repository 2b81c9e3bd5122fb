// SPDX-License-Identifier: Apache-2.0
// For nccl_processes_test: the process of a rank without NCCL, which behaves as argv[1] says once
// it is asked "now". Before, it answers "pid" by its own, "open" by a version, and all else by
// "done". What has done as it should, or sleeps from now on, makes the file argv[2].
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "benchmarks/nccl/processes.hpp"

using namespace warpgauge;

namespace {

[[noreturn]] void sleep_for_ever() {
  while (true) {
    pause();
  }
}

}  // namespace

int main(int, char** argv) {
  const std::string behaviour = argv[1];
  die_with_parent();
  Channel channel(rank_descriptor);
  const auto say = [&](const std::string& text) {
    channel.send(text, Channel::Clock::now() + std::chrono::hours(1));
  };
  const auto mark = [&] { std::ofstream(argv[2]).flush(); };
  if (behaviour == "deaf") {
    sleep_for_ever();
  }
  while (const auto received = channel.receive()) {
    const std::string does = *received == "now" ? behaviour : "right";
    if (*received == "pid") {
      say(std::to_string(getpid()));
    } else if (received->starts_with("open")) {
      say(behaviour == "other_version" ? "nccl 2.19.3" : "nccl 2.28.9");
    } else if (does == "killed") {
      raise(SIGKILL);
    } else if (does == "crashes") {
      std::signal(SIGSEGV, SIG_DFL);  // not a sanitizer's
      raise(SIGSEGV);
    } else if (does == "exits") {
      return 3;
    } else if (does == "stops") {
      raise(SIGSTOP);
    } else if (does == "silent") {
      mark();
      sleep_for_ever();
    } else if (does == "hangs_up") {
      channel.close();
      mark();
      sleep_for_ever();
    } else if (does == "garbage") {
      say(std::string("\0\x1b\xff garbage\n", 12));
      mark();
    } else if (does == "long") {
      const std::string longer(100'000, 'x');
      send(rank_descriptor, longer.data(), longer.size(), MSG_NOSIGNAL);
      mark();
    } else if (does == "twice") {
      say("done");
      say("done");
      mark();
    } else if (does == "fails") {
      say("failed ncclAllReduce: remote process exited");
      mark();
    } else {
      say("done");
      if (*received == "now") {
        mark();
      }
    }
  }
  return 0;
}
