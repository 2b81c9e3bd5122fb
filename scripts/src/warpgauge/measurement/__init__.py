# SPDX-License-Identifier: Apache-2.0
"""Rounds of processes, pairs, when to stop, and the self-check."""
