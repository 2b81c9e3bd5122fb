# SPDX-License-Identifier: Apache-2.0
"""A comparison for a person at a terminal."""
