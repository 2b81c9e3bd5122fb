// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/nccl/library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include <warpgauge/cuda/device.hpp>

namespace warpgauge {

const Nccl& Nccl::loaded() {
  static const Nccl library;
  if (library.fault_.empty()) {
    return library;
  }
  throw Unsupported(library.fault_);
}

std::string Nccl::version() {
  try {
    int code = 0;
    loaded().require(loaded().get_version_(&code), "ncclGetVersion");
    return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
           std::to_string(code % 100);
  } catch (const Unsupported&) {
    return "";
  }
}

std::string Nccl::environment() {
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

void Nccl::require(Result result, const char* call) const {
  if (result != success) {
    const char* const last = get_last_error_ == nullptr ? "" : get_last_error_(nullptr);
    throw NcclError(std::string(call) + ": " + get_error_string_(result) +
                    (last == nullptr || *last == '\0' ? "" : std::string(" (") + last + ")"));
  }
}

Nccl::Nccl() {
  environment();  // before NCCL reads it
  // Never closed: communicators and their threads last until the process ends.
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
  get_last_error_ = reinterpret_cast<decltype(get_last_error_)>(dlsym(library, "ncclGetLastError"));
}

}  // namespace warpgauge
