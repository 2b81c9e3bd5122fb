// SPDX-License-Identifier: Apache-2.0
#include "kernels/memory/transpose.hpp"

#include <stdexcept>

#include "kernels/device_test.hpp"

namespace warpgauge::kernels {
namespace {

// One element; edges on every side of a tile; whole tiles only; many tiles and edges again.
constexpr TransposeShape any_shapes[] = {{1, 1},   {1, 33},    {31, 33},    {33, 31},
                                         {64, 64}, {129, 257}, {1000, 1003}};
// Multiples of 4: one square of a thread; edges of a tile both ways; whole tiles; many tiles and
// edges.
constexpr TransposeShape shapes_of_vectors[] = {{4, 4},     {4, 68},   {68, 4},
                                                {128, 128}, {36, 100}, {1000, 1004}};

class TransposeTest : public DeviceTest {
 protected:
  static std::vector<double> transposed(const std::vector<float>& in, TransposeShape shape) {
    std::vector<double> out(in.size());
    for (std::size_t row = 0; row < shape.rows; ++row) {
      for (std::size_t column = 0; column < shape.columns; ++column) {
        out[column * shape.rows + row] = in[row * shape.columns + column];
      }
    }
    return out;
  }

  /// Runs launch, directly and captured, for each shape.
  template <class T, class Shapes, class Launch>
  void expect_transposes(const Shapes& shapes, const Launch& launch) const {
    for (const TransposeShape shape : shapes) {
      SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.columns);
      const std::size_t n = shape.rows * shape.columns;
      const std::vector<float> host_in = random_values(n, 5);
      const DeviceArray<float> in(host_in);
      const float* const input = in.data();
      GuardedOutput<T> direct(n);
      GuardedOutput<T> replayed(n);
      launch(input, direct.data(), shape, stream());
      synchronize();
      capture_and_replay(stream(), [&] { launch(input, replayed.data(), shape, stream()); });
      expect_same(direct.values(), transposed(host_in, shape));
      expect_same(replayed.values(), transposed(host_in, shape));
    }
  }
};

TEST_F(TransposeTest, ReferenceMatchesTheHost) {
  expect_transposes<double>(any_shapes, [](auto* in, auto* out, TransposeShape shape, auto stream) {
    transpose_reference(in, out, shape, 0, shape.rows * shape.columns, stream);
  });
}

TEST_F(TransposeTest, ReferenceOfAWindowIsThatWindowOfTheWhole) {
  constexpr TransposeShape shape{31, 33};
  constexpr std::size_t first = 30;  // the last of the output's first row
  constexpr std::size_t count = 40;
  const std::vector<float> host_in = random_values(shape.rows * shape.columns, 6);
  const DeviceArray<float> in(host_in);
  GuardedOutput<double> window(count);
  transpose_reference(in.data(), window.data(), shape, first, count, stream());
  synchronize();
  const std::vector<double> whole = transposed(host_in, shape);
  expect_same(window.values(), {whole.begin() + first, whole.begin() + first + count});
}

TEST_F(TransposeTest, NaiveTransposes) {
  expect_transposes<float>(any_shapes, transpose_naive);
}

TEST_F(TransposeTest, TiledTransposes) {
  expect_transposes<float>(any_shapes, transpose_tiled);
}

TEST_F(TransposeTest, PaddedTransposes) {
  expect_transposes<float>(any_shapes, transpose_padded);
}

TEST_F(TransposeTest, Vec4TransposesMultiplesOfFour) {
  expect_transposes<float>(shapes_of_vectors, transpose_vec4);
}

}  // namespace
}  // namespace warpgauge::kernels
