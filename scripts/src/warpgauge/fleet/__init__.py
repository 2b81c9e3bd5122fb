# SPDX-License-Identifier: Apache-2.0
"""Find slow GPUs and nodes in thousands of run files, and what slow nodes have in common."""
