# SPDX-License-Identifier: Apache-2.0
"""How every command ends: one sentence for an error that the user can fix, and an exit status.

Standard library only, and valid in Python 3.8, because every command begins with it.
"""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable

from warpgauge.system import interrupts, streams
from warpgauge.system.errors import ExitStatus, UserError, of_system
from warpgauge.system.interrupts import Request
from warpgauge.system.text import inert


def run(name: str, work: Callable[[], int]) -> int:
    """Return the exit status of `work`.

    An internal error prints a traceback, and does not exit with the status of a regression.
    """
    streams.forgive()
    interrupts.exit_in_order()
    try:
        return _printed(int(work()))
    except (UserError, OSError) as fault:
        refusal = of_system(fault) if isinstance(fault, OSError) else fault
        sentence = "\n".join(map(inert, str(refusal).split("\n")))
        print(f"{name}: {sentence}", file=sys.stderr)
        return int(refusal.status)
    except KeyboardInterrupt as stop:
        by = f" by {signal.Signals(stop.number).name}" if isinstance(stop, Request) else ""
        when = f" {stop.args[0]}" if stop.args else ""
        print(f"{name}: interrupted{by}{when}", file=sys.stderr)
        return interrupts.status(stop)
    except Exception:
        traceback.print_exc()
        print(f"{name}: this is a bug in warpgauge: please report it", file=sys.stderr)
        return int(ExitStatus.BAD_USAGE)
    finally:
        streams.finish()


def _printed(status: int) -> int:
    """Flush, and return `status`. Raises UserError, which keeps the status of a regression."""
    try:
        streams.write("")
    except OSError as fault:
        regressed = status == ExitStatus.REGRESSION
        raise UserError(
            f"standard output cannot be written ({fault.strerror or fault})",
            ExitStatus.REGRESSION if regressed else ExitStatus.BAD_USAGE,
        ) from None
    return status
