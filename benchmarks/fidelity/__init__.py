# SPDX-License-Identifier: Apache-2.0
"""warpgauge fidelity: device times of the engine against CUPTI's."""
