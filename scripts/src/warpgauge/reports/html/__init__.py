# SPDX-License-Identifier: Apache-2.0
"""A comparison as one HTML file that needs no network and no script to be read."""
