// SPDX-License-Identifier: Apache-2.0
// The reference matches the host, and every rung matches the reference, launched or captured.
#include "kernels/attention/attention.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <warpgauge/cuda/elements.hpp>
#include "kernels/attention/hopper/hopper.hpp"
#include "kernels/device_test.hpp"
#include "kernels/hopper/tensor_map.hpp"

namespace warpgauge::kernels {

static std::ostream& operator<<(std::ostream& out, const AttentionShape& shape) {
  return out << shape.batch << " x " << shape.length << ", " << shape.heads << " heads of "
             << shape.head_size << ", " << shape.kv_heads << " of keys"
             << (shape.causal ? ", causal" : "");
}

namespace {

using bf16 = __nv_bfloat16;
using Values = std::vector<bf16>;

/// Batch, length, heads, kv_heads: one key; edges on both sides of 32, 64, 128 and 192 queries or
/// keys; several tiles, not whole; more tiles than multiprocessors, so that a block has three or
/// more, of unequal lengths.
constexpr std::size_t sizes[][4] = {{1, 1, 1, 1},   {2, 31, 2, 1},   {1, 64, 3, 3},
                                    {1, 65, 2, 2},  {2, 127, 4, 2},  {1, 128, 2, 1},
                                    {3, 129, 2, 2}, {1, 192, 2, 1},  {2, 193, 2, 1},
                                    {1, 300, 6, 2}, {1, 1000, 1, 1}, {3, 400, 35, 7}};

/// Calls body(shape) for all sizes, both head sizes, and both kinds of attention.
template <class Body>
void for_each_shape(const Body& body) {
  for (const auto& [batch, length, heads, kv_heads] : sizes) {
    for (const std::size_t head_size : {64, 128}) {
      for (const bool causal : {false, true}) {
        const AttentionShape shape{batch, length, heads, kv_heads, head_size, causal};
        SCOPED_TRACE(::testing::Message() << shape);
        body(shape);
      }
    }
  }
}

std::size_t query_elements(AttentionShape shape) {
  return shape.batch * shape.length * shape.heads * shape.head_size;
}
std::size_t key_elements(AttentionShape shape) {
  return shape.batch * shape.length * shape.kv_heads * shape.head_size;
}

/// Inputs on the host and the device. `sharpness` multiplies q: at 0 a query sees all keys alike,
/// at 8 a few keys have most of the weight.
struct Inputs {
  Inputs(AttentionShape shape, float sharpness)
      : host_q(scaled(query_elements(shape), sharpness)),
        host_k(random_values_as<bf16>(key_elements(shape), 2)),
        host_v(random_values_as<bf16>(key_elements(shape), 3)),
        q(host_q),
        k(host_k),
        v(host_v) {}

  static Values scaled(std::size_t n, float sharpness) {
    Values values;
    for (const float value : random_values(n, 1)) {
      values.push_back(bf16(value * sharpness));
    }
    return values;
  }

  Values host_q, host_k, host_v;
  DeviceArray<bf16> q, k, v;
};

std::vector<double> on_host(const Inputs& in, AttentionShape shape) {
  const std::size_t d = shape.head_size;
  const std::vector<double> host_q = doubles_of(in.host_q);
  const std::vector<double> host_k = doubles_of(in.host_k);
  const std::vector<double> host_v = doubles_of(in.host_v);
  std::vector<double> out(query_elements(shape));
  std::vector<double> powers(shape.length);
  for (std::size_t row = 0; row < shape.batch * shape.length; ++row) {
    const std::size_t first = row / shape.length * shape.length;
    const std::size_t keys = shape.causal ? row - first + 1 : shape.length;
    for (std::size_t head = 0; head < shape.heads; ++head) {
      const double* const q = host_q.data() + (row * shape.heads + head) * d;
      const auto place = [&](std::size_t key) {
        return ((first + key) * shape.kv_heads + head / (shape.heads / shape.kv_heads)) * d;
      };
      double largest = -INFINITY;
      for (std::size_t key = 0; key < keys; ++key) {
        double score = 0;
        for (std::size_t i = 0; i < d; ++i) {
          score += q[i] * host_k[place(key) + i];
        }
        powers[key] = score / std::sqrt(static_cast<double>(d));
        largest = std::max(largest, powers[key]);
      }
      double sum = 0;
      double* const to = out.data() + (row * shape.heads + head) * d;
      for (std::size_t key = 0; key < keys; ++key) {
        const double power = std::exp(powers[key] - largest);
        sum += power;
        for (std::size_t i = 0; i < d; ++i) {
          to[i] += power * host_v[place(key) + i];
        }
      }
      for (std::size_t i = 0; i < d; ++i) {
        to[i] /= sum;
      }
    }
  }
  return out;
}

using Launcher = void (*)(const bf16*, const bf16*, const bf16*, bf16*, AttentionShape,
                          cudaStream_t);

struct Rung {
  const char* name;
  Launcher launch;
  bool needs_wgmma = false;
};

std::vector<Rung> rungs() {
  std::vector<Rung> all{{"attention_naive", attention_naive},
                        {"attention_tiled", attention_tiled},
                        {"attention_mma", attention_mma},
                        {"attention_wgmma", attention_wgmma, true},
                        {"attention_ping_pong", attention_ping_pong, true},
                        {"attention_large_tiles", attention_large_tiles, true}};
  std::erase_if(all, [](const Rung& rung) { return rung.needs_wgmma && !has_wgmma(); });
  return all;
}

class AttentionTest : public DeviceTest {
 protected:
  std::vector<double> reference(const Inputs& in, AttentionShape shape) {
    GuardedOutput<double> expected(query_elements(shape));
    attention_reference(in.q.data(), in.k.data(), in.v.data(), expected.data(), shape, 0,
                        query_elements(shape), stream());
    synchronize();
    return expected.values();
  }

  /// Values are at most 1, so rounding powers to bf16 moves a result by at most u, and rounding the
  /// result by u of it.
  void expect_all_rungs(AttentionShape shape, float sharpness) {
    constexpr double u = unit_roundoff<bf16>;
    const Inputs in(shape, sharpness);
    const std::vector<double> expected = reference(in, shape);
    const auto most = [&](double value) {
      return (sharpness == 0 ? 1e-5 : 1.01 * u) + 1.01 * u * std::abs(value);
    };
    for (const Rung& rung : rungs()) {
      SCOPED_TRACE(rung.name);
      GuardedOutput<bf16> out(expected.size());
      const auto launch = [&] {
        rung.launch(in.q.data(), in.k.data(), in.v.data(), out.data(), shape, stream());
      };
      if (shape.causal) {
        capture_and_replay(stream(), launch);
      } else {
        launch();
        synchronize();
      }
      expect_within(out.values(), expected, most);
    }
  }
};

TEST_F(AttentionTest, ReferenceMatchesTheHost) {
  for_each_shape([&](AttentionShape shape) {
    if (query_elements(shape) * shape.length > 30'000'000) {
      return;  // slow on the host
    }
    const Inputs in(shape, 4);
    expect_within(reference(in, shape), on_host(in, shape), [](double) { return 1e-12; });
  });
}

TEST_F(AttentionTest, ReferenceOfAWindowIsThatWindowOfTheWhole) {
  constexpr AttentionShape shape{2, 70, 2, 1, 64, true};
  constexpr std::size_t first = 69 * 128 + 5;  // the last query of the first sequence
  constexpr std::size_t count = 300;
  const Inputs in(shape, 1);
  const std::vector<double> whole = reference(in, shape);
  GuardedOutput<double> window(count);
  attention_reference(in.q.data(), in.k.data(), in.v.data(), window.data(), shape, first, count,
                      stream());
  synchronize();
  EXPECT_EQ(window.values(),
            std::vector<double>(whole.begin() + first, whole.begin() + first + count));
}

TEST_F(AttentionTest, RungsMatchTheReference) {
  for_each_shape([&](AttentionShape shape) { expect_all_rungs(shape, 8); });
}

// Then powers are exactly 1, and a lost key shows in the mean of the values.
TEST_F(AttentionTest, ScoresOfZeroGiveTheMean) {
  for_each_shape([&](AttentionShape shape) { expect_all_rungs(shape, 0); });
}

TEST_F(AttentionTest, NanInAQueryShowsInItsResultAlone) {
  for (const AttentionShape shape :
       {AttentionShape{1, 200, 2, 1, 64, false}, AttentionShape{1, 200, 2, 1, 64, true},
        AttentionShape{1, 200, 2, 1, 128, false}, AttentionShape{1, 200, 2, 1, 128, true}}) {
    SCOPED_TRACE(::testing::Message() << shape);
    constexpr std::size_t row = 150 * 2 + 1;  // query 150 of head 1
    const Inputs in(shape, 1);
    Values host_q = in.host_q;
    host_q[row * shape.head_size + 17] = bf16(NAN);
    const DeviceArray<bf16> q(host_q);
    for (const Rung& rung : rungs()) {
      SCOPED_TRACE(rung.name);
      GuardedOutput<bf16> out(query_elements(shape));
      rung.launch(q.data(), in.k.data(), in.v.data(), out.data(), shape, stream());
      synchronize();
      const Values values = out.values();
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_FALSE(GuardedOutput<bf16>::is_poison(values[i])) << i << " is not written";
        ASSERT_EQ(std::isnan(static_cast<float>(values[i])), i / shape.head_size == row) << i;
      }
    }
  }
}

}  // namespace
}  // namespace warpgauge::kernels
