// SPDX-License-Identifier: Apache-2.0
#include "kernels/set_up.hpp"

#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>

#include "kernels/launch_check.hpp"

namespace warpgauge::kernels {
namespace {

struct Destroy {  // logs a failure to stderr: a destructor must not throw
  void operator()(cudaStream_t stream) const noexcept {
    const cudaError_t status = cudaStreamDestroy(stream);
    if (status != cudaSuccess) {
      std::fprintf(stderr, "warpgauge: cudaStreamDestroy after a set-up: %s\n",
                   cudaGetErrorString(status));
    }
  }
};

}  // namespace

void set_up(const char* owner, const std::function<void(cudaStream_t)>& issue) {
  const auto require = [owner](const char* what, cudaError_t status) {
    check_status((std::string(owner) + ": " + what).c_str(), status);
  };
  cudaStream_t created = nullptr;
  require("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking));
  const std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy> stream(created);
  issue(stream.get());
  require("cudaStreamSynchronize", cudaStreamSynchronize(stream.get()));
}

void set_to_zero(const char* owner, const Workspace& storage) {
  set_up(owner, [&](cudaStream_t stream) {
    check_status((std::string(owner) + ": cudaMemsetAsync").c_str(),
                 cudaMemsetAsync(storage.data(), 0, storage.bytes(), stream));
  });
}

}  // namespace warpgauge::kernels
