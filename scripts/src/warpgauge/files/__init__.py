# SPDX-License-Identifier: Apache-2.0
"""Atomic writes, and readers of untrusted files."""
