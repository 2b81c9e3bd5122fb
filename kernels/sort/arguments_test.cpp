// SPDX-License-Identifier: Apache-2.0
// Arguments that the launchers of this family refuse, or that need no work, before any CUDA call.
// Needs no GPU.
#include <gtest/gtest.h>

#include <warpgauge/testing/refusal.hpp>
#include "kernels/sort/sort.hpp"
#include "kernels/sort/top_k.hpp"

namespace warpgauge::kernels {
namespace {

// Never read or written: every call below ends before a launch.
alignas(16) std::uint32_t memory[8];
constexpr std::size_t too_many = std::size_t{1} << 30;

TEST(Sort, RefusesBadArguments) {
  const auto message = [](SortedKeys keys, void* scratch, std::size_t n) {
    return refusal([&] { radix_sort(keys, scratch, n, nullptr); });
  };
  EXPECT_EQ(message({nullptr, nullptr}, nullptr, 0), "");
  EXPECT_EQ(message({nullptr, memory}, memory, 1), "radix_sort: keys.in is null");
  EXPECT_EQ(message({memory + 1, memory}, memory, 1),
            "radix_sort: keys.in is not aligned to 16 bytes");
  EXPECT_EQ(message({memory, nullptr}, memory, 1), "radix_sort: keys.out is null");
  EXPECT_EQ(message({memory, memory}, memory + 1, 1),
            "radix_sort: scratch is not aligned to 16 bytes");
  EXPECT_EQ(message({memory, memory}, memory, too_many),
            "radix_sort: 1073741824 elements are more than 1073741823");
  EXPECT_EQ(refusal([] { radix_sort_scratch_bytes(too_many); }),
            "radix_sort: 1073741824 elements are more than 1073741823");
}

TEST(Sort, OfPairsRefusesBadArguments) {
  const auto message = [](SortedKeys values, std::size_t n) {
    return refusal([&] { radix_sort_pairs({memory, memory}, values, memory, n, nullptr); });
  };
  EXPECT_EQ(message({nullptr, nullptr}, 0), "");
  EXPECT_EQ(message({nullptr, memory}, 1), "radix_sort_pairs: values.in is null");
  EXPECT_EQ(message({memory, nullptr}, 1), "radix_sort_pairs: values.out is null");
  EXPECT_EQ(message({memory, memory}, too_many),
            "radix_sort_pairs: 1073741824 elements are more than 1073741823");
}

TEST(Sort, CubRefusesBadArguments) {
  EXPECT_EQ(refusal([] { cub_sort({nullptr, nullptr}, nullptr, 0, nullptr); }), "");
  EXPECT_EQ(refusal([] { cub_sort_scratch_bytes(std::size_t{1} << 31); }),
            "cub_sort: 2147483648 elements are more than 2147483647");
}

TEST(Sort, TopKRefusesBadArguments) {
  static float values[4];
  static std::int32_t columns[4];
  const auto rows = [](const float* in, std::size_t n_rows, unsigned k) {
    return refusal([&] { top_k_rows(in, values, columns, {n_rows, 3}, k, nullptr); });
  };
  EXPECT_EQ(rows(nullptr, 0, 0), "");
  EXPECT_EQ(rows(nullptr, 1, 1), "top_k_rows: in is null");
  EXPECT_EQ(rows(values, 1, 0), "top_k_rows: k is 0; it takes 1 to 3");
  EXPECT_EQ(rows(values, 1, 4), "top_k_rows: k is 4; it takes 1 to 3");
  const auto array = [](void* scratch, std::size_t n, unsigned k) {
    return refusal(
        [&] { top_k(reinterpret_cast<float*>(memory), values, columns, scratch, n, k, nullptr); });
  };
  EXPECT_EQ(array(nullptr, 4, 1), "top_k: scratch is null");
  EXPECT_EQ(array(memory, 4096, 2049), "top_k: k is 2049; it takes 1 to 2048");
  EXPECT_EQ(array(memory, std::size_t{1} << 31, 1),
            "top_k: 2147483648 elements are more than 2147483647");
}

}  // namespace
}  // namespace warpgauge::kernels
