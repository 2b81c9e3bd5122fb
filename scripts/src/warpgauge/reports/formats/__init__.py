# SPDX-License-Identifier: Apache-2.0
"""The formats of a comparison, each in a file of its own (`reports.format`)."""
