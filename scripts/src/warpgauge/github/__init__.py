# SPDX-License-Identifier: Apache-2.0
"""GitHub's API, and what the workflows do with it."""
