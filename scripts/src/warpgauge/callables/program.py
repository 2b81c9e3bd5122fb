# SPDX-License-Identifier: Apache-2.0
"""Files of benchmarks in Python, as programs that speak to the driver as compiled ones do.

``python -m warpgauge.callables.program bench_softmax.py [options]`` is the program.
"""

from __future__ import annotations

import atexit
import importlib
import os
import re
import runpy
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from warpgauge.callables import timing
from warpgauge.callables.arrays import Case
from warpgauge.system.errors import ExitStatus, UserError

Body = TypeVar("Body", bound=Callable[..., None])
# Files of frames: of this package, of installed ones, and of the import system.
_PACKAGE = re.escape(str(Path(__file__).resolve().parents[1]))
_NOT_OF_THE_USER = re.compile(rf"^{_PACKAGE}/|/(?:site|dist)-packages/|/runpy\.py$|^<frozen ")
# To import them takes seconds, and uses no GPU.
_LARGE = ("torch", "triton", "cupy", "numba", "jax")
# JAX and Numba read the environment when they are imported, and a path says which one is.
_CONFIGURES = re.compile(r"\b(?:environ|putenv|setenv|sys\.path)\b")
_DRIVEN = "--driven="  # the option of the driver, with a descriptor
_TRACED = "CUDA_INJECTION64_PATH"  # names a library that writes what it saw as the process ends
_KINDS: dict[type, str] = {int: "integer", float: "number", str: "text"}


def benchmark(
    name: str, **axes: Sequence[int] | Sequence[float] | Sequence[str]
) -> Callable[[Body], Body]:
    """Register a function as a benchmark, with a row for each combination of the axes' values.

    The function gets a value of each axis by its name, and ends with ``warpgauge.time(...)``.
    """
    kinds = {axis: _KINDS.get(type(next(iter(values), None))) for axis, values in axes.items()}
    if strange := [axis for axis, kind in kinds.items() if kind is None]:
        raise UserError(f"{name}: the axis {strange[0]} needs integers, numbers or texts")

    engine = timing.engine_module()
    # What the engine raises is one sentence, which is the row's.
    engine_faults = engine.WrongResult, engine.NotCapturable, engine.NoDevice, engine.Unsupported

    def registered(body: Body) -> Body:
        def run(case: Case) -> None:
            token = timing.running.set(case)
            try:
                body(**{axis: case.param(axis, kind) for axis, kind in kinds.items()})
            except Exception as fault:
                if not isinstance(fault, (UserError, *engine_faults)):
                    print(_shown(fault), end="", file=sys.stderr)
                raise
            finally:
                timing.running.reset(token)

        code = body.__code__
        engine.register(
            name,
            {axis: list(values) for axis, values in axes.items()},
            run,
            code.co_filename,
            code.co_firstlineno,
        )
        return body

    return registered


def _shown(fault: Exception) -> str:
    """Return the traceback of an exception, without frames of warpgauge and installed packages."""
    shown = traceback.TracebackException.from_exception(fault)
    frames = [frame for frame in shown.stack if not _NOT_OF_THE_USER.search(frame.filename)]
    shown.stack = traceback.StackSummary.from_list(frames)
    return "".join(shown.format(chain=False))


def main(words: Sequence[str]) -> int:
    """Run the file that the first word names, and measure what it registers."""
    if not words:
        raise UserError("name the file of the benchmarks, as in bench_softmax.py")
    path = Path(words[0])
    if not path.is_file():
        raise UserError(f"{path} is no file: name one with @warpgauge.benchmark functions")
    sys.path.insert(0, str(path.parent))
    with loading(words, large_imports(path)):
        runpy.run_path(str(path), run_name="warpgauge_benchmarks")
    status: int = timing.engine_module().run_program([str(path), *words[1:]])
    return status


@contextmanager
def loading(options: Sequence[str], packages: Iterable[str]) -> Iterator[bool]:
    """Let both sides of a pair load at once what takes seconds; yield whether a driver asks.

    `packages` are imported while another program may be measured, so that they use no GPU.
    """
    driven = next((word for word in options if word.startswith(_DRIVEN)), None)
    if driven is None:
        yield False
        return
    driver = int(driven.partition("=")[2])
    os.write(driver, b"loading\n")
    for name in packages:
        with suppress(Exception):  # the file will say so itself
            importlib.import_module(name)
    _wait_for_a_line(driver)  # "load"
    yield True
    _wait_for_a_line(driver)  # "open"


def _wait_for_a_line(driver: int) -> None:
    while (read := os.read(driver, 1)) != b"\n":
        if not read:  # without a driver nothing is measured
            sys.exit()


def large_imports(path: Path) -> list[str]:
    """Return the modules of large packages that a file imports before it may configure them."""
    name = rf"((?:{'|'.join(_LARGE)})(?:\.\w+)*)\b"
    text = _CONFIGURES.split(path.read_text(errors="replace"), maxsplit=1)[0]
    return re.findall(rf"^\s*(?:import|from)\s+{name}", text, re.MULTILINE)


def run(words: Sequence[str], main: Callable[[Sequence[str]], int]) -> int:
    """Return the exit status of the program, as a compiled one would end.

    A driver has all results when it lets a program end, and does not wait until its interpreter
    has let go of everything. A traced one ends in order, and its trace is written.
    """
    if sys.pycache_prefix is None:  # what a run leaves behind must not make a tree dirty
        sys.dont_write_bytecode = True
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the engine would take it for a row's error
    try:
        status = main(words)
    except UserError as fault:
        print(f"{Path(words[0]).name if words else 'program'}: {fault}", file=sys.stderr)
        status = fault.status
    except Exception as fault:  # of the file itself; 1 would mean that a row failed
        print(_shown(fault), end="", file=sys.stderr)
        status = ExitStatus.BAD_USAGE
    if any(word.startswith(_DRIVEN) for word in words) and _TRACED not in os.environ:
        with suppress(Exception):  # the file may have closed them
            atexit._run_exitfuncs()  # which end processes that frameworks keep
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
    return status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], main))
