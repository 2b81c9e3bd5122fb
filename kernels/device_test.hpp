// SPDX-License-Identifier: Apache-2.0
// What the tests that need a GPU share.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace warpgauge::kernels {

/// Skips the test, with the reason, where there is no usable GPU; else gives it a stream.
class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      GTEST_SKIP() << "no usable GPU: " << cudaGetErrorString(status);
    }
    if (devices == 0) {
      GTEST_SKIP() << "no usable GPU: none in this machine";
    }
    // Not blocking: work sent to the default stream by mistake is then not ordered with ours.
    cudaStream_t created = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking), cudaSuccess);
    stream_.reset(created);
  }

  cudaStream_t stream() const { return stream_.get(); }

  void synchronize() const { ASSERT_EQ(cudaStreamSynchronize(stream()), cudaSuccess); }

 private:
  struct DestroyStream {
    void operator()(cudaStream_t stream) const {
      EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    }
  };
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyStream> stream_;
};

/// n finite values of either sign, 0.5 <= |x| <= 1: none is small enough for its loss to hide.
inline std::vector<float> random_values(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> magnitude(0.5F, 1.0F);
  std::vector<float> values(n);
  for (float& value : values) {
    value = magnitude(generator) * ((generator() & 1U) != 0 ? 1.0F : -1.0F);
  }
  return values;
}

/// random_values() as T holds them, each rounded once.
template <class T>
std::vector<T> random_values_as(std::size_t n, unsigned seed) {
  const std::vector<float> values = random_values(n, seed);
  return {values.begin(), values.end()};
}

/// n integers of any bits: sums of them pass 2^31 at once and wrap over and over.
inline std::vector<std::int32_t> random_integers(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<std::int32_t> values(n);
  for (std::int32_t& value : values) {
    value = static_cast<std::int32_t>(generator());
  }
  return values;
}

/// Elements on the device, whose copy has ended when a call returns. Thrust has the same and more,
/// and would take each test ten seconds to compile.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  // Not explicit, for a test's values are host vectors that go to the device as they are.
  DeviceArray(const std::vector<T>& values) : n_(values.size()) {
    void* raw = nullptr;
    require(cudaMalloc(&raw, std::max<std::size_t>(n_ * sizeof(T), 1)));
    memory_.reset(static_cast<T*>(raw));
    require(cudaMemcpy(raw, values.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    require(cudaDeviceSynchronize());  // our streams do not wait for the default one
  }
  explicit DeviceArray(std::size_t n, T value = T{}) : DeviceArray(std::vector<T>(n, value)) {}

  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  std::size_t size() const { return n_; }

  std::vector<T> values() const {
    std::vector<T> host(n_);
    require(cudaMemcpy(host.data(), memory_.get(), n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  struct Free {
    void operator()(T* memory) const { EXPECT_EQ(cudaFree(memory), cudaSuccess); }
  };
  static void require(cudaError_t status) {
    if (status != cudaSuccess) {
      throw std::runtime_error(cudaGetErrorString(status));
    }
  }

  std::size_t n_ = 0;
  std::unique_ptr<T, Free> memory_;
};

/// n outputs on the device, NaN until a kernel writes them, and a guard behind that none may touch.
template <class T>
class GuardedOutput {
 public:
  explicit GuardedOutput(std::size_t n) : n_(n), memory_(poisoned(n)) {}

  T* data() { return memory_.data(); }

  /// Whether a value is still what it was before any kernel wrote it: NaN is expected of some
  /// outputs, but not this one.
  static bool is_poison(T value) { return std::bit_cast<Bits>(value) == poison_bits; }

  /// The outputs, once the guard is found whole. The stream must be synchronised.
  std::vector<T> values() const {
    std::vector<T> all = memory_.values();
    for (std::size_t i = n_; i < all.size(); ++i) {
      EXPECT_EQ(std::bit_cast<Bits>(all[i]), guard_bits) << "written " << i - n_ << " past the end";
    }
    all.resize(n_);
    return all;
  }

 private:
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  static_assert(sizeof(Bits) == sizeof(T));
  // NaNs that no arithmetic makes: their payloads tell them from each other and from its NaN.
  static constexpr Bits poison_bits = std::numeric_limits<Bits>::max();
  static constexpr Bits guard_bits = static_cast<Bits>(poison_bits - 1);
  static constexpr std::size_t guard_elements = 64;

  static std::vector<T> poisoned(std::size_t n) {
    std::vector<T> values(n, std::bit_cast<T>(poison_bits));
    values.resize(n + guard_elements, std::bit_cast<T>(guard_bits));
    return values;
  }

  std::size_t n_;
  DeviceArray<T> memory_;
};

/// Expects every got[i] within most_error(expected[i]) of expected[i], so that NaN differs; the
/// first that is not is shown. T: any type with a conversion to double.
template <class T, class MostError>
void expect_within(const std::vector<T>& got, const std::vector<double>& expected,
                   const MostError& most_error) {
  ASSERT_EQ(got.size(), expected.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - expected[i]);
    if (!(error <= most_error(expected[i])) && ++wrong == 1) {
      ADD_FAILURE() << "[" << i << "] of " << got.size() << " is " << static_cast<double>(got[i])
                    << ", not " << expected[i];
    }
  }
  EXPECT_EQ(wrong, 0U);
}

/// Expects every got[i] to equal expected[i].
template <class T>
void expect_same(const std::vector<T>& got, const std::vector<double>& expected) {
  expect_within(got, expected, [](double) { return 0.0; });
}

/// Captures what launch() sends to the stream and replays it once. Global mode, so that an
/// allocation or a synchronisation on the way fails the capture.
template <class Launch>
void capture_and_replay(cudaStream_t stream, const Launch& launch) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_NO_THROW(launch());
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

}  // namespace warpgauge::kernels
