# SPDX-License-Identifier: Apache-2.0
"""Kernels of other programs and frameworks, described in a manifest and measured like our own."""
