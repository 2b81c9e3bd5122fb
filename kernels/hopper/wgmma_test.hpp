// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device_test.hpp"
#include "kernels/hopper/tensor_map.hpp"

namespace warpgauge::kernels {

/// Skips the test, with the reason, on a device without wgmma.
class WgmmaTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped() && !has_wgmma()) {
      GTEST_SKIP() << "wgmma needs compute capability 9.0";
    }
  }
};

}  // namespace warpgauge::kernels
