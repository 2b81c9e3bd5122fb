# SPDX-License-Identifier: Apache-2.0
"""The times of every night."""
