# SPDX-License-Identifier: Apache-2.0
"""Run files, baselines and Google Benchmark's JSON as typed data."""
