# SPDX-License-Identifier: Apache-2.0
"""Why a benchmark takes the time that it takes."""
