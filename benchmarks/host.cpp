// SPDX-License-Identifier: Apache-2.0
// Controls without a GPU: when these move, the machine is noisy, not the GPU slow. Bound by the
// host's memory, its clock source, its scheduler and its storage.
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <warpgauge/host/pageable_memory.hpp>
#include <warpgauge/host_benchmark.hpp>
#include "benchmarks/checked_thread.hpp"

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
  void answer(std::uint64_t value) const { post(back_, value); }
  std::uint64_t wait_for_answer() const { return take(back_); }

 private:
  /// Repeats `transfer` while a signal interrupts it.
  template <class Transfer>
  static void retry(const char* what, const Transfer& transfer) {
    ssize_t moved = -1;
    do {
      moved = transfer();
    } while (moved < 0 && errno == EINTR);
    if (moved != sizeof(std::uint64_t)) {
      throw std::runtime_error(what);
    }
  }
  static void post(int file, std::uint64_t value) {
    retry("cannot write to an eventfd", [&] { return write(file, &value, sizeof(value)); });
  }
  static std::uint64_t take(int file) {
    std::uint64_t value = 0;
    retry("cannot read from an eventfd", [&] { return read(file, &value, sizeof(value)); });
    return value;
  }
  int there_;
  int back_;
};

/// A thread that sleeps until the token comes and passes it back; ends with this object.
class Sleeper {
 public:
  Sleeper() : thread_([this] { pass_back(); }) {}
  ~Sleeper() {
    try {
      token_.send(Token::stop);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "warpgauge: a thread cannot be stopped: %s\n", error.what());
      std::abort();
    }
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  /// Two wake-ups: the sleeper's and then the caller's. Throws what the sleeper threw.
  void there_and_back() {
    token_.send(Token::pass);
    if (token_.wait_for_answer() == Token::stop) {
      thread_.join();
    }
  }

 private:
  void pass_back() const {
    try {
      while (token_.receive() == Token::pass) {
        token_.answer(Token::pass);
      }
    } catch (...) {
      token_.answer(Token::stop);  // else the caller would wait for ever
      throw;
    }
  }

  Token token_;
  CheckedThread thread_;
};

void thread_wakeup(HostCase& host) {
  Sleeper sleeper;
  host.host_calls({.call = [&] { sleeper.there_and_back(); }});
}

/// A file without a name in the folder for temporary files (TMPDIR, else /tmp): nothing of it is
/// left, however the process ends.
class UnnamedFile {
 public:
  UnnamedFile() {
    const char* const set = std::getenv("TMPDIR");
    const std::filesystem::path folder = set != nullptr && *set != '\0' ? set : "/tmp";
    std::string path = folder / "warpgauge-XXXXXX";
    file_ = mkstemp(path.data());
    if (file_ < 0) {
      fail("cannot make a file in " + folder.string());
    }
    unlink(path.c_str());
  }
  ~UnnamedFile() { close(file_); }
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  using Page = std::array<unsigned char, 4096>;

  /// Returns when the page is on the storage.
  void write(const Page& page) const {
    if (pwrite(file_, page.data(), page.size(), 0) != static_cast<ssize_t>(page.size()) ||
        fdatasync(file_) != 0) {
      fail("cannot write to a file for temporary data");
    }
  }
  Page read() const {
    Page page{};
    if (pread(file_, page.data(), page.size(), 0) != static_cast<ssize_t>(page.size())) {
      fail("cannot read what was written to a file for temporary data");
    }
    return page;
  }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
  }
  int file_ = -1;
};

/// Writes one page and makes it durable. Bound by the storage below the folder, or by almost
/// nothing if that is memory (tmpfs).
void file_sync(HostCase& host) {
  const UnnamedFile file;
  UnnamedFile::Page page{};
  host.host_calls({.call = [&] {
    ++page.front();  // other bytes each time: the same may be left unwritten
    file.write(page);
  }});
  if (file.read() != page) {
    throw std::runtime_error("wrong result: the file does not hold what was written last");
  }
}

const HostBenchmark benchmarks[] = {
    {"host/memory_copy", {{"bytes", {64 << 10, 64 << 20}}}, memory_copy},
    {"host/clock_read", {}, clock_read},
    {"host/thread_wakeup", {}, thread_wakeup},
    {"host/file_sync", {}, file_sync},
};

}  // namespace
