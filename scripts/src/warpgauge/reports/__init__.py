# SPDX-License-Identifier: Apache-2.0
"""A comparison in every format: one module per output format."""
