# SPDX-License-Identifier: Apache-2.0
"""Why a benchmark became slower: machine code, counters, calls, and what they say together."""
