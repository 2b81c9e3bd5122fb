// SPDX-License-Identifier: Apache-2.0
// NCCL, loaded at run time: a program that links it would not start on machines without it.
#pragma once

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <warpgauge/cuda/device.hpp>

namespace warpgauge {

/// A failed NCCL call.
class NcclError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// libnccl.so.2, found by the dynamic linker (LD_LIBRARY_PATH). The declarations follow nccl.h of
/// NCCL 2.28 (docs.nvidia.com/deeplearning/nccl) and have kept their meaning since 2.10.
class Nccl {
 public:
  using Communicator = void*;  // ncclComm_t
  using Result = int;          // ncclResult_t
  /// ncclUniqueId, by which ranks find each other.
  struct UniqueId {
    std::array<unsigned char, 128> bytes;
  };
  // ncclDataType_t and ncclRedOp_t, which have the size of C enumerations.
  // NOLINTBEGIN(performance-enum-size)
  enum class Type : int { float32 = 7, bfloat16 = 9 };
  enum class Reduction : int { sum = 0, max = 2 };
  // NOLINTEND(performance-enum-size)
  static constexpr Result success = 0;

  /// The library, loaded at the first call. Throws Unsupported if it is missing or too old.
  static const Nccl& loaded() {
    static const Nccl library;
    if (library.fault_.empty()) {
      return library;
    }
    throw Unsupported(library.fault_);
  }

  /// For example "2.28.9"; empty without NCCL.
  static std::string version() {
    try {
      int code = 0;
      loaded().require(loaded().get_version_(&code), "ncclGetVersion");
      return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
             std::to_string(code % 100);
    } catch (const Unsupported&) {
      return "";
    }
  }

  /// The environment variables that configure NCCL, as "NAME=value". Sets one first: NVLink SHARP
  /// is off because it needs multicast objects, which machines that share an NVSwitch refuse.
  static std::string environment() {
    setenv("NCCL_NVLS_ENABLE", "0", 1);
    std::vector<std::string> found;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      if (std::string(*variable).starts_with("NCCL_")) {
        found.emplace_back(*variable);
      }
    }
    std::sort(found.begin(), found.end());
    std::string text;
    for (const std::string& variable : found) {
      text += (text.empty() ? "" : " ") + variable;
    }
    return text;
  }

  /// Throws NcclError with NCCL's own text unless `result` is success.
  void require(Result result, const char* call) const {
    if (result != success) {
      const char* const last = get_last_error_ == nullptr ? "" : get_last_error_(nullptr);
      throw NcclError(std::string(call) + ": " + get_error_string_(result) +
                      (last == nullptr || *last == '\0' ? "" : std::string(" (") + last + ")"));
    }
  }

  // NCCL's functions of these names. Pass their results to require().
  Result (*get_unique_id)(UniqueId*) = nullptr;
  Result (*init_rank)(Communicator*, int count, UniqueId, int rank) = nullptr;
  Result (*abort)(Communicator) = nullptr;
  Result (*group_start)() = nullptr;
  Result (*group_end)() = nullptr;
  Result (*all_reduce)(const void* from, void* to, std::size_t count, Type, Reduction, Communicator,
                       cudaStream_t) = nullptr;
  Result (*all_gather)(const void* from, void* to, std::size_t sent, Type, Communicator,
                       cudaStream_t) = nullptr;
  Result (*reduce_scatter)(const void* from, void* to, std::size_t received, Type, Reduction,
                           Communicator, cudaStream_t) = nullptr;
  Result (*broadcast)(const void* from, void* to, std::size_t count, Type, int root, Communicator,
                      cudaStream_t) = nullptr;
  Result (*send)(const void* from, std::size_t count, Type, int rank, Communicator,
                 cudaStream_t) = nullptr;
  Result (*receive)(void* to, std::size_t count, Type, int rank, Communicator,
                    cudaStream_t) = nullptr;

 private:
  Nccl() {
    environment();  // before NCCL reads it
    // Never closed: communicators and their threads last until the process ends (see NcclMember).
    void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      fault_ = "needs NCCL: libnccl.so.2 is not found (add its folder to LD_LIBRARY_PATH)";
      return;
    }
    const auto find = [&](auto& function, const char* name) {
      void* const found = dlsym(library, name);
      if (found == nullptr) {
        fault_ = std::string("needs a newer NCCL: libnccl.so.2 has no ") + name;
      }
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
    find(get_version_, "ncclGetVersion");
    find(get_error_string_, "ncclGetErrorString");
    find(get_unique_id, "ncclGetUniqueId");
    find(init_rank, "ncclCommInitRank");
    find(abort, "ncclCommAbort");
    find(group_start, "ncclGroupStart");
    find(group_end, "ncclGroupEnd");
    find(all_reduce, "ncclAllReduce");
    find(all_gather, "ncclAllGather");
    find(reduce_scatter, "ncclReduceScatter");
    find(broadcast, "ncclBroadcast");
    find(send, "ncclSend");
    find(receive, "ncclRecv");
    get_last_error_ =
        reinterpret_cast<decltype(get_last_error_)>(dlsym(library, "ncclGetLastError"));
  }

  std::string fault_;
  Result (*get_version_)(int*) = nullptr;
  const char* (*get_error_string_)(Result) = nullptr;
  const char* (*get_last_error_)(Communicator) = nullptr;  // since NCCL 2.13
};

}  // namespace warpgauge
