# SPDX-License-Identifier: Apache-2.0
"""Builds, and runs one program to its end."""
