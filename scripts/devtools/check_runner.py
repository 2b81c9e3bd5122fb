# SPDX-License-Identifier: Apache-2.0
"""Runs a list of checks, one line each, and ends with the test runners' summaries."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from warpgauge.system.text import plural

Command = Sequence[str]


@dataclass(frozen=True)
class Check:
    """One check: commands that must all succeed."""

    name: str
    commands: Callable[[], Sequence[Command]]  # called when it runs; OSError, ValueError
    folder: Path
    tool: str  # the program that it needs, by name or path; a module as "python:NAME"
    after: str = ""  # the check whose failure makes this one pointless
    closing: Callable[[str], str] = lambda output: ""  # of its output, the lines to end with
    skipped: Callable[[str], str] = lambda output: ""  # what it left out, for the verdict
    at_once: int = 1
    may_be_empty: bool = False  # or else it fails where there is nothing to check


@dataclass(frozen=True)
class Result:
    """What became of a check."""

    check: Check
    state: str  # "ok", "FAILED", or "skipped: <reason>"
    output: str = ""
    seconds: float = 0.0


def run(checks: Iterable[Check], allow_missing_tools: bool, say: Callable[[str], None]) -> bool:
    """Run all checks, also after a failure; whether none failed. The verdict is the last line."""
    results: dict[str, Result] = {}
    for check in checks:
        result = _result(check, results, allow_missing_tools)
        results[check.name] = result
        say(f"{check.name:<14} {result.state}  {result.seconds:.1f} s")
        if result.state == "FAILED":
            say(result.output)
    for result in results.values():
        if closing := result.check.closing(result.output):
            say(f"\n{closing}")
    say(f"\n{verdict(list(results.values()))}")
    return not any(result.state == "FAILED" for result in results.values())


def verdict(results: Sequence[Result]) -> str:
    """One line: what failed, or else that nothing did and what was left out."""
    failed = [result.check.name for result in results if result.state == "FAILED"]
    if failed:
        return f"FAILED: {', '.join(failed)}"
    good = [result for result in results if result.state == "ok"]
    left_out = ", ".join(result.check.name for result in results if result not in good)
    count = plural(len(results), "check")
    passed = f"{len(good)} of {count} passed, skipped: {left_out}"
    skipped = [result.check.skipped(result.output) for result in good]
    return "; ".join([passed if left_out else f"all {count} passed", *filter(None, skipped)])


def _result(check: Check, before: dict[str, Result], allow_missing_tools: bool) -> Result:
    if check.after and before[check.after].state != "ok":
        return Result(check, "FAILED", f"not run, for {check.after} did not succeed")
    if not _there(check.tool):
        reason = f"{Path(check.tool.removeprefix('python:')).name} is not installed"
        if allow_missing_tools:
            return Result(check, f"skipped: {reason}")
        return Result(check, "FAILED", f"{reason} (--allow-missing-tools skips it)")
    began = time.monotonic()
    try:
        commands = check.commands()
        with ThreadPoolExecutor(check.at_once) as pool:
            done = list(pool.map(lambda command: _run(command, check.folder), commands))
    except (OSError, ValueError) as fault:
        done = [(False, f"{fault}\n")]
    good = bool(done or check.may_be_empty) and all(ok for ok, _ in done)
    output = "".join(text for ok, text in done if good or not ok)
    state = "ok" if good else "FAILED"
    return Result(check, state, output or "nothing to check", time.monotonic() - began)


def _run(command: Command, folder: Path) -> tuple[bool, str]:
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    return done.returncode == 0, f"$ {shlex.join(command)}\n{done.stdout}"


def _there(tool: str) -> bool:
    _, is_module, name = tool.rpartition("python:")
    return bool(importlib.util.find_spec(name) if is_module else shutil.which(tool))
