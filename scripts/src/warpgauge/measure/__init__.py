# SPDX-License-Identifier: Apache-2.0
"""Builds, calls the driver of programs, and measures in rounds until everything is decided."""
