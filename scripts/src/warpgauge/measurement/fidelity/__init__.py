# SPDX-License-Identifier: Apache-2.0
"""Device times of the engine against CUPTI's."""
