// SPDX-License-Identifier: Apache-2.0
// With statuses made up here: a launch that really fails would be an error to compute-sanitizer.
#include "kernels/launch_check.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace warpgauge::kernels {
namespace {

TEST(CheckStatus, SuccessPasses) {
  EXPECT_NO_THROW(check_status("square", cudaSuccess));
}

TEST(CheckStatus, FailureNamesTheKernelAndQuotesCuda) {
  try {
    check_status("square", cudaErrorInvalidConfiguration);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "square: cudaErrorInvalidConfiguration: invalid configuration argument");
  }
}

}  // namespace
}  // namespace warpgauge::kernels
