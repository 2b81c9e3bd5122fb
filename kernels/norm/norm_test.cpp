// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/norm.hpp"
#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

constexpr double u = 0x1p-24;  // unit roundoff of float
constexpr float epsilon = 1e-5F;

/// The relative error of rounding to T once.
template <class T>
constexpr double storing = sizeof(T) == sizeof(float) ? u : 0x1p-8;

// Rows hold up to 128 Ki elements of at most 1. Their sums err by u per addition: at most 128 in a
// thread and 20 over the threads.
constexpr double sums = 256 * u;

/// Whole vectors of either type: one, and what each shape of threads holds, some not filled.
const std::vector<RowsShape> shapes = {{1, 8},    {7, 1000}, {9, 1024},  {3, 2048},  {5, 4096},
                                       {3, 5000}, {3, 8192}, {3, 16384}, {2, 20000}, {2, 32768}};

/// Rows that are as long as `most_bytes`, or need as many threads as those but do not fill them.
template <class T>
std::vector<RowsShape> longest_rows(std::size_t most_bytes) {
  const std::size_t most = most_bytes / sizeof(T);
  return {{2, most}, {3, most / 8 * 5}};
}

/// More rows than a GPU of up to 148 SMs holds at once: a warp, a block or a cluster a row.
const std::vector<RowsShape> many_rows = {{9001, 32}, {300, 8192}, {100, 32768}};

/// A matrix or row on the device, and its values in double precision.
template <class T>
struct Matrix {
  Matrix(std::size_t n, unsigned seed) : Matrix(random_values_as<T>(n, seed)) {}
  explicit Matrix(const std::vector<T>& values) : device(values) {
    for (const T value : values) {
      host.push_back(static_cast<double>(value));
    }
  }
  const T* data() const { return device.data(); }
  DeviceArray<T> device;
  std::vector<double> host;
};

template <class T>
class NormTest : public DeviceTest {
 protected:
  /// scale(row) = 1 / sqrt(mean(x^2) + epsilon)
  static std::vector<double> rms_scales(const std::vector<double>& x, RowsShape shape) {
    std::vector<double> scales;
    for (std::size_t row = 0; row < shape.rows; ++row) {
      double squares = 0;
      for (std::size_t i = row * shape.columns; i < (row + 1) * shape.columns; ++i) {
        squares += x[i] * x[i];
      }
      scales.push_back(1 /
                       std::sqrt(squares / static_cast<double>(shape.columns) + double{epsilon}));
    }
    return scales;
  }

  static std::vector<double> scaled(const std::vector<double>& x, const std::vector<double>& gamma,
                                    const std::vector<double>& scales, RowsShape shape) {
    std::vector<double> out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      out[i] = x[i] * scales[i / shape.columns] * gamma[i % shape.columns];
    }
    return out;
  }

  /// `shapes`, and the longest rows of the forward pass.
  static std::vector<RowsShape> forward_shapes() {
    std::vector<RowsShape> all = shapes;
    const auto longest = longest_rows<T>(most_held_row_bytes);
    all.insert(all.end(), longest.begin(), longest.end());
    return all;
  }

  void expect_backward_of_all_shapes(bool centred) const {
    constexpr std::size_t most = most_backward_row_bytes;
    for (const auto& list : {shapes, longest_rows<T>(most), many_rows,
                             std::vector<RowsShape>{{40, most / sizeof(T)}}}) {
      for (const RowsShape shape : list) {
        expect_backward(shape, centred);
      }
    }
  }

  /// A sum over no rows is 0.
  void expect_no_rows_to_clear_gradients(bool centred) const {
    constexpr RowsShape shape{0, 24};
    GuardedOutput<float> dgamma(shape.columns);
    GuardedOutput<float> dbeta(shape.columns);
    GuardedOutput<double> reference(shape.columns);
    parameter_gradient_reference<T>(nullptr, nullptr, nullptr, nullptr, reference.data(), shape, 0,
                                    shape.columns, stream());
    capture_and_replay(stream(), [&] {
      if (centred) {
        layer_norm_backward<T>(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, dgamma.data(),
                               dbeta.data(), nullptr, shape, stream());
      } else {
        rms_norm_backward<T>(nullptr, nullptr, nullptr, nullptr, nullptr, dgamma.data(), nullptr,
                             shape, stream());
      }
    });
    const std::vector<double> zeros(shape.columns);
    expect_same(reference.values(), zeros);
    expect_same(dgamma.values(), zeros);
    if (centred) {
      expect_same(dbeta.values(), zeros);
    }
  }

  template <class Out>
  static void expect_near(const GuardedOutput<Out>& out, const std::vector<double>& expected,
                          double absolute, double relative) {
    expect_within(out.values(), expected,
                  [=](double value) { return absolute + relative * std::abs(value); });
  }

  struct Gradients {
    std::vector<double> dx, dgamma, dbeta;
  };

  /// Of both norms: the terms with means are left out if there are none.
  static Gradients gradients(const std::vector<double>& dy, const std::vector<double>& x,
                             const std::vector<double>& gamma, const std::vector<double>* means,
                             const std::vector<double>& scales, RowsShape shape) {
    Gradients result{std::vector<double>(x.size()), std::vector<double>(shape.columns),
                     std::vector<double>(shape.columns)};
    const auto columns = static_cast<double>(shape.columns);
    for (std::size_t row = 0; row < shape.rows; ++row) {
      const std::size_t start = row * shape.columns;
      const auto normal = [&](std::size_t i) {
        return (x[start + i] - (means != nullptr ? (*means)[row] : 0)) * scales[row];
      };
      double along = 0;
      double offset = 0;
      for (std::size_t i = 0; i < shape.columns; ++i) {
        const double g = dy[start + i] * gamma[i];
        along += g * normal(i) / columns;
        offset += means != nullptr ? g / columns : 0;
        result.dgamma[i] += dy[start + i] * normal(i);
        result.dbeta[i] += dy[start + i];
      }
      for (std::size_t i = 0; i < shape.columns; ++i) {
        result.dx[start + i] =
            scales[row] * (dy[start + i] * gamma[i] - offset - normal(i) * along);
      }
    }
    return result;
  }

  void expect_backward(RowsShape shape, bool centred) const {
    SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.columns << ", " << centred);
    const Matrix<T> dy(shape.rows * shape.columns, 1);
    const Matrix<T> x(shape.rows * shape.columns, 2);
    const Matrix<T> gamma(shape.columns, 3);
    const Matrix<float> means(shape.rows, 4);
    const Matrix<float> scales(shape.rows, 5);
    const Gradients expected =
        gradients(dy.host, x.host, gamma.host, centred ? &means.host : nullptr, scales.host, shape);
    GuardedOutput<T> dx(x.host.size());
    GuardedOutput<float> dgamma(shape.columns);
    GuardedOutput<float> dbeta(shape.columns);
    GuardedOutput<float> partials((centred ? 2 : 1) * backward_partials(shape.columns));
    capture_and_replay(stream(), [&] {
      if (centred) {
        layer_norm_backward(dy.data(), x.data(), gamma.data(), means.data(), scales.data(),
                            dx.data(), dgamma.data(), dbeta.data(), partials.data(), shape,
                            stream());
      } else {
        rms_norm_backward(dy.data(), x.data(), gamma.data(), scales.data(), dx.data(),
                          dgamma.data(), partials.data(), shape, stream());
      }
    });
    static_cast<void>(partials.values());  // checks the guard
    expect_near(dx, expected.dx, 4 * sums, storing<T>);
    // Terms are at most 2; the smallest is lost in no sum of these lengths.
    expect_near(dgamma, expected.dgamma, 0.004, 0);
    if (centred) {
      expect_near(dbeta, expected.dbeta, 0.004, 0);
    }
  }
};

using Types = ::testing::Types<float, __nv_bfloat16>;
TYPED_TEST_SUITE(NormTest, Types);

TYPED_TEST(NormTest, RmsNormMatchesTheHost) {
  using T = TypeParam;
  for (const RowsShape shape : this->forward_shapes()) {
    SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.columns);
    const std::size_t n = shape.rows * shape.columns;
    const Matrix<T> x(n, 1);
    const Matrix<T> gamma(shape.columns, 2);
    const auto scales = this->rms_scales(x.host, shape);
    GuardedOutput<T> out(n);
    GuardedOutput<float> scale(shape.rows);
    capture_and_replay(this->stream(), [&] {
      rms_norm(x.data(), gamma.data(), out.data(), scale.data(), shape, epsilon, this->stream());
    });
    this->expect_near(scale, scales, 0, sums);
    this->expect_near(out, this->scaled(x.host, gamma.host, scales, shape), 0, sums + storing<T>);
  }
}

// The norm is that of the sum as it is stored.
TYPED_TEST(NormTest, RmsNormOfASumMatchesTheHost) {
  using T = TypeParam;
  for (const RowsShape shape : this->forward_shapes()) {
    SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.columns);
    const std::size_t n = shape.rows * shape.columns;
    const auto x = random_values_as<T>(n, 1);
    const auto residual = random_values_as<T>(n, 2);
    std::vector<T> added;
    for (std::size_t i = 0; i < n; ++i) {
      added.push_back(static_cast<T>(static_cast<float>(x[i]) + static_cast<float>(residual[i])));
    }
    const Matrix<T> sum(added);
    const Matrix<T> gamma(shape.columns, 3);
    const DeviceArray<T> x_there(x);
    const DeviceArray<T> residual_there(residual);
    const auto scales = this->rms_scales(sum.host, shape);
    GuardedOutput<T> sum_out(n);
    GuardedOutput<T> out(n);
    GuardedOutput<float> scale(shape.rows);
    capture_and_replay(this->stream(), [&] {
      rms_norm_residual(x_there.data(), residual_there.data(), gamma.data(), sum_out.data(),
                        out.data(), scale.data(), shape, epsilon, this->stream());
    });
    expect_same(sum_out.values(), sum.host);
    this->expect_near(scale, scales, 0, sums);
    this->expect_near(out, this->scaled(sum.host, gamma.host, scales, shape), 0, sums + storing<T>);
  }
}

TYPED_TEST(NormTest, RmsNormBackwardMatchesTheHost) {
  this->expect_backward_of_all_shapes(false);
}

TYPED_TEST(NormTest, LayerNormBackwardMatchesTheHost) {
  this->expect_backward_of_all_shapes(true);
}

TYPED_TEST(NormTest, NoRowsClearTheGradientsOfParameters) {
  this->expect_no_rows_to_clear_gradients(false);
  this->expect_no_rows_to_clear_gradients(true);
}

TYPED_TEST(NormTest, ReferencesMatchTheHost) {
  using T = TypeParam;
  constexpr RowsShape shape{5, 33};
  constexpr std::size_t n = shape.rows * shape.columns;
  constexpr std::size_t first = 32;  // the last column of row 0
  constexpr std::size_t count = 68;  // up to the first of row 3
  const auto window = [](const std::vector<double>& whole) {
    return std::vector<double>(whole.begin() + first, whole.begin() + first + count);
  };
  const Matrix<T> dy(n, 1);
  const Matrix<T> x(n, 2);
  const Matrix<T> gamma(shape.columns, 3);
  const Matrix<float> means(shape.rows, 4);
  const Matrix<float> scales(shape.rows, 5);
  const auto rms = this->rms_scales(x.host, shape);
  GuardedOutput<double> out(count);
  GuardedOutput<double> scale(2);
  GuardedOutput<double> dx(count);
  GuardedOutput<double> dgamma(20);
  rms_norm_reference<T>(x.data(), nullptr, gamma.data(), out.data(), shape, epsilon, first, count,
                        this->stream());
  rms_scales_reference<T>(x.data(), nullptr, scale.data(), shape, epsilon, 3, 2, this->stream());
  norm_backward_reference<T>(dy.data(), x.data(), gamma.data(), means.data(), scales.data(),
                             dx.data(), shape, first, count, this->stream());
  parameter_gradient_reference<T>(dy.data(), x.data(), means.data(), scales.data(), dgamma.data(),
                                  shape, 13, 20, this->stream());
  this->synchronize();
  const auto expected =
      this->gradients(dy.host, x.host, gamma.host, &means.host, scales.host, shape);
  this->expect_near(out, window(this->scaled(x.host, gamma.host, rms, shape)), 0, 1e-12);
  this->expect_near(scale, {rms[3], rms[4]}, 0, 1e-12);
  this->expect_near(dx, window(expected.dx), 1e-12, 0);
  this->expect_near(dgamma, {expected.dgamma.begin() + 13, expected.dgamma.end()}, 1e-12, 0);
}

using QuantisedNormTest = NormTest<__nv_bfloat16>;

TEST_F(QuantisedNormTest, MatchesTheHostWithAScaleForEachRow) {
  using T = __nv_bfloat16;
  for (const RowsShape shape : forward_shapes()) {
    SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.columns);
    const std::size_t n = shape.rows * shape.columns;
    auto values = random_values_as<T>(n, 1);
    // Of the first row only a zero, and of the last one an element that is far from the others.
    values[n - 1] = static_cast<T>(-300.0F);
    if (shape.rows > 1) {
      std::fill(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(shape.columns),
                static_cast<T>(0.0F));
    }
    const Matrix<T> x(values);
    const Matrix<T> gamma(shape.columns, 2);
    const auto rms = rms_scales(x.host, shape);
    std::vector<double> expected_scales(shape.rows);
    std::vector<double> expected = scaled(x.host, gamma.host, rms, shape);
    for (std::size_t i = 0; i < n; ++i) {
      double& scale = expected_scales[i / shape.columns];
      scale = std::max(scale, std::abs(expected[i]) / 448);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double scale = expected_scales[i / shape.columns];
      expected[i] = scale > 0 ? expected[i] / scale : 0;
    }
    std::vector<std::uint8_t> poison(n, 0x7f);  // NaN
    const DeviceArray<std::uint8_t> bytes(poison);
    auto* const out = reinterpret_cast<__nv_fp8_e4m3*>(const_cast<std::uint8_t*>(bytes.data()));
    GuardedOutput<float> scales(shape.rows);
    GuardedOutput<double> reference(n);
    GuardedOutput<double> scales_reference(shape.rows);
    capture_and_replay(stream(), [&] {
      rms_norm_e4m3(x.data(), gamma.data(), out, scales.data(), shape, epsilon, stream());
      rms_norm_e4m3_reference(x.data(), gamma.data(), reference.data(), shape, 0, n, stream());
      e4m3_scales_reference(x.data(), gamma.data(), scales_reference.data(), shape, epsilon, 0,
                            shape.rows, stream());
    });
    expect_near(scales, expected_scales, 0, sums);
    expect_near(scales_reference, expected_scales, 0, 1e-10);
    expect_near(reference, expected, 0, 1e-10);
    std::vector<double> got;
    for (const std::uint8_t byte : bytes.download(stream())) {
      __nv_fp8_e4m3 value;
      value.__x = byte;
      got.push_back(static_cast<double>(static_cast<float>(value)));
    }
    // Half of the least subnormal, 2^-9; a quotient next to a middle may be rounded either way.
    expect_within(got, expected,
                  [](double value) { return 0x1p-10 + (0x1p-4 + 1e-5) * std::abs(value); });
  }
}

// Squares of small elements are 0, too, but their scale is not.
TEST_F(QuantisedNormTest, OnlyRowsOfZerosHaveNoScale) {
  using T = __nv_bfloat16;
  constexpr RowsShape shape{2, 8};
  std::vector<T> values(16, static_cast<T>(0.0F));
  std::fill(values.begin() + 8, values.end(), static_cast<T>(0x1p-90F));
  const Matrix<T> x(values);
  const Matrix<T> gamma(std::vector<T>(8, static_cast<T>(1.0F)));
  const auto scales_with = [&](float least) {
    GuardedOutput<float> scales(2);
    DeviceArray<__nv_fp8_e4m3> out(16);
    rms_norm_e4m3(x.data(), gamma.data(), out.data(), scales.data(), shape, least, stream());
    synchronize();
    return scales.values();
  };
  expect_within(scales_with(1), {0, 0x1p-90 / 448}, [](double value) { return 1e-6 * value; });
  EXPECT_EQ(scales_with(0).front(), 0);
}

// 448 / 2^-125 would be infinity.
TEST_F(QuantisedNormTest, RowsOfTheSmallestNumbersKeepTheirProportions) {
  using T = __nv_bfloat16;
  constexpr RowsShape shape{1, 8};
  std::vector<T> values(8, static_cast<T>(0.0F));
  values[1] = static_cast<T>(0x1p-125F);
  values[6] = static_cast<T>(-0x1p-126F);
  const Matrix<T> x(values);
  const Matrix<T> gamma(std::vector<T>(8, static_cast<T>(1.0F)));
  DeviceArray<__nv_fp8_e4m3> out(8);
  GuardedOutput<float> scales(1);
  GuardedOutput<double> reference(8);
  GuardedOutput<double> scales_reference(1);
  rms_norm_e4m3(x.data(), gamma.data(), out.data(), scales.data(), shape, 1, stream());
  rms_norm_e4m3_reference(x.data(), gamma.data(), reference.data(), shape, 0, 8, stream());
  e4m3_scales_reference(x.data(), gamma.data(), scales_reference.data(), shape, 1, 0, 1, stream());
  synchronize();
  const std::vector<double> expected{0, 7, 0, 0, 0, 0, -3.5, 0};  // 448 / 2^6
  std::vector<double> got;
  for (const __nv_fp8_e4m3 value : out.download(stream())) {
    got.push_back(static_cast<double>(static_cast<float>(value)));
  }
  expect_same(got, expected);
  expect_same(reference.values(), expected);
  expect_near(scales, {0x1p-119 / 448}, 0, 1e-6);
  expect_near(scales_reference, {0x1p-119 / 448}, 0, 1e-10);
}

// 2^-150, which float rounds to 0, and the next greater product of two bf16.
TEST_F(QuantisedNormTest, RowsOfProductsThatFloatRoundsToZeroHaveNoScale) {
  using T = __nv_bfloat16;
  constexpr RowsShape shape{2, 8};
  std::vector<T> values(16, static_cast<T>(0.0F));
  values[3] = static_cast<T>(0x1p-75F);
  values[8 + 3] = static_cast<T>(0x1.02p-75F);
  const Matrix<T> x(values);
  const Matrix<T> gamma(std::vector<T>(8, static_cast<T>(0x1p-75F)));
  DeviceArray<__nv_fp8_e4m3> out(16);
  GuardedOutput<float> scales(2);
  GuardedOutput<double> scales_reference(2);
  rms_norm_e4m3(x.data(), gamma.data(), out.data(), scales.data(), shape, 1, stream());
  e4m3_scales_reference(x.data(), gamma.data(), scales_reference.data(), shape, 1, 0, 2, stream());
  synchronize();
  expect_near(scales, {0, 0x1p-119 / 448}, 0, 1e-6);
  expect_near(scales_reference, {0, 0x1p-119 / 448}, 0, 1e-10);
}

}  // namespace
}  // namespace warpgauge::kernels
