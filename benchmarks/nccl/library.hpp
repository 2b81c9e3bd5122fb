// SPDX-License-Identifier: Apache-2.0
// NCCL, loaded at run time: a program that links it would not start on machines without it.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

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
  static const Nccl& loaded();

  /// For example "2.28.9"; empty without NCCL.
  static std::string version();

  /// The environment variables that configure NCCL, as "NAME=value". Sets one first: NVLink SHARP
  /// is off because it needs multicast objects, which machines that share an NVSwitch refuse.
  static std::string environment();

  /// Throws NcclError with NCCL's own text unless `result` is success.
  void require(Result result, const char* call) const;

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
  Nccl();

  std::string fault_;
  Result (*get_version_)(int*) = nullptr;
  const char* (*get_error_string_)(Result) = nullptr;
  const char* (*get_last_error_)(Communicator) = nullptr;  // since NCCL 2.13
};

}  // namespace warpgauge
