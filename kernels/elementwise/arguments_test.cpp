// SPDX-License-Identifier: Apache-2.0
// Arguments that the elementwise launchers refuse, or that need no work, before any CUDA call.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/testing/refusal.hpp>
#include "kernels/elementwise/elementwise.hpp"

namespace warpgauge::kernels {
namespace {

// Never read or written: every call below ends before a launch.
alignas(128) float memory[64];
float* const aligned = memory;
float* const between_vectors = memory + 1;
float* const between_lines = memory + 4;
float* const between_floats = reinterpret_cast<float*>(reinterpret_cast<char*>(memory) + 2);
double* const doubles = reinterpret_cast<double*>(memory);
double* const between_doubles = reinterpret_cast<double*>(memory + 1);
__nv_bfloat16* const halves = reinterpret_cast<__nv_bfloat16*>(memory);
__nv_bfloat16* const between_vectors_of_halves = halves + 4;  // aligned to 8 bytes, not to 16

constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();
constexpr std::size_t past_scalar = 256 * max_grid_blocks + 1;
constexpr std::size_t past_vectors = 512 * max_grid_blocks + 1;
constexpr std::size_t past_cub = 128 * max_grid_blocks + 1;

/// `launch` begins its messages with `name` and requires `alignment`.
template <class Launch>
void expect_refuses_bad_pointers(const std::string& name, std::size_t alignment, Launch launch) {
  SCOPED_TRACE(name);
  float* const crooked = alignment > alignof(float) ? between_vectors : between_floats;
  const std::string misaligned = " is not aligned to " + std::to_string(alignment) + " bytes";
  const auto message = [&](const float* in, float* out, std::size_t n) {
    return refusal([&] { launch(in, out, n); });
  };
  EXPECT_EQ(message(nullptr, nullptr, 0), "");
  EXPECT_EQ(message(nullptr, aligned, 1), name + ": in is null");
  EXPECT_EQ(message(aligned, nullptr, 1), name + ": out is null");
  EXPECT_EQ(message(crooked, aligned, 1), name + ": in" + misaligned);
  EXPECT_EQ(message(aligned, crooked, 1), name + ": out" + misaligned);
  EXPECT_EQ(message(crooked, crooked, 0), "");
}

TEST(ElementwiseArguments, BadPointersAreRefused) {
  const auto check = [](const std::string& name, std::size_t alignment, auto launcher) {
    expect_refuses_bad_pointers(name, alignment, [=](const float* in, float* out, std::size_t n) {
      launcher(in, out, n, nullptr, Copy{});
    });
  };
  check("transform_scalar", 4, transform_scalar<Copy>);
  check("transform_grid_stride", 4, transform_grid_stride<Copy>);
  check("transform_vector", 16, transform_vector<Copy>);
  check("transform_thrust", 4, transform_thrust<Copy>);
  check("transform_cub", 4, transform_cub<Copy>);
  expect_refuses_bad_pointers("chain_of_four", 16, [](const float* in, float* out, std::size_t n) {
    chain_of_four(Chain{}, in, aligned, out, n, nullptr);
  });
  expect_refuses_bad_pointers("chain_of_four_thrust", 4,
                              [](const float* in, float* out, std::size_t n) {
                                chain_of_four_thrust(Chain{}, in, aligned, out, n, nullptr);
                              });
  expect_refuses_bad_pointers("chain_of_four_cub", 4,
                              [](const float* in, float* out, std::size_t n) {
                                chain_of_four_cub(Chain{}, in, aligned, out, n, nullptr);
                              });
  expect_refuses_bad_pointers("copy_strided", 4, [](const float* in, float* out, std::size_t n) {
    copy_strided(in, out, n, 2, nullptr);
  });
}

TEST(ElementwiseArguments, ConversionsAskFor16BytesOnBothSides) {
  const auto narrow = [](__nv_bfloat16* out) {
    return refusal([=] { transform_vector<Copy, float, __nv_bfloat16>(aligned, out, 1, nullptr); });
  };
  const auto widen = [](const __nv_bfloat16* in) {
    return refusal([=] { transform_vector<Copy, __nv_bfloat16, float>(in, aligned, 1, nullptr); });
  };
  EXPECT_EQ(narrow(between_vectors_of_halves), "transform_vector: out is not aligned to 16 bytes");
  EXPECT_EQ(widen(between_vectors_of_halves), "transform_vector: in is not aligned to 16 bytes");
}

TEST(ElementwiseArguments, ReferenceRefusesBadPointers) {
  const auto reference = [](const float* in, double* expected, std::size_t n) {
    return refusal([=] { transform_reference<Copy>(in, expected, n, nullptr); });
  };
  EXPECT_EQ(reference(nullptr, nullptr, 0), "");
  EXPECT_EQ(reference(nullptr, doubles, 1), "transform_reference: in is null");
  EXPECT_EQ(reference(aligned, nullptr, 1), "transform_reference: expected is null");
  EXPECT_EQ(reference(aligned, between_doubles, 1),
            "transform_reference: expected is not aligned to 8 bytes");
}

TEST(ElementwiseArguments, MoreThanTheGridHoldsIsRefused) {
  EXPECT_EQ(refusal([] { transform_scalar<Copy>(aligned, aligned, past_scalar, nullptr); }),
            "transform_scalar: 549755813633 elements need more than 2147483647 blocks of 256");
  EXPECT_NE(refusal([] { transform_reference<Copy>(aligned, doubles, past_scalar, nullptr); }), "");
  EXPECT_NE(refusal([] { transform_vector<Copy>(aligned, aligned, past_vectors, nullptr); }), "");
  EXPECT_NE(refusal([] { transform_vector<Copy>(aligned, aligned, huge, nullptr); }), "");
  EXPECT_NE(refusal([] { copy_strided(aligned, aligned, past_scalar, 1, nullptr); }), "");
  EXPECT_NE(refusal([] { copy_misaligned(aligned, aligned, past_scalar, nullptr); }), "");
  EXPECT_NE(refusal([] { copy_strided_reference(aligned, doubles, past_scalar, 1, nullptr); }), "");
}

TEST(ElementwiseArguments, MoreThanTheLibrariesCountIsRefused) {
  EXPECT_EQ(refusal([] { transform_thrust<Copy>(aligned, aligned, huge, nullptr); }),
            "transform_thrust: 18446744073709551615 elements are more than 1152921504606846975");
  EXPECT_EQ(refusal([] { transform_cub<Copy>(aligned, aligned, past_cub, nullptr); }),
            "transform_cub: 274877906817 elements are more than 274877906816");
  EXPECT_EQ(
      refusal([] { chain_of_four_thrust(Chain{}, aligned, aligned, aligned, huge, nullptr); }),
      "chain_of_four_thrust: 18446744073709551615 elements are more than "
      "1152921504606846975");
  EXPECT_EQ(
      refusal([] { chain_of_four_cub(Chain{}, aligned, aligned, aligned, past_cub, nullptr); }),
      "chain_of_four_cub: 274877906817 elements are more than 274877906816");
}

TEST(ElementwiseArguments, StridesThatCannotBeAreRefused) {
  EXPECT_EQ(refusal([] { copy_strided(aligned, aligned, 1, 0, nullptr); }),
            "copy_strided: the stride is 0");
  EXPECT_EQ(refusal([] { copy_strided(aligned, aligned, 4, huge / 8, nullptr); }),
            "copy_strided: 4 elements are more than 2");
  EXPECT_EQ(refusal([] { copy_strided_reference(aligned, doubles, 1, 0, nullptr); }),
            "copy_strided_reference: the stride is 0");
}

TEST(ElementwiseArguments, MisalignedCopyRefusesWhatIsOffAlready) {
  EXPECT_EQ(refusal([] { copy_misaligned(nullptr, nullptr, 0, nullptr); }), "");
  EXPECT_EQ(refusal([] { copy_misaligned(nullptr, aligned, 1, nullptr); }),
            "copy_misaligned: in is null");
  EXPECT_EQ(refusal([] { copy_misaligned(between_lines, aligned, 1, nullptr); }),
            "copy_misaligned: in is not aligned to 128 bytes");
  EXPECT_EQ(refusal([] { copy_misaligned(aligned, between_floats, 1, nullptr); }),
            "copy_misaligned: out is not aligned to 4 bytes");
}

TEST(ElementwiseArguments, ChainRefusesBadScratch) {
  const auto check = [](const std::string& name, std::size_t alignment, auto launcher) {
    float* const crooked = alignment > alignof(float) ? between_vectors : between_floats;
    const auto chain = [&](float* scratch) {
      return refusal([&] { launcher(Chain{}, aligned, scratch, aligned, 1, nullptr); });
    };
    EXPECT_EQ(chain(nullptr), name + ": scratch is null");
    EXPECT_EQ(chain(crooked),
              name + ": scratch is not aligned to " + std::to_string(alignment) + " bytes");
  };
  check("chain_of_four", 16, chain_of_four<float>);
  check("chain_of_four_thrust", 4, chain_of_four_thrust<float>);
  check("chain_of_four_cub", 4, chain_of_four_cub<float>);
}

TEST(ElementwiseArguments, AxpyRefusesBadPointersAndSizes) {
  const auto check = [](const std::string& name, std::size_t alignment, auto launcher) {
    SCOPED_TRACE(name);
    float* const crooked = alignment > alignof(float) ? between_vectors : between_floats;
    const std::string misaligned = " is not aligned to " + std::to_string(alignment) + " bytes";
    const auto message = [&](const float* x, const float* y, float* out, std::size_t n) {
      return refusal([&] { launcher(Axpy{}, x, y, out, n, nullptr); });
    };
    EXPECT_EQ(message(nullptr, nullptr, nullptr, 0), "");
    EXPECT_EQ(message(nullptr, aligned, aligned, 1), name + ": x is null");
    EXPECT_EQ(message(aligned, nullptr, aligned, 1), name + ": y is null");
    EXPECT_EQ(message(aligned, aligned, nullptr, 1), name + ": out is null");
    EXPECT_EQ(message(crooked, aligned, aligned, 1), name + ": x" + misaligned);
    EXPECT_EQ(message(aligned, crooked, aligned, 1), name + ": y" + misaligned);
    EXPECT_EQ(message(aligned, aligned, crooked, 1), name + ": out" + misaligned);
  };
  check("axpy_scalar", 4, axpy_scalar<float>);
  check("axpy_grid_stride", 4, axpy_grid_stride<float>);
  check("axpy_vector", 16, axpy_vector<float>);
  check("axpy_thrust", 4, axpy_thrust<float>);
  check("axpy_cub", 4, axpy_cub<float>);
  EXPECT_EQ(refusal([] { axpy_reference(Axpy{}, aligned, aligned, between_doubles, 1, nullptr); }),
            "axpy_reference: expected is not aligned to 8 bytes");
  const auto oversized = [](auto launcher) {
    return refusal([=] { launcher(Axpy{}, aligned, aligned, aligned, huge, nullptr); });
  };
  EXPECT_NE(oversized(axpy_scalar<float>), "");
  EXPECT_NE(oversized(axpy_vector<float>), "");
  EXPECT_NE(oversized(axpy_thrust<float>), "");
  EXPECT_NE(oversized(axpy_cub<float>), "");
}

}  // namespace
}  // namespace warpgauge::kernels
