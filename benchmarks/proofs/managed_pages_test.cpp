// SPDX-License-Identifier: Apache-2.0
// require_pages() detects managed memory of which some or all pages were not moved.
#include "benchmarks/managed_pages.hpp"

#include <gtest/gtest.h>

#include <warpgauge/core/units.hpp>
#include <warpgauge/testing/case_required.hpp>

namespace warpgauge {
namespace {

class ManagedPagesTest : public CaseRequired {
 protected:
  void SetUp() override {
    CaseRequired::SetUp();
    if (IsSkipped()) {
      return;
    }
    int shared = 0;
    WARPGAUGE_CHECK(cudaDeviceGetAttribute(
        &shared, cudaDevAttrPageableMemoryAccessUsesHostPageTables, gpu().device.index));
    if (shared != 0) {
      GTEST_SKIP() << "no usable GPU: this one has no page table of its own";
    }
    memory_ = allocate_managed(bytes);
    move(bytes, Side::device);
  }
  void move(std::size_t count, Side to) {
    prefetch(memory_.get(), count, to, gpu().stream());
    gpu().synchronize();
  }
  std::string said_of(Side side) {
    return failure([&] { require_pages(memory_.get(), bytes, side, gpu().device); });
  }
  static constexpr std::size_t bytes = 16 * mebi;
  DeviceMemory memory_;
};

TEST_F(ManagedPagesTest, AreWhereTheyWereMovedTo) {
  EXPECT_EQ(said_of(Side::device), "no failure");
  EXPECT_NE(said_of(Side::host), "no failure");
  move(bytes, Side::host);
  EXPECT_EQ(said_of(Side::host), "no failure");
  EXPECT_NE(said_of(Side::device), "no failure");
  move(bytes, Side::device);
  EXPECT_EQ(said_of(Side::device), "no failure");
}

TEST_F(ManagedPagesTest, AreMissedWhereAPartStays) {
  move(bytes / 2, Side::host);
  EXPECT_NE(said_of(Side::host), "no failure");
  EXPECT_NE(said_of(Side::device), "no failure");
}

}  // namespace
}  // namespace warpgauge
