# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown."""
