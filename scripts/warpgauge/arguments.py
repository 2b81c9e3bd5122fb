# SPDX-License-Identifier: Apache-2.0
"""Command lines whose faults are told like all others: in one sentence, with no page of usage."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from warpgauge.errors import UserError
from warpgauge.text import inert


class Parser(argparse.ArgumentParser):
    """argparse's, whose complaint is a UserError; options are not guessed from their beginnings."""

    def __init__(self, **keywords: Any) -> None:  # noqa: ANN401 - argparse's own, handed on
        super().__init__(**{"allow_abbrev": False, **keywords})

    def error(self, message: str) -> NoReturn:
        """Raises UserError, exit status 2."""
        raise UserError(inert(f"{message}; --help tells what there is"))
