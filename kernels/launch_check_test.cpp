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

TEST(CompiledFor, WhatIsNeededAndNewerPass) {
  EXPECT_NO_THROW(require_compiled_for("square", 90, 9));
  EXPECT_NO_THROW(require_compiled_for("square", 100, 9));
  EXPECT_NO_THROW(require_compiled_for("square", 89, 8, 9));
}

TEST(CompiledFor, LessIsRefusedAndSaysWhatToDo) {
  EXPECT_THROW(require_compiled_for("square", 86, 8, 9), std::runtime_error);
  try {
    require_compiled_for("square", 80, 9);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "square: was compiled for compute capability 8.0, this kernel needs 9.0: build "
                 "with -DCMAKE_CUDA_ARCHITECTURES=native");
  }
}

}  // namespace
}  // namespace warpgauge::kernels
