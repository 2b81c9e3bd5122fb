// SPDX-License-Identifier: Apache-2.0
// Quantised matrices, compared with the host's.
#include <algorithm>
#include <cmath>

#include "kernels/device_test.hpp"
#include "kernels/quantized/quantize.hpp"

namespace warpgauge::kernels {
namespace {

using Bf16 = __nv_bfloat16;
using E4m3 = __nv_fp8_e4m3;

struct Shape {
  std::size_t rows, k;
};

/// Of very different magnitudes by block; the first block of row 0 is zeros.
std::vector<Bf16> inputs_of(Shape shape) {
  std::vector<float> values = random_values(shape.rows * shape.k, 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = i / shape.k;
    const std::size_t block = i % shape.k / 128;
    values[i] *= row + block == 0 ? 0.0F : static_cast<float>(1U << (row * 5 + block * 3) % 20);
    values[i] *= static_cast<float>(i % 7) / 8;
  }
  return {values.begin(), values.end()};
}

float magnitude(Bf16 value) {
  return std::abs(static_cast<float>(value));
}

class QuantizeTest : public DeviceTest {
 protected:
  /// The scales of a layout, on the host.
  static std::vector<double> scales_on_host(const std::vector<Bf16>& in, Shape shape,
                                            ScaleLayout layout, std::size_t count) {
    std::vector<float> largest(count, least_magnitude);
    for (std::size_t i = 0; i < in.size(); ++i) {
      float& of_block = largest[i / shape.k / layout.rows_of_block * layout.row_stride +
                                i % shape.k / scale_block * layout.k_stride];
      of_block = std::max(of_block, magnitude(in[i]));
    }
    std::vector<double> scales;
    for (const float value : largest) {
      scales.push_back(value / e4m3_largest);
    }
    return scales;
  }

  template <class Launch>
  void expect_e4m3(Shape shape, ScaleLayout layout, std::size_t count, const Launch& launch) {
    SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.k);
    const std::vector<Bf16> host = inputs_of(shape);
    const DeviceArray<Bf16> in(host);
    const std::vector<double> expected_scales = scales_on_host(host, shape, layout, count);
    GuardedOutput<std::uint32_t> words(host.size() / 4);  // of four elements: NaN until written
    GuardedOutput<float> scales(count);
    GuardedOutput<double> reference(host.size());
    capture_and_replay(stream(), [&] {
      launch(in.data(), reinterpret_cast<E4m3*>(words.data()), scales.data(), shape.rows, shape.k,
             stream());
      quantize_reference(in.data(), scales.data(), layout, reference.data(), shape.rows, shape.k, 0,
                         host.size(), stream());
    });
    expect_same(scales.values(), expected_scales);
    std::vector<double> expected(host.size());
    std::vector<float> values;
    for (std::size_t i = 0; i < host.size(); ++i) {
      const std::size_t scale = i / shape.k / layout.rows_of_block * layout.row_stride +
                                i % shape.k / scale_block * layout.k_stride;
      expected[i] = static_cast<double>(static_cast<float>(host[i])) / expected_scales[scale];
    }
    for (const std::uint32_t word : words.values()) {
      for (unsigned byte = 0; byte < 4; ++byte) {
        E4m3 value;
        value.__x = static_cast<__nv_fp8_storage_t>(word >> byte * 8);
        values.push_back(static_cast<float>(value));
      }
    }
    // The factor errs by 2^-23, so what is rounded may lie beyond the middle of two numbers.
    expect_within(values, expected,
                  [](double value) { return 0x1p-10 + 0x1.0001p-4 * std::abs(value); });
    expect_within(reference.values(), expected,
                  [](double value) { return 0x1p-50 * std::abs(value); });
  }

  template <class Launch>
  void expect_int4(Shape shape, const Launch& launch) {
    SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.k);
    const std::vector<Bf16> host = inputs_of(shape);
    const DeviceArray<Bf16> in(host);
    std::vector<double> expected_scales(shape.rows * shape.k / int4_group);
    std::vector<std::uint32_t> packed(host.size() / 8);
    for (std::size_t column = 0; column < shape.rows; ++column) {
      for (std::size_t group = 0; group < shape.k / int4_group; ++group) {
        const std::size_t first = column * shape.k + group * int4_group;
        float largest = least_magnitude;
        for (std::size_t i = first; i < first + int4_group; ++i) {
          largest = std::max(largest, magnitude(host[i]));
        }
        const auto scale = static_cast<float>(static_cast<Bf16>(largest / int4_largest));
        expected_scales[group * shape.rows + column] = scale;
        for (std::size_t i = first; i < first + int4_group; ++i) {
          const float nearest = std::nearbyint(static_cast<float>(host[i]) / scale);
          const Int4Place place = int4_place(i % shape.k, column, shape.k);
          packed[place.word] |= static_cast<std::uint32_t>(8 + std::clamp(nearest, -8.0F, 7.0F))
                                << place.shift;
        }
      }
    }
    GuardedOutput<std::uint32_t> words(packed.size());
    GuardedOutput<Bf16> scales(expected_scales.size());
    GuardedOutput<double> reference(packed.size());
    capture_and_replay(stream(), [&] {
      launch(in.data(), words.data(), scales.data(), shape.rows, shape.k, stream());
      quantize_int4_reference(in.data(), scales.data(), reference.data(), shape.rows, shape.k, 0,
                              packed.size(), stream());
    });
    expect_same(scales.values(), expected_scales);
    const std::vector<double> expected(packed.begin(), packed.end());
    expect_same(words.values(), expected);
    expect_same(reference.values(), expected);
  }
};

constexpr Shape shapes[]{{1, 16}, {3, 144}, {130, 272}, {256, 128}};

TEST_F(QuantizeTest, RowsHaveAScalePer128Terms) {
  for (const Shape shape : shapes) {
    const std::size_t count = shape.rows * scale_blocks(shape.k);
    expect_e4m3(shape, scales_of_rows(shape.rows), count, quantize_rows_naive);
    expect_e4m3(shape, scales_of_rows(shape.rows), count, quantize_rows);
  }
}

TEST_F(QuantizeTest, TilesHaveAScalePer128RowsAndTerms) {
  for (const Shape shape : shapes) {
    const std::size_t count = scale_blocks(shape.rows) * scale_blocks(shape.k);
    expect_e4m3(shape, scales_of_tiles(shape.k), count, quantize_tiles_naive);
    expect_e4m3(shape, scales_of_tiles(shape.k), count, quantize_tiles);
  }
}

TEST_F(QuantizeTest, Int4WordsHaveTheStatedOrder) {
  for (const Shape shape : {Shape{16, 128}, {48, 640}, {272, 256}}) {
    expect_int4(shape, quantize_int4_naive);
    expect_int4(shape, quantize_int4);
  }
}

}  // namespace
}  // namespace warpgauge::kernels
