// SPDX-License-Identifier: Apache-2.0
// Controls without a GPU: when these move, the machine is noisy, not the GPU slow. Bound by the
// host's memory, its clock source and its scheduler.
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "fixtures/host_benchmark.hpp"
#include "fixtures/pageable_memory.hpp"

namespace {

using namespace warpgauge;

void memory_copy(HostCase& host) {
  const std::size_t bytes = host.param("bytes");
  const PageableMemory source = allocate_pageable(bytes);
  const PageableMemory target = allocate_pageable(bytes);
  std::memset(source.get(), 0x5a, bytes);
  const auto copy = [&] { std::memcpy(target.get(), source.get(), bytes); };
  const auto require_copied = [&] {
    if (std::memcmp(target.get(), source.get(), bytes) != 0) {
      throw std::runtime_error("wrong result: the copy differs from its source");
    }
  };
  copy();
  require_copied();
  host.moves_bytes(2 * bytes);
  host.host_calls({.call = copy});
  require_copied();
}

void clock_read(HostCase& host) {
  auto last = std::chrono::steady_clock::now();
  host.host_calls({.call = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (now < last) {
      throw std::runtime_error("wrong result: the steady clock went backwards");
    }
    last = now;
  }});
}

/// Two event counters that two threads pass a token through; closes them at the end.
class Token {
 public:
  Token() : there_(eventfd(0, 0)), back_(eventfd(0, 0)) {
    if (there_ < 0 || back_ < 0) {
      throw std::runtime_error("cannot create an eventfd: too many open files");
    }
  }
  ~Token() {
    close(there_);
    close(back_);
  }
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;

  static constexpr std::uint64_t pass = 1;
  static constexpr std::uint64_t stop = 2;
  void send(std::uint64_t value) const { post(there_, value); }
  std::uint64_t receive() const { return take(there_); }
  void answer() const { post(back_, pass); }
  void wait_for_answer() const { take(back_); }

 private:
  static void post(int file, std::uint64_t value) {
    if (write(file, &value, sizeof(value)) != sizeof(value)) {
      throw std::runtime_error("cannot write to an eventfd");
    }
  }
  static std::uint64_t take(int file) {
    std::uint64_t value = 0;
    if (read(file, &value, sizeof(value)) != sizeof(value)) {
      throw std::runtime_error("cannot read from an eventfd");
    }
    return value;
  }
  int there_;
  int back_;
};

/// A thread that sleeps until the token comes and passes it back; ends with this object.
class Sleeper {
 public:
  Sleeper()
      : thread_([this] {
          while (token_.receive() == Token::pass) {
            token_.answer();
          }
        }) {}
  ~Sleeper() {
    token_.send(Token::stop);
    thread_.join();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  /// Two wake-ups: the sleeper's and then the caller's.
  void there_and_back() const {
    token_.send(Token::pass);
    token_.wait_for_answer();
  }

 private:
  Token token_;
  std::thread thread_;
};

void thread_wakeup(HostCase& host) {
  const Sleeper sleeper;
  host.host_calls({.call = [&] { sleeper.there_and_back(); }});
}

const HostBenchmark benchmarks[] = {
    {"host/memory_copy", {{"bytes", {64 << 10, 64 << 20}}}, memory_copy},
    {"host/clock_read", {}, clock_read},
    {"host/thread_wakeup", {}, thread_wakeup},
};

}  // namespace
