# SPDX-License-Identifier: Apache-2.0
"""Processes, git, locks, terminal, errors. Imports no other package of warpgauge."""
