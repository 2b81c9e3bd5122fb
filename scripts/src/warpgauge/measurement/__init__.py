# SPDX-License-Identifier: Apache-2.0
"""Rounds of processes, pairs in turns, when to stop, and the self-check."""
