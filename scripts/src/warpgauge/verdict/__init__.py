# SPDX-License-Identifier: Apache-2.0
"""The rule that turns two records into a verdict for each benchmark."""
