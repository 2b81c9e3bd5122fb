// SPDX-License-Identifier: Apache-2.0
// A kernel that counts itself: what was launched is shown to have run, and how often.
#pragma once

#include <cuda_runtime_api.h>

namespace warpgauge::kernels {

/// *count += step, by one thread; count is on the device. Launches of several streams at once lose
/// counts: one stream, or one graph whose nodes follow each other, at a time. Asynchronous on
/// stream, can be captured into a graph. Throws std::invalid_argument for a null or misaligned
/// pointer, std::runtime_error for a refused launch.
void tally(unsigned long long* count, unsigned long long step, cudaStream_t stream);

}  // namespace warpgauge::kernels
