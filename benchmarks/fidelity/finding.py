# SPDX-License-Identifier: Apache-2.0
"""What a benchmark's replay time is worth: how far it lies from what CUPTI saw of the same work.

CUPTI disturbs what it watches, and only ever adds to it: its instrumentation makes a kernel of many
short blocks slower, by up to 12 %, which its busy time holds and a replay without it does not; and
it makes the way from one kernel to the next longer, which its busy time does not hold and a replay
with it does. What a replay time is wrong by is therefore at least its difference without CUPTI and
at most its difference with CUPTI.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from rich.console import Console

from warpgauge.system.errors import ExitStatus
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import MINUS, duration, inert, percent, plural

# What a replay time may differ by, whichever is more: a share of CUPTI's, and a time for each
# kernel of the operation, since a replay also has to go from one kernel to the next.
ALLOWED_RATIO = 0.02
ALLOWED_NS_PER_KERNEL = 60.0


class Truth(Enum):
    """Whether the two clocks agree."""

    WITHIN = "within"
    DISTURBED = "DISTURBED"  # CUPTI adds more than is allowed: it can tell neither
    OUTSIDE = "OUTSIDE"
    ERROR = "ERROR"


@dataclass(frozen=True)
class Finding:
    """One benchmark, times an operation; only `name` and `error` count where there is an error."""

    name: str
    error: str | None = None
    kernels: int = 0
    process_medians: Sequence[float] = ()  # ns, of the processes without CUPTI
    replay_ns: float = 0.0  # the median of these
    traced_ns: float = 0.0  # the replay time in the process with CUPTI
    busy_ns: float = 0.0  # by CUPTI
    regions: int = 0  # that CUPTI's is the median of
    stated_error_ns: float = 0.0  # what the row says that its time may be off; 0 of a replay

    @property
    def differences_ns(self) -> tuple[float, float]:
        """From CUPTI's busy time: without CUPTI, and in the process with it."""
        return self.replay_ns - self.busy_ns, self.traced_ns - self.busy_ns

    @property
    def difference_ns(self) -> float:
        """The nearer one."""
        return min(self.differences_ns, key=abs)

    @property
    def ratio(self) -> float:
        return self.difference_ns / self.busy_ns

    @property
    def allowed_ns(self) -> float:
        """A copy or a memset counts as a kernel where there is none."""
        if self.stated_error_ns:
            return self.stated_error_ns
        return max(ALLOWED_RATIO * self.busy_ns, ALLOWED_NS_PER_KERNEL * max(1, self.kernels))

    @property
    def truth(self) -> Truth:
        if self.error is not None:
            return Truth.ERROR
        least, most = self.differences_ns
        # Asked this way round so that NaN is outside.
        if not (least <= self.allowed_ns and most >= -self.allowed_ns):
            return Truth.OUTSIDE
        near = least >= -self.allowed_ns or most <= self.allowed_ns
        return Truth.WITHIN if near else Truth.DISTURBED

    def as_json(self) -> dict[str, object]:
        if self.error is not None:
            return {"name": self.name, "error_occurred": True, "error_message": self.error}
        return {
            "name": self.name,
            "kernels": self.kernels,
            "replay_ns": self.replay_ns,
            "process_medians_ns": list(self.process_medians),
            "traced_ns": self.traced_ns,
            "busy_ns": self.busy_ns,
            "regions": self.regions,
            "difference_ns": self.difference_ns,
            "allowed_ns": self.allowed_ns,
            "verdict": self.truth.value,
        }


def status(findings: Sequence[Finding]) -> ExitStatus:
    """A proven difference outranks what could not be measured; neither is a pass."""
    truths = {finding.truth for finding in findings}
    if Truth.OUTSIDE in truths:
        return ExitStatus.OUTSIDE
    return ExitStatus.OK if truths == {Truth.WITHIN} else ExitStatus.NOT_MEASURED


_STYLES = dict(zip(Truth, ("green", "yellow", "bold red", "yellow"), strict=True))
_HEADINGS = tuple("kernels,replay,with CUPTI,CUPTI busy,difference,,allowed,verdict".split(","))


def print_table(findings: Sequence[Finding], console: Console) -> None:
    """Print `findings` in their order, what is wrong with one below it, and the sum of it first."""
    print_text(console, summary(findings))
    heading = Cells("benchmark", _HEADINGS)
    cells = [_cells(finding) for finding in findings]
    dispensable = [_HEADINGS.index(each) for each in ("with CUPTI", "allowed", "kernels")]
    columns = Columns.fitting([heading, *cells], console.width, dispensable)
    verdict_column = len(_HEADINGS) - 1
    console.print()
    print_text(console, columns.line(heading, left=(verdict_column,)), style="dim")
    for finding, line in zip(findings, cells, strict=True):
        print_text(console, columns.line(line, left=(verdict_column,)))
        if finding.error is not None:
            print_text(console, inert(finding.error), indent=6, style="yellow")


def summary(findings: Sequence[Finding]) -> str:
    """One sentence on all of them."""
    count = {truth: sum(one.truth is truth for one in findings) for truth in Truth}
    rule = f"{percent(ALLOWED_RATIO, sign=False)} or {ALLOWED_NS_PER_KERNEL:g} ns a kernel"
    total = plural(len(findings), "benchmark")
    text = f"{count[Truth.WITHIN]} of {total} within {rule} of CUPTI's busy time"
    for truth, words in (
        (Truth.OUTSIDE, "outside"),
        (Truth.DISTURBED, "disturbed by CUPTI"),
        (Truth.ERROR, "not measured"),
    ):
        text += f", {count[truth]} {words}" if count[truth] else ""
    measured = [one for one in findings if one.truth is not Truth.ERROR]
    if measured:
        worst = max(measured, key=lambda one: abs(one.difference_ns) / one.allowed_ns)
        farthest = f"{_signed(worst.difference_ns)}, {percent(worst.ratio)}"
        text += f". Farthest, for what it may: {inert(worst.name)} ({farthest})"
    return f"{text}."


def _signed(nanoseconds: float) -> str:
    sign = "" if nanoseconds == 0.0 else MINUS if nanoseconds < 0 else "+"
    return f"{sign}{duration(abs(nanoseconds) * 1e-9)}"


def _cells(finding: Finding) -> Cells:
    truth = finding.truth
    numbers: Sequence[str] = ("",) * (len(_HEADINGS) - 1)
    if truth is not Truth.ERROR:
        times = (finding.replay_ns, finding.traced_ns, finding.busy_ns)
        numbers = (
            str(finding.kernels),
            *(duration(nanoseconds * 1e-9) for nanoseconds in times),
            _signed(finding.difference_ns),
            percent(finding.ratio),
            duration(finding.allowed_ns * 1e-9),
        )
    return Cells(inert(finding.name), (*numbers, truth.value), _STYLES[truth])
