// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of softmax and layer norm: the formulas on the host, rows in which an error
// shows, and the tolerances.
#pragma once

#include <cmath>
#include <set>

#include "kernels/device_test.hpp"
#include "kernels/reduce/rows.hpp"

namespace warpgauge::kernels {

inline constexpr double u = 0x1p-24;  // unit roundoff of float
inline constexpr float epsilon = 1e-5F;
inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Any number of columns: one element, fewer and more than a warp, more than a block, many rows.
inline constexpr RowsShape any_shapes[] = {{1, 1}, {31, 33},     {33, 31},
                                           {5, 1}, {1000, 1003}, {2, 65537}};

/// Whole vectors of either type: one, and what each shape of threads holds, up to a cluster of four
/// blocks; some shapes are not full.
template <class T>
std::vector<RowsShape> held_shapes() {
  std::vector<RowsShape> shapes = {{1, 8},     {7, 1000},  {9, 1024}, {3, 2048},
                                   {5, 4096},  {3, 5000},  {3, 8192}, {3, 16384},
                                   {2, 32768}, {2, 40000}, {5, 65536}};
  if constexpr (sizeof(T) == 2) {
    shapes.push_back({2, 100000});  // four blocks, not filled
    shapes.push_back({2, 131072});
  }
  return shapes;
}

/// Positions where elements are the first or last of a vector, a thread, a warp, a block or a rank
/// of a cluster, which all hold powers of two or eighths of a row. Groups of up to eight positions;
/// each group is tested in its own row.
inline std::vector<std::vector<std::size_t>> edges(std::size_t columns) {
  std::set<std::size_t> places = {0, columns - 1};
  for (std::size_t edge = 1; edge < columns; edge *= 2) {
    places.insert({edge - 1, edge, columns - edge});
  }
  for (std::size_t eighth = 1; eighth < 8; ++eighth) {
    const std::size_t edge = columns * eighth / 8;
    places.insert({edge == 0 ? 0 : edge - 1, edge});
  }
  std::vector<std::vector<std::size_t>> groups;
  for (const std::size_t place : places) {
    if (groups.empty() || groups.back().size() == 8) {
      groups.emplace_back();
    }
    groups.back().push_back(place);
  }
  return groups;
}

inline constexpr RowsShape extremes{7, 1024};  // a row for each of them

/// The relative error of rounding to T once.
template <class T>
inline constexpr double storing = sizeof(T) == sizeof(float) ? u : 0x1p-8;

struct Tolerances {
  double absolute, relative;
};

template <class T>
class RowsTest : public DeviceTest {
 protected:
  using Values = std::vector<float>;

  struct Row {
    explicit Row(const Values& values) : held(values.begin(), values.end()), device(held) {}
    const T* data() const { return device.data(); }
    std::vector<T> held;
    DeviceArray<T> device;
  };

  /// Expects NaN that was written where NaN is expected, otherwise values within tolerance.
  template <class Out>
  static void expect_close(const std::vector<Out>& actual, std::vector<double> expected,
                           Tolerances tolerance) {
    std::vector<double> values(actual.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      values[i] = static_cast<double>(actual[i]);
      if (std::isnan(expected[i]) && std::isnan(values[i]) &&
          !GuardedOutput<Out>::is_poison(actual[i])) {
        values[i] = expected[i] = 0;
      }
    }
    expect_within(values, expected, [=](double value) {
      return tolerance.absolute + tolerance.relative * std::abs(value);
    });
  }

  /// Compares launch(in, gamma, beta, out, shape, stream), called directly and captured, with
  /// reference() of the values as T holds them.
  template <class Out = T, class Launch, class Reference>
  void expect_rows(RowsShape shape, const Values& values, const Launch& launch,
                   const Reference& reference, Tolerances tolerance) const {
    SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.columns);
    Values gamma_values(shape.columns);
    Values beta_values(shape.columns);
    for (std::size_t i = 0; i < shape.columns; ++i) {
      gamma_values[i] = gamma_at(i);
      beta_values[i] = beta_at(i);
    }
    const Row in(values);
    const Row gamma(gamma_values);
    const Row beta(beta_values);
    const auto call = [&](Out* out) {
      launch(in.data(), gamma.data(), beta.data(), out, shape, stream());
    };
    const std::vector<double> expected = reference({in.held.begin(), in.held.end()}, shape);
    GuardedOutput<Out> direct(values.size());
    GuardedOutput<Out> replayed(values.size());
    call(direct.data());
    synchronize();
    capture_and_replay(stream(), [&] { call(replayed.data()); });
    expect_close(direct.values(), expected, tolerance);
    expect_close(replayed.values(), expected, tolerance);
  }

  static std::vector<double> softmax_on_host(const std::vector<double>& in, RowsShape shape) {
    std::vector<double> out(in.size());
    for (std::size_t first = 0; first < in.size(); first += shape.columns) {
      double largest = -INFINITY;
      double sum = 0;
      for (std::size_t i = first; i < first + shape.columns; ++i) {
        largest = std::max(largest, in[i]);
      }
      for (std::size_t i = first; i < first + shape.columns; ++i) {
        sum += std::exp(in[i] - largest);
      }
      for (std::size_t i = first; i < first + shape.columns; ++i) {
        out[i] = std::exp(in[i] - largest) / sum;
      }
    }
    return out;
  }

  /// Uses gamma[i] = 1 + (i % 5) / 4 and beta[i] = (i % 3) / 2, which every type here holds
  /// exactly.
  static std::vector<double> layer_norm_on_host(const std::vector<double>& in, RowsShape shape) {
    std::vector<double> out(in.size());
    const auto columns = static_cast<double>(shape.columns);
    for (std::size_t first = 0; first < in.size(); first += shape.columns) {
      double mean = 0;
      double variance = 0;
      for (std::size_t i = 0; i < shape.columns; ++i) {
        mean += in[first + i] / columns;
      }
      for (std::size_t i = 0; i < shape.columns; ++i) {
        variance += (in[first + i] - mean) * (in[first + i] - mean) / columns;
      }
      for (std::size_t i = 0; i < shape.columns; ++i) {
        const double normal = (in[first + i] - mean) / std::sqrt(variance + double{epsilon});
        out[first + i] = normal * double{gamma_at(i)} + double{beta_at(i)};
      }
    }
    return out;
  }
  static float gamma_at(std::size_t i) { return 1.0F + static_cast<float>(i % 5) / 4; }
  static float beta_at(std::size_t i) { return static_cast<float>(i % 3) / 2; }

  static constexpr auto softmax_of = [](auto launch) {
    return [=](const T* in, const T* /*gamma*/, const T* /*beta*/, auto* out, RowsShape shape,
               cudaStream_t stream) { launch(in, out, shape, stream); };
  };
  static constexpr auto layer_norm_of = [](auto launch) {
    return [=](const T* in, const T* gamma, const T* beta, auto* out, RowsShape shape,
               cudaStream_t stream) { launch(in, gamma, beta, out, shape, epsilon, stream); };
  };

  // Elements are -1 to 1. x - m and the powers' arguments err by up to 2 u, and the powers by
  // another 4 units in the last place (8 u; CUDA C++ Programming Guide, "Intrinsic Functions"). The
  // sum errs by u per addition of an element: 64 in its thread (128 online, if rescaled each time),
  // 20 over the threads. The quotient doubles that; all errors count as if of one sign.
  static constexpr Tolerances of_softmax{0, 512 * u + storing<T>};
  // Sums err as above, so that mean and variance, both at most 1, err by at most 200 u. The result
  // has about twice the distance from the mean (the deviation is 0.77), times gamma of up to 2.
  static constexpr Tolerances of_layer_norm{1024 * u, storing<T>};

  /// Equal elements must share 1 evenly. In float, a power lost or counted twice moves the shares
  /// by 128 u or more at the sizes here.
  template <class Launch>
  void expect_even_shares(RowsShape shape, const Launch& launch) const {
    expect_rows(shape, Values(shape.rows * shape.columns, 0.5F), softmax_of(launch),
                softmax_on_host, {0, 4 * u + storing<T>});
  }

  /// Rows are -infinity except for up to eight equal elements, which share 1. One that is lost or
  /// counted twice moves the shares by an eighth, in either type. All other results are 0.
  template <class Launch>
  void expect_few_share(std::size_t columns, const Launch& launch) const {
    const auto groups = edges(columns);
    Values values(groups.size() * columns, -infinity);
    for (std::size_t row = 0; row < groups.size(); ++row) {
      for (const std::size_t place : groups[row]) {
        values[row * columns + place] = 0.5F;
      }
    }
    expect_rows({groups.size(), columns}, values, softmax_of(launch), softmax_on_host,
                {0, 4 * u + storing<T>});
  }

  /// Elements alternate between -1 and 1, as many of each. All sums are exact. 1 / columns errs by
  /// u unless it is a power of two, which moves the variance by 2 u; the root and what follows err
  /// by 6 u, times gamma of up to 2. In float, a lost square moves the result by 1 / (2 columns),
  /// which is 128 u or more at the sizes here.
  template <class Launch>
  void expect_exact_moments(RowsShape shape, const Launch& launch) const {
    Values values(shape.rows * shape.columns);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = i % shape.columns % 2 == 0 ? 1.0F : -1.0F;
    }
    expect_rows(shape, values, layer_norm_of(launch), layer_norm_on_host, {32 * u, storing<T>});
  }

  /// Rows are zero except for up to eight elements that alternate between 1 and -1. A lost one
  /// moves the variance by an eighth or more, in either type. The variance errs by at most 200 u of
  /// itself, as above, and so its root by 100 u. The mean is 0, or 1 / columns in one row, and errs
  /// by u of the largest partial sum, at most 1 in one thread's elements. So the product with gamma
  /// errs by 256 u of itself, which is at most 1 (beta) more than the result.
  template <class Launch>
  void expect_few_apart(std::size_t columns, const Launch& launch) const {
    const auto groups = edges(columns);
    Values values(groups.size() * columns, 0.0F);
    for (std::size_t row = 0; row < groups.size(); ++row) {
      for (std::size_t i = 0; i < groups[row].size(); ++i) {
        values[row * columns + groups[row][i]] = i % 2 == 0 ? 1.0F : -1.0F;
      }
    }
    expect_rows({groups.size(), columns}, values, layer_norm_of(launch), layer_norm_on_host,
                {1024 * u, 256 * u + storing<T>});
  }

  /// Rows of 0.5 must give beta. Sums are exact; the mean errs by 2 u of 0.5. The distance from it,
  /// u, is multiplied by the root of 1 / epsilon, 316, and by gamma of up to 2. A lost element
  /// moves the mean by 0.5 / columns, and the result by that times the same factor: by more than
  /// 0.001 at the sizes here, compared with 1024 u = 6e-5 where beta is 0, in either type.
  template <class Launch>
  void expect_beta_of_constant_rows(RowsShape shape, const Launch& launch) const {
    expect_rows(shape, Values(shape.rows * shape.columns, 0.5F), layer_norm_of(launch),
                layer_norm_on_host, {1024 * u, storing<T>});
  }

  /// Elements are 100 to 200 of either sign, so that powers overflow in float unless the row's
  /// largest is subtracted first. The argument of a power, up to 400, errs by u of itself, and the
  /// power by 1.2 units in the last place for each unit of the argument. Results below float's
  /// least number are lost.
  template <class Launch>
  void expect_no_overflow(RowsShape shape, const Launch& launch) const {
    Values values = random_values(shape.rows * shape.columns, 8);
    std::transform(values.begin(), values.end(), values.begin(), [](float x) { return 200 * x; });
    expect_rows(shape, values, softmax_of(launch), softmax_on_host,
                {0x1p-126, 1536 * u + storing<T>});
  }

  template <class Launch>
  void expect_softmax_of_extremes(const Launch& launch) const {
    Values values = random_values(extremes.rows * extremes.columns, 3);
    const auto row = [&values](std::size_t i) { return values.begin() + i * extremes.columns; };
    std::fill(row(1), row(1) + 1000, -infinity);  // masked, including all elements of some threads
    std::fill(row(2), row(3), -infinity);
    row(3)[700] = infinity;
    row(4)[1023] = nan;
    // Near the largest value of either type; and powers that do not overflow, but whose sum does.
    std::transform(row(5), row(6), row(5), [](float x) { return 0x1p126F * x; });
    std::transform(row(6), values.end(), row(6), [](float x) { return 88 + x; });
    expect_rows(extremes, values, softmax_of(launch), softmax_on_host,
                {0x1p-126, 1536 * u + storing<T>});
  }
};

}  // namespace warpgauge::kernels
