# SPDX-License-Identifier: Apache-2.0
"""The options that scripts/compare.py and scripts/bench have in common: what fails, what may."""

from __future__ import annotations

import argparse
from pathlib import Path

from warpgauge.verdict import override

# The policy of a comparison that nobody named one for.
_USUAL_POLICY = (
    "policy.toml beside the folder of the baseline, and this tree's for its runs in turns"
)


def add(parser: argparse.ArgumentParser, usual_policy: str = _USUAL_POLICY) -> None:
    """Add --fail-on, --policy and --allow."""
    parser.add_argument(
        "--fail-on",
        choices=("resources",),
        action="append",
        default=[],
        help="fail on more than times: resources (registers, spills, occupancy, kernels, memory, "
        "another kernel)",
    )
    parser.add_argument(
        "--policy",
        type=Path,
        metavar="FILE",
        help=f"tolerances; default: {usual_policy}",
    )
    override.add_argument(parser)
