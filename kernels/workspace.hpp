// SPDX-License-Identifier: Apache-2.0
// Device memory that an object keeps for a library, which would else allocate on its own.
#pragma once

#include <cstddef>
#include <memory>

namespace warpgauge::kernels {

/// `bytes` of memory on the device that is current at construction; move-only.
class Workspace {
 public:
  /// owner begins the messages. Throws std::invalid_argument for 0 bytes, std::runtime_error when
  /// the memory cannot be had.
  Workspace(const char* owner, std::size_t bytes);

  void* data() const noexcept { return memory_.get(); }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Free {  // logs a failure to stderr: a destructor must not throw
    void operator()(void* memory) const noexcept;
  };

  std::size_t bytes_;
  std::unique_ptr<void, Free> memory_;
};

}  // namespace warpgauge::kernels
