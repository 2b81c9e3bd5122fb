// SPDX-License-Identifier: Apache-2.0
// Decoding matches its reference, and that the host, over pages in any order.
#include "kernels/attention/decode.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <warpgauge/cuda/elements.hpp>
#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

using bf16 = __nv_bfloat16;
using Values = std::vector<bf16>;

/// A cache whose pages are all used, in random order, and queries.
struct Decoded {
  Decoded(DecodeShape of, std::vector<std::int32_t> keys, float sharpness)
      : shape(of), host_lengths(std::move(keys)) {
    const std::size_t pages = shape.batch * shape.sequence_pages;
    const std::size_t elements = pages * shape.kv_heads * shape.page_keys * shape.head_size;
    host_table.resize(pages);
    std::iota(host_table.begin(), host_table.end(), 0);
    std::shuffle(host_table.begin(), host_table.end(), std::mt19937(1));
    for (const float value : random_values(shape.batch * shape.heads * shape.head_size, 2)) {
      host_q.push_back(bf16(value * sharpness));
    }
    host_k = random_values_as<bf16>(elements, 3);
    host_v = random_values_as<bf16>(elements, 4);
    // Places after a sequence's keys: a kernel that reads them gives NaN.
    for (std::size_t sequence = 0; sequence < shape.batch; ++sequence) {
      for (std::size_t key = static_cast<std::size_t>(host_lengths[sequence]);
           key < shape.sequence_pages * shape.page_keys; ++key) {
        for (std::size_t head = 0; head < shape.kv_heads; ++head) {
          const std::size_t first = place(sequence, head, key);
          std::fill_n(host_k.begin() + static_cast<std::ptrdiff_t>(first), shape.head_size,
                      bf16(NAN));
          std::fill_n(host_v.begin() + static_cast<std::ptrdiff_t>(first), shape.head_size,
                      bf16(NAN));
        }
      }
    }
    q.emplace(host_q);
    k.emplace(host_k);
    v.emplace(host_v);
    table.emplace(host_table);
    lengths.emplace(host_lengths);
  }

  std::size_t place(std::size_t sequence, std::size_t kv_head, std::size_t key) const {
    const auto page = static_cast<std::size_t>(
        host_table[sequence * shape.sequence_pages + key / shape.page_keys]);
    return ((page * shape.kv_heads + kv_head) * shape.page_keys + key % shape.page_keys) *
           shape.head_size;
  }

  PagedCache cache() const { return {k->data(), v->data(), table->data(), lengths->data()}; }
  std::size_t results() const { return host_q.size(); }

  std::vector<double> on_host() const {
    const std::size_t d = shape.head_size;
    const std::vector<double> query_values = doubles_of(host_q);
    const std::vector<double> keys = doubles_of(host_k);
    const std::vector<double> values = doubles_of(host_v);
    std::vector<double> out(results());
    for (std::size_t query = 0; query < shape.batch * shape.heads; ++query) {
      const std::size_t sequence = query / shape.heads;
      const std::size_t kv_head = query % shape.heads / (shape.heads / shape.kv_heads);
      std::vector<double> powers;
      for (std::size_t key = 0; key < static_cast<std::size_t>(host_lengths[sequence]); ++key) {
        double score = 0;
        for (std::size_t i = 0; i < d; ++i) {
          score += query_values[query * d + i] * keys[place(sequence, kv_head, key) + i];
        }
        powers.push_back(score / std::sqrt(static_cast<double>(d)));
      }
      const double largest = *std::max_element(powers.begin(), powers.end());
      double sum = 0;
      for (std::size_t key = 0; key < powers.size(); ++key) {
        const double power = std::exp(powers[key] - largest);
        sum += power;
        for (std::size_t i = 0; i < d; ++i) {
          out[query * d + i] += power * values[place(sequence, kv_head, key) + i];
        }
      }
      for (std::size_t i = 0; i < d; ++i) {
        out[query * d + i] /= sum;
      }
    }
    return out;
  }

  DecodeShape shape;
  std::vector<std::int32_t> host_table, host_lengths;
  Values host_q, host_k, host_v;
  std::optional<DeviceArray<bf16>> q, k, v;
  std::optional<DeviceArray<std::int32_t>> table, lengths;
};

/// One key; less and more than a tile, a round of warps and a page; so many pairs of a sequence and
/// a kv head that none is split, and each warp goes around its ring; groups of 1, 4 and 16 queries;
/// sequences of different length.
std::vector<Decoded> cases(float sharpness) {
  std::vector<Decoded> all;
  for (const std::size_t d : {64, 128}) {
    all.emplace_back(DecodeShape{1, 1, 1, d, 64, 1}, std::vector<std::int32_t>{1}, sharpness);
    all.emplace_back(DecodeShape{3, 8, 2, d, 16, 9}, std::vector<std::int32_t>{15, 17, 144},
                     sharpness);
    all.emplace_back(DecodeShape{2, 32, 2, d, 64, 40}, std::vector<std::int32_t>{2560, 1001},
                     sharpness);
    all.emplace_back(DecodeShape{1, 2, 2, d, 128, 65}, std::vector<std::int32_t>{8193}, sharpness);
    std::vector<std::int32_t> lengths(40, 601);
    lengths[1] = 17;
    all.emplace_back(DecodeShape{40, 32, 8, d, 16, 40}, lengths, sharpness);
  }
  return all;
}

class DecodeTest : public DeviceTest {
 protected:
  std::vector<double> reference(const Decoded& in) {
    GuardedOutput<double> expected(in.results());
    attention_decode_reference(in.q->data(), in.cache(), expected.data(), in.shape, stream());
    synchronize();
    return expected.values();
  }

  /// As in attention_test.cpp.
  void expect_match(float sharpness) {
    constexpr double u = unit_roundoff<bf16>;
    for (const Decoded& in : cases(sharpness)) {
      SCOPED_TRACE(::testing::Message() << in.shape.batch << " x " << in.host_lengths[0] << ", "
                                        << in.shape.heads << " heads of " << in.shape.head_size);
      const std::vector<double> expected = reference(in);
      const auto most = [&](double value) {
        return (sharpness == 0 ? 1e-5 : 1.01 * u) + 1.01 * u * std::abs(value);
      };
      GuardedOutput<float> workspace(attention_decode_workspace(in.shape));
      GuardedOutput<bf16> direct(in.results());
      GuardedOutput<bf16> replayed(in.results());
      attention_decode(in.q->data(), in.cache(), direct.data(), workspace.data(), in.shape,
                       stream());
      synchronize();
      expect_within(direct.values(), expected, most);
      capture_and_replay(stream(), [&] {
        attention_decode(in.q->data(), in.cache(), replayed.data(), workspace.data(), in.shape,
                         stream());
      });
      expect_within(replayed.values(), expected, most);
      static_cast<void>(workspace.values());  // checks its guard
    }
  }
};

TEST_F(DecodeTest, ReferenceMatchesTheHost) {
  for (const Decoded& in : cases(4)) {
    expect_within(reference(in), in.on_host(), [](double) { return 1e-12; });
  }
}

TEST_F(DecodeTest, ResultsMatchTheReference) {
  expect_match(8);
}

// Then powers are exactly 1, and a lost key shows in the mean of the values.
TEST_F(DecodeTest, ScoresOfZeroGiveTheMean) {
  expect_match(0);
}

}  // namespace
}  // namespace warpgauge::kernels
