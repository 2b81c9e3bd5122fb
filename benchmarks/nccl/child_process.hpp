// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "benchmarks/nccl/channel.hpp"

namespace warpgauge {

/// For the child: it is killed when the thread that started it ends, whatever it does then. The end
/// of its channel would not reach it in a call into NCCL that waits for a rank that is gone.
inline void die_with_parent() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/// A child process with a channel to it; killed at the end, which does not wait for it: to do so,
/// call reap(). Move-only.
class ChildProcess {
 public:
  using Clock = Channel::Clock;

  /// Starts `arguments` with the other end of the channel as `descriptor`, which is the first after
  /// the standard ones; it inherits no other. Its output goes to our standard error. Throws
  /// std::runtime_error.
  ChildProcess(std::string name, const std::vector<std::string>& arguments, int descriptor)
      : ChildProcess(std::move(name), arguments, descriptor, Channel::pair()) {}
  ~ChildProcess() {
    kill();
    reap(Clock::now());
  }
  ChildProcess(ChildProcess&& other) noexcept
      : name_(std::move(other.name_)),
        channel_(std::move(other.channel_)),
        pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  const std::string& name() const { return name_; }
  const Channel& channel() const { return channel_; }

  /// How it ended by itself; empty if it has not, or after reap().
  std::string ended() const {
    siginfo_t info{};
    if (pid_ < 0 ||
        waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0) {
      return "";
    }
    if (info.si_code == CLD_EXITED) {
      return "exited with status " + std::to_string(info.si_status);
    }
    const char* const name = sigabbrev_np(info.si_status);
    return "was killed by " + (name != nullptr ? std::string("SIG") + name
                                               : "signal " + std::to_string(info.si_status));
  }

  /// Whether a signal such as SIGSTOP has stopped it.
  bool is_stopped() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t end = stat.rfind(") ");  // of its name (proc(5)); its state is next
    return end != std::string::npos && end + 2 < stat.size() && stat[end + 2] == 'T';
  }

  void kill() const noexcept {
    if (pid_ >= 0) {
      ::kill(pid_, SIGKILL);
    }
  }

  /// Waits until it has ended, or until then.
  void reap(Clock::time_point until) noexcept {
    while (pid_ >= 0) {
      if (waitpid(pid_, nullptr, WNOHANG) != 0) {
        pid_ = -1;
      } else if (Clock::now() >= until) {
        return;
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    }
  }

 private:
  ChildProcess(std::string name, const std::vector<std::string>& arguments, int descriptor,
               std::pair<Channel, Channel> ends)
      : name_(std::move(name)), channel_(std::move(ends.first)) {
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // It must not keep open what others wait for the end of.
    posix_spawn_file_actions_adddup2(&actions, ends.second.descriptor(), descriptor);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, descriptor + 1);
    const int fault = posix_spawn(&pid_, argv.front(), &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (fault != 0) {
      pid_ = -1;
      throw std::runtime_error(name_ + " cannot be started: " + std::strerror(fault));
    }
  }

  std::string name_;
  Channel channel_;
  pid_t pid_ = -1;
};

}  // namespace warpgauge
