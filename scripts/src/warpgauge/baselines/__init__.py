# SPDX-License-Identifier: Apache-2.0
"""Accepted sessions: kept, added, pruned, shown, checked."""
