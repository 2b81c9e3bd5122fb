# SPDX-License-Identifier: Apache-2.0
"""Programs that stand in for others: a command, or a program with another environment.

By `provide` any command becomes a program of Google Benchmark, and is measured like others. Its
rows are those of the result file that it writes to $WARPGAUGE_RESULTS, or the numbers that it
prints, or the time of the whole command. A time that it prints is that; a rate, such as
950 tokens/s, counts as the time of one unit; of bytes and the like, of 10^12.

What is written runs `main` of this module.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from warpgauge.records.load import load
from warpgauge.system import environment, process
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import UserError
from warpgauge.system.text import file_name

# Started by a shell, because the path of an interpreter in the first line may hold no space.
_PROGRAM = """#!/bin/sh
'''exec' {python} "$0" "$@"
'''
import sys
sys.path.insert(0, {package!r})
from warpgauge.measure import {module}
sys.exit({module}.main(*{words!r}, sys.argv[1:]))
"""
WHOLE = "command"  # name of the row without a pattern, or if that names none
_RESULTS = "WARPGAUGE_RESULTS"
_LIBRARIES = "LD_LIBRARY_PATH"
_SECONDS = {
    **dict.fromkeys(("ns", "nsec"), 1e-9),
    **dict.fromkeys(("us", "µs", "μs", "usec"), 1e-6),
    **dict.fromkeys(("ms", "msec", "milliseconds"), 1e-3),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
}  # others are no units, or seconds
_UNIT = re.compile(r"\s*([^\W\d_]+)?")
_PER_SECOND = r"\s*(?:/|per )\s*s(?:ec(?:ond)?)?\b"
_RATE = re.compile(rf"\s*(?:\w+{_PER_SECOND}|{_PER_SECOND}|\w*(?:flops|[bfqt]ps|iops|hz)\b)", re.I)
_SCALED = re.compile(r"\s*([kMGTP]i?)?(?:[Bb]|bits?|bytes|bps|flops?|hz)\b", re.I)
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d*)?")
# What makes a number another one, if a pattern leaves it out.
_BEFORE, _AFTER = re.compile(r"\d[.,]?$|[.-]$"), re.compile(r"[.,]?\d|[eE][-+]?\d")
_LONGEST = 200  # characters of quoted output
_MOST_OUTPUT = 1 << 26  # bytes


def measured(command: str, pattern: str, folder: str) -> dict[str, float]:
    """Run the command in a folder, and return its times in seconds by name. Raises UserError."""
    began = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as own,
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command,
            shell=True,
            cwd=folder,
            env={**os.environ, _RESULTS: f"{own}/results"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as running,
    ):
        assert running.stdout is not None
        content = running.stdout.read(_MOST_OUTPUT + 1)
        if len(content) > _MOST_OUTPUT:
            running.kill()
            raise UserError(f"{command}: it prints more than {_MOST_OUTPUT >> 20} MiB")
        running.wait()
        seconds = time.perf_counter() - began
        errors.seek(0)
        words = errors.read(_MOST_OUTPUT).decode(errors="replace").strip()
        output = content.decode(errors="replace")
        if running.returncode:
            how = f"it ended with status {running.returncode}"
            raise UserError(f"{command}: {how}: {_cut(words or output)}")
        return _times(command, pattern, output, seconds, Path(own, "results"))


def _times(
    command: str, pattern: str, output: str, seconds: float, results: Path
) -> dict[str, float]:
    if not pattern:
        return _of_file(command, results) if results.exists() else {WHOLE: seconds}
    found: dict[str, float] = {}
    for match in re.finditer(pattern, output, re.MULTILINE):
        words = (match[1] or "").split() if match.re.groups > 1 else []
        name = " ".join(words) or WHOLE
        if name in found:
            raise UserError(
                f"{command}: it prints {name!r} several times: let the pattern match it once"
            )
        found[name] = _seconds(command, match)
    if not found:
        raise UserError(f"{command}: it prints nothing that {pattern!r} matches: {_cut(output)}")
    return found


def _of_file(command: str, results: Path) -> dict[str, float]:
    rows = load(results).rows.values()
    if failed := [f"{row.name}: {row.error}" for row in rows if row.error and not row.skipped]:
        raise UserError(f"{command}: {failed[0]}")
    return {row.name: row.seconds for row in rows if not row.error}


def _seconds(command: str, match: re.Match[str]) -> float:
    """Return the number of the last group, by the unit that follows it; seconds without one."""
    group, line = match.re.groups, match.string
    text, behind = match[group] or "", match.end(group)
    try:
        value = float(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
    except ValueError:
        raise UserError(f"{command}: {text!r} is not a number") from None
    begins, ends = match.start() == match.start(group), match.end() == behind
    if (begins and _BEFORE.search(line, max(0, match.start() - 2), match.start())) or (
        ends and _AFTER.match(line, behind)
    ):
        fault = f"{text!r} is only a part of a number: let the pattern match all of it"
        raise UserError(f"{command}: {fault}")
    label = line[line.rfind("\n", 0, match.start(group)) + 1 : match.start(group)]
    if _RATE.match(line, behind) or re.search(_PER_SECOND, label):
        if scaled := _SCALED.match(line, behind):  # one side may print GB/s and the other MB/s
            prefix = scaled[1] or ""
            step = 1024.0 if prefix[1:] else 1000.0
            value *= step ** " KMGTP".index(prefix[:1].upper() or " ") / 1e12
        value = 1.0 / value if value else 0.0
    elif unit := _UNIT.match(line, behind):
        value *= _SECONDS.get(unit[1], 1.0)
    if not 0.0 < value < float("inf"):
        raise UserError(f"{command}: {text!r} is not above 0")
    return value


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return f"{line[:_LONGEST]}…" if len(line) > _LONGEST else line or "no output"


def provide(build: Path, command: str, pattern: str, deadline_s: float, scratch: Path) -> Path:
    """Run the command once, and return a folder in `build` with its program. Raises UserError."""
    here = str(Path.cwd())
    results = scratch / "results"
    results.unlink(missing_ok=True)
    first = process.run(
        ["/bin/sh", "-c", command], deadline_s, scratch, {_RESULTS: str(results)}, told="first"
    )
    if first.status or first.ended_for:
        how = first.ended_for or f"ended with status {first.status}"
        raise UserError(f"{command}: it {how}: {_cut(first.stderr or first.stdout)}")
    names = [*_times(command, pattern, first.stdout, first.seconds, results)]
    made = build / "commands" / file_name(command, pattern, here)
    write(made / WHOLE, "any_command", command, pattern, here, names)
    return made


def write(path: Path, module: str, *words: object) -> None:
    """Write a program that runs `main` of a module of this room with these words and its own."""
    package = str(Path(__file__).resolve().parents[2])
    python = shlex.quote(sys.executable)
    _write(path, _PROGRAM.format(python=python, package=package, module=module, words=words))


def _write(path: Path, text: str) -> None:
    replace_all({path: os.fsencode(text)})
    path.chmod(0o755)


def with_variable(
    build: Path, folder: Path, programs: Sequence[Path], name: str, value: str
) -> Path:
    """Return a folder in `build` with these programs of a folder, which have this variable."""
    there = folder.resolve()
    made = build / "commands" / file_name(f"{there.name}-{name}", str(there), value)
    shutil.rmtree(made, ignore_errors=True)
    for program in programs:
        own = shlex.join(["exec", "env", f"{name}={value}", str(program)])
        _write(made / program.name, f'#!/bin/sh\n{own} "$@"\n')
    return made


def variable(build: Path, name: str, version: str) -> tuple[str, str]:
    """Return the variable and its value for this value of it, or this version of a package of PyPI.

    Raises UserError.
    """
    if environment.is_variable(name):
        if name != _LIBRARIES:
            return name, version
        folders = [Path(folder).absolute() for folder in version.split(":") if folder]
        if absent := [folder for folder in folders if not folder.is_dir()]:
            raise UserError(f"{name}: {absent[0]} is not a folder")
        return name, ":".join(map(str, folders))
    installed = environment.installed(f"{name}=={version}", build / "axis")
    own = os.environ.get("PYTHONPATH")
    return "PYTHONPATH", f"{installed}:{own}" if own else str(installed)


def main(command: str, pattern: str, folder: str, names: Sequence[str], argv: Sequence[str]) -> int:
    """Be the program of a command. Return its exit status."""

    def times(chosen: Sequence[str]) -> Iterator[Mapping[str, object]]:
        seconds, why = dict[str, float](), f"{command}: this was not measured this time"
        try:
            seconds = measured(command, pattern, folder)
        except UserError as failure:
            why = str(failure)
        for name in chosen:
            known = {"real_time": 1e9 * seconds[name]} if name in seconds else failed(why)
            yield {"name": name, **known}

    return program(command, names, times, argv)


def failed(why: str) -> Mapping[str, object]:
    return {"error_occurred": True, "error_message": why}


def program(
    executable: str,
    names: Sequence[str],
    measure: Callable[[Sequence[str]], Iterable[Mapping[str, object]]],
    argv: Sequence[str],
) -> int:
    """Be a program of Google Benchmark, whose rows `measure` yields. Return its exit status."""
    options = dict(word.partition("=")[::2] for word in argv)
    if unknown := [word for word in options if not word.startswith("--benchmark_")]:
        print(f"there is no option {unknown[0]}", file=sys.stderr)
        return 1
    asked = re.compile(options.get("--benchmark_filter", ""))
    chosen = [name for name in names if asked.search(name)]
    if "--benchmark_list_tests" in options:
        print("\n".join(chosen))
        return 0
    usual = {"run_type": "iteration", "iterations": 1, "cpu_time": 0.0, "time_unit": "ns"}
    rows = [{"run_name": row["name"], **usual, **row} for row in measure(chosen)]
    context = {"executable": executable, "library_build_type": "release"}
    text = json.dumps({"context": context, "benchmarks": rows})
    Path(options.get("--benchmark_out", "/dev/stdout")).write_text(text)
    return 0
