# SPDX-License-Identifier: Apache-2.0
"""warpgauge: run GPU benchmarks in fresh processes, keep baselines, and judge what got slower."""

__version__ = "0.1.0"  # as in CMakeLists.txt
