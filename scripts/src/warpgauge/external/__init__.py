# SPDX-License-Identifier: Apache-2.0
"""Kernels from elsewhere: their manifest, and the kernel plan that bench_external measures."""
