// SPDX-License-Identifier: Apache-2.0
// What the tests of refusals share; none needs a GPU.
#pragma once

#include <stdexcept>
#include <string>

namespace warpgauge::kernels {

/// The message of the std::invalid_argument that call throws, "" when it throws none.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace warpgauge::kernels
