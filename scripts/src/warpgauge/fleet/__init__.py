# SPDX-License-Identifier: Apache-2.0
"""Thousands of run files: which GPU, node, or what nodes share, is slower than the others."""
