# SPDX-License-Identifier: Apache-2.0
"""Pure functions of arrays."""
