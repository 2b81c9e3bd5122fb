// SPDX-License-Identifier: Apache-2.0
// A connection between two processes that carries messages of text.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace warpgauge {

/// One end of a socket that keeps messages apart (SOCK_SEQPACKET); closes it at the end. Move-only.
class Channel {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t longest_message = 1024;

  /// Takes the descriptor over.
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  ~Channel() { close(); }
  Channel(Channel&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Channel(const Channel&) = delete;
  Channel& operator=(Channel&&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Two connected ends, which no process inherits.
  static std::pair<Channel, Channel> pair() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw std::runtime_error(std::string("cannot make a socket: ") + std::strerror(errno));
    }
    return {Channel(ends[0]), Channel(ends[1])};
  }

  int descriptor() const noexcept { return descriptor_; }

  void close() noexcept {
    if (descriptor_ >= 0) {
      ::close(std::exchange(descriptor_, -1));
    }
  }

  /// As poll(2) takes a time to wait; 0 if it has passed.
  static int milliseconds_until(Clock::time_point until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    return static_cast<int>(std::max<std::int64_t>(0, left.count()));
  }

  /// Whether a message or the end of the connection can be received before `until`.
  bool wait(Clock::time_point until) const { return wait_for(POLLIN, until); }

  /// False if the other end does not take the message before `until`. If it is gone, the message is
  /// lost, and receive() says so. Longer messages are cut.
  bool send(const std::string& message, Clock::time_point until) const {
    while (true) {
      const ssize_t sent =
          ::send(descriptor_, message.data(), std::min(message.size(), longest_message),
                 MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent >= 0 || (errno != EAGAIN && errno != EINTR)) {
        return true;
      }
      if (errno == EAGAIN && !wait_for(POLLOUT, until)) {
        return false;
      }
    }
  }

  /// The next message, waited for; nullopt at the end of the connection. What is too long comes
  /// cut, and one byte longer than messages can be.
  std::optional<std::string> receive() const { return receive(0); }

  /// The same, and leaves the message there.
  std::optional<std::string> peek() const { return receive(MSG_PEEK); }

 private:
  std::optional<std::string> receive(int flags) const {
    std::array<char, longest_message + 1> buffer{};
    ssize_t count = 0;
    do {
      count = recv(descriptor_, buffer.data(), buffer.size(), flags);
    } while (count < 0 && errno == EINTR);
    if (count <= 0) {
      return std::nullopt;
    }
    return std::string(buffer.data(), static_cast<std::size_t>(count));
  }

  bool wait_for(short events, Clock::time_point until) const {
    while (true) {
      pollfd polled{descriptor_, events, 0};
      const int ready = poll(&polled, 1, milliseconds_until(until));
      if (ready > 0) {
        return true;
      }
      if (ready == 0 || errno != EINTR) {
        return false;
      }
    }
  }

  int descriptor_;
};

}  // namespace warpgauge
