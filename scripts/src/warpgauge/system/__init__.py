# SPDX-License-Identifier: Apache-2.0
"""Processes, git, locks, terminal, errors; atomic writes, and readers of untrusted files.

Imports no other package of warpgauge.
"""
