// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace warpgauge::kernels {

/// Multiprocessors of the device that is current. Throws std::runtime_error when CUDA does not
/// tell.
unsigned sm_count();

}  // namespace warpgauge::kernels
