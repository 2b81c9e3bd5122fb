# SPDX-License-Identifier: Apache-2.0
"""Simulations of the project's statistics, whose truth is known. Each module has some `TABLES`."""
