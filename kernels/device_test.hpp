// SPDX-License-Identifier: Apache-2.0
// Shared by the tests that need a GPU.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <type_traits>
#include <vector>

#include <warpgauge/cuda/check.hpp>
#include <warpgauge/cuda/device_array.hpp>
#include <warpgauge/cuda/graph.hpp>
#include <warpgauge/cuda/stream.hpp>

namespace warpgauge::kernels {

/// Skips the test, with the reason, if there is no usable GPU; otherwise gives it a stream.
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
    // Non-blocking: work sent to the default stream by mistake is then not ordered with the test's.
    stream_.emplace();
  }

  cudaStream_t stream() const { return stream_.value().get(); }

  void synchronize() const { stream_.value().synchronize(); }

 private:
  std::optional<Stream> stream_;
};

/// n finite values of either sign, 0.5 <= |x| <= 1: none is so small that losing it goes unnoticed.
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

/// For references on the host, which would convert an element for each of its uses.
template <class T>
std::vector<double> doubles_of(const std::vector<T>& values) {
  std::vector<double> doubles;
  doubles.reserve(values.size());
  for (const T value : values) {
    doubles.push_back(static_cast<double>(value));
  }
  return doubles;
}

/// n integers from -8 to 8 as T. Every floating-point type holds them exactly.
template <class T>
std::vector<T> small_integers(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<T> values;
  for (std::size_t i = 0; i < n; ++i) {
    values.push_back(static_cast<T>(static_cast<float>(generator() % 17) - 8));
  }
  return values;
}

/// n integers with random bits: their sums soon exceed 2^31 and wrap many times.
inline std::vector<std::int32_t> random_integers(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<std::int32_t> values(n);
  for (std::int32_t& value : values) {
    value = static_cast<std::int32_t>(generator());
  }
  return values;
}

/// n outputs on the device, NaN until a kernel writes them, then a guard that none may touch.
template <class T>
class GuardedOutput {
 public:
  explicit GuardedOutput(std::size_t n) : n_(n), memory_(poisoned(n)) {}

  T* data() { return memory_.data(); }

  /// Whether a value is still as before any kernel wrote it. Some outputs are expected to be NaN,
  /// but not this one.
  static bool is_poison(T value) { return std::bit_cast<Bits>(value) == poison_bits; }

  /// Checks the guard and returns the outputs. The stream must be synchronised.
  std::vector<T> values() const {
    const Stream stream;
    std::vector<T> all = memory_.download(stream.get());
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
  // NaNs that no arithmetic produces; their payloads differ from each other and from its NaN.
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

/// Expects every got[i] within most_error(expected[i]) of expected[i], so that NaN fails; shows the
/// first that is not. An infinity is only near itself. T: any type that converts to double.
template <class T, class MostError>
void expect_within(const std::vector<T>& got, const std::vector<double>& expected,
                   const MostError& most_error) {
  ASSERT_EQ(got.size(), expected.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto value = static_cast<double>(got[i]);
    const double error = std::abs(value - expected[i]);
    const bool is_near =
        value == expected[i] || (std::isfinite(error) && error <= most_error(expected[i]));
    if (!is_near && ++wrong == 1) {
      ADD_FAILURE() << "[" << i << "] of " << got.size() << " is " << value << ", not "
                    << expected[i];
    }
  }
  EXPECT_EQ(wrong, 0U);
}

/// Expects every got[i] to equal expected[i].
template <class T>
void expect_same(const std::vector<T>& got, const std::vector<double>& expected) {
  expect_within(got, expected, [](double) { return 0.0; });
}

/// Captures what launch() sends to the stream and replays it once. An allocation or a
/// synchronisation on the way fails.
template <class Launch>
void capture_and_replay(cudaStream_t stream, const Launch& launch) {
  ExecutableGraph(Graph::capture(stream, launch)).launch(stream);
  WARPGAUGE_CHECK(cudaStreamSynchronize(stream));
}

/// Expects launch(c), which sends to the stream, to write each of `expected`, rounded to T:
/// launched and captured.
template <class T, class Launch>
void expect_rounded(cudaStream_t stream, std::vector<double> expected, const Launch& launch) {
  for (double& value : expected) {
    value = static_cast<double>(static_cast<T>(value));
  }
  GuardedOutput<T> direct(expected.size());
  GuardedOutput<T> replayed(expected.size());
  launch(direct.data());
  WARPGAUGE_CHECK(cudaStreamSynchronize(stream));
  expect_same(direct.values(), expected);
  capture_and_replay(stream, [&] { launch(replayed.data()); });
  expect_same(replayed.values(), expected);
}

}  // namespace warpgauge::kernels
