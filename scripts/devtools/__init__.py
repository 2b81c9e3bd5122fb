# SPDX-License-Identifier: Apache-2.0
"""What tests and checks this repository alone; no part of the package."""
