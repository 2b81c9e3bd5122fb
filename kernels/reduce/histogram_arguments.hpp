// SPDX-License-Identifier: Apache-2.0
// Argument checks of the histograms, and how they clear their bins.
#pragma once

#include "kernels/arguments.hpp"
#include "kernels/reduce/histogram.hpp"

namespace warpgauge::kernels {

/// Throws std::invalid_argument for more keys than a bin can count, and for a null or misaligned
/// array; keys is checked only if n > 0.
void require_histogram(const char* launcher, std::size_t n, const Array& keys, const Array& bins);

/// Sets all bins to 0 by a kernel. Before another kernel it takes 0.7 us on an H200; a graph's
/// memset node takes 1.8 us.
void clear_bins(std::int32_t* bins, cudaStream_t stream);

}  // namespace warpgauge::kernels
