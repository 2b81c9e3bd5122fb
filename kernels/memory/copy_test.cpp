// SPDX-License-Identifier: Apache-2.0
#include "kernels/memory/copy.hpp"

#include <algorithm>
#include <memory>

#include <warpgauge/cuda/memory.hpp>
#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

/// n bytes: no two neighbours are equal, and none is poison.
std::vector<unsigned char> numbered_bytes(std::size_t n) {
  std::vector<unsigned char> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = static_cast<unsigned char>(i * 37 % 251);
  }
  return values;
}

constexpr unsigned char poison = 0xFF;
constexpr unsigned char guard = 0xFE;
constexpr std::size_t guard_bytes = 64;

/// Poisoned or given bytes that the device can access, in its memory or in page-locked host memory,
/// followed by a guard.
class GuardedBytes {
 public:
  GuardedBytes(std::size_t n, bool on_host)
      : GuardedBytes(std::vector<unsigned char>(n, poison), on_host) {}
  GuardedBytes(std::vector<unsigned char> values, bool on_host)
      : n_(values.size()),
        memory_(on_host ? std::shared_ptr<void>(allocate_pinned(n_ + guard_bytes))
                        : std::shared_ptr<void>(allocate_device(n_ + guard_bytes))) {
    values.resize(n_ + guard_bytes, guard);
    copy(data(), values.data());
  }

  unsigned char* data() { return static_cast<unsigned char*>(memory_.get()); }

  /// Checks the guard and returns the bytes. The stream must be synchronised.
  std::vector<unsigned char> values() const {
    std::vector<unsigned char> all(n_ + guard_bytes);
    copy(all.data(), memory_.get());
    for (std::size_t i = n_; i < all.size(); ++i) {
      EXPECT_EQ(all[i], guard) << "written " << i - n_ << " past the end";
    }
    all.resize(n_);
    return all;
  }

 private:
  void copy(void* to, const void* from) const {
    const Stream stream;
    WARPGAUGE_CHECK(cudaMemcpyAsync(to, from, n_ + guard_bytes, cudaMemcpyDefault, stream.get()));
    stream.synchronize();
  }

  std::size_t n_;
  std::shared_ptr<void> memory_;
};

class CopyTest : public DeviceTest {};

TEST_F(CopyTest, CopiesEveryByteWhereverItLies) {
  for (const bool from_host : {false, true}) {
    for (const bool to_host : {false, true}) {
      for (const std::size_t n : {0, 1, 15, 16, 17, 31, 33, 2047, 2048, 2049, 1000003}) {
        SCOPED_TRACE(::testing::Message() << n << (from_host ? " from the host" : "")
                                          << (to_host ? " to the host" : ""));
        const std::vector<unsigned char> expected = numbered_bytes(n);
        GuardedBytes from(expected, from_host);
        GuardedBytes direct(n, to_host);
        GuardedBytes replayed(n, to_host);
        copy_bytes(from.data(), direct.data(), n, stream());
        synchronize();
        EXPECT_EQ(direct.values(), expected);
        if (n != 0) {
          capture_and_replay(stream(),
                             [&] { copy_bytes(from.data(), replayed.data(), n, stream()); });
          EXPECT_EQ(replayed.values(), expected);
        }
        EXPECT_EQ(from.values(), expected);
      }
    }
  }
}

TEST_F(CopyTest, TouchWritesOneByteAStride) {
  for (const std::size_t stride : {1, 3, 4096}) {
    for (const std::size_t n : {1, 31, 33, 4095, 4096, 4097, 1000003}) {
      SCOPED_TRACE(::testing::Message() << n << " by " << stride);
      GuardedBytes direct(n, false);
      GuardedBytes replayed(n, false);
      touch(direct.data(), n, stride, 7, stream());
      synchronize();
      std::vector<unsigned char> expected(n, poison);
      for (std::size_t i = 0; i < n; i += stride) {
        expected[i] = 7;
      }
      EXPECT_EQ(direct.values(), expected);
      capture_and_replay(stream(), [&] { touch(replayed.data(), n, stride, 7, stream()); });
      EXPECT_EQ(replayed.values(), expected);
    }
  }
}

// Three times the second stride wraps to 2 in 64 bits: the byte at 2 must not be written.
TEST_F(CopyTest, TouchOfLongStridesWritesTheFirstByteAlone) {
  for (const std::size_t stride : {std::size_t{1000}, std::size_t{0x5555'5555'5555'5556}}) {
    SCOPED_TRACE(::testing::Message() << "by " << stride);
    GuardedBytes bytes(1000, false);
    touch(bytes.data(), 1000, stride, 7, stream());
    synchronize();
    std::vector<unsigned char> expected(1000, poison);
    expected[0] = 7;
    EXPECT_EQ(bytes.values(), expected);
  }
}

TEST_F(CopyTest, ReferenceOfPackedRowsIsThoseOfTheHost) {
  for (const PitchedRows shape :
       {PitchedRows{1, 1, 1}, {31, 33, 33}, {33, 31, 64}, {1009, 991, 1000}}) {
    SCOPED_TRACE(::testing::Message() << shape.height << " x " << shape.width);
    const std::vector<float> host = random_values(shape.height * shape.pitch, 1);
    const DeviceArray<float> rows(host);
    const std::size_t first = shape.width / 2;  // a window that begins within a row
    const std::size_t count = shape.height * shape.width - first;
    GuardedOutput<double> direct(count);
    GuardedOutput<double> replayed(count);
    const auto launch = [&](double* expected) {
      packed_rows_reference(rows.data(), expected, shape, first, count, stream());
    };
    launch(direct.data());
    synchronize();
    capture_and_replay(stream(), [&] { launch(replayed.data()); });
    std::vector<double> packed;
    for (std::size_t row = 0; row < shape.height; ++row) {
      const auto begin = host.begin() + static_cast<std::ptrdiff_t>(row * shape.pitch);
      packed.insert(packed.end(), begin, begin + static_cast<std::ptrdiff_t>(shape.width));
    }
    packed.erase(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(first));
    EXPECT_EQ(direct.values(), packed);
    EXPECT_EQ(replayed.values(), packed);
  }
}

}  // namespace
}  // namespace warpgauge::kernels
