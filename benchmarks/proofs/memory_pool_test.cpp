// SPDX-License-Identifier: Apache-2.0
// A pool that keeps what it should not, or does not keep what it should, is found out.
#include "benchmarks/memory_pool.hpp"

#include <gtest/gtest.h>

#include <limits>

#include <warpgauge/testing/case_required.hpp>

namespace warpgauge {
namespace {

class MemoryPoolTest : public CaseRequired {
 protected:
  /// What is said of `pool` after `bytes` of it were used, given back and waited for.
  std::string said_of(const MemoryPool& pool, std::size_t bytes, std::uint64_t threshold) {
    WARPGAUGE_CHECK(
        cudaMemPoolSetAttribute(pool.get(), cudaMemPoolAttrReleaseThreshold, &threshold));
    void* memory = nullptr;
    WARPGAUGE_CHECK(cudaMallocFromPoolAsync(&memory, bytes, pool.get(), gpu().stream()));
    WARPGAUGE_CHECK(cudaFreeAsync(memory, gpu().stream()));
    gpu().synchronize();
    return failure([&] { pool.require_kept(bytes); });
  }
  static constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

TEST_F(MemoryPoolTest, KeepsWhatItShould) {
  for (const std::size_t bytes : {4 * kibi, 64 * mebi}) {
    const MemoryPool warm(gpu().device(), most);
    EXPECT_EQ(said_of(warm, bytes, most), "no failure");
    const MemoryPool cold(gpu().device(), 0);
    EXPECT_EQ(said_of(cold, bytes, 0), "no failure");
  }
}

TEST_F(MemoryPoolTest, IsFoundOutWhereItDoesOtherwise) {
  for (const std::size_t bytes : {4 * kibi, 64 * mebi}) {
    const MemoryPool warm(gpu().device(), most);
    EXPECT_NE(said_of(warm, bytes, 0), "no failure");
    const MemoryPool cold(gpu().device(), 0);
    EXPECT_NE(said_of(cold, bytes, most), "no failure");
  }
}

}  // namespace
}  // namespace warpgauge
