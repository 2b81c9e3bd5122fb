# SPDX-License-Identifier: Apache-2.0
"""What the processes of an evaluation send each other: JSON and bytes, nothing that is executed."""

from __future__ import annotations

import importlib.util
import json
import select
import socket
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from warpgauge.callables.arrays import Array, Bytes, Framework
from warpgauge.system.errors import UserError

Values = dict[str, Any]  # of JSON
Returned = Any  # by a kernel

_HEAD = struct.Struct("<I")
_LONGEST = 1 << 20  # bytes of the JSON of a message


class Channel:
    """Sends and receives messages over a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._room = bytearray()

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def ends_within(self, seconds: float) -> bool:
        """Return whether the other process has closed it, and everything is received."""
        is_readable = bool(select.select([self._socket], [], [], seconds)[0])
        try:
            return is_readable and not self._socket.recv(1, socket.MSG_PEEK)
        except ConnectionResetError:  # it did not receive everything
            return True

    def send(self, values: Mapping[str, object], contents: Sequence[Bytes] = ()) -> None:
        head = {"values": values, "sizes": [*map(len, contents)]}
        text = json.dumps(head).encode()
        self._socket.sendall(_HEAD.pack(len(text)) + text)
        for content in contents:
            self._socket.sendall(content)

    def receive(self) -> tuple[Values, list[Bytes]]:
        """Return the next message, whose contents last until the one behind it.

        Raises EOFError at the end, ValueError for what is no message.
        """
        (size,) = _HEAD.unpack(self._received([_HEAD.size])[0])
        if size > _LONGEST:
            raise ValueError("the message is too long")
        head = json.loads(bytes(self._received([size])[0]))
        return head["values"], self._received(head["sizes"])

    def ask(
        self, values: Mapping[str, object], contents: Sequence[Bytes] = ()
    ) -> tuple[Values, list[Bytes]]:
        """Send a question, and return the answer. Raises UserError with the answer's "fault"."""
        self.send(values, contents)
        answer, answered = self.receive()
        if "fault" in answer:
            raise UserError(answer["fault"])
        return answer, answered

    def _received(self, sizes: Sequence[int]) -> list[Bytes]:
        """Return what comes next, in memory that is used again: new pages take long."""
        if len(self._room) < sum(sizes):
            self._room = bytearray(sum(sizes))
        left, parts = memoryview(self._room), list[Bytes]()
        for size in sizes:
            parts.append(left[:size])
            into, left = left[:size], left[size:]
            while into:
                count = self._socket.recv_into(into)
                if not count:
                    raise EOFError("the other process has ended")
                into = into[count:]
        return parts


@lru_cache
def names_of(path: Path) -> Values:
    """Import a file, whose folder can be imported from, and return its names. Raises UserError."""
    sys.path.insert(0, str(path.parent))
    name = f"warpgauge_evaluated_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        # Bytecode could be of another file of this size and second.
        code = compile(path.read_bytes(), path, "exec", dont_inherit=True)
        exec(code, vars(module))
    except Exception as fault:
        raise UserError(f"{path.name} cannot be imported: {in_a_line(fault)}") from fault
    return vars(module)


def function_of(path: Path, name: str) -> Callable[..., Returned]:
    """Import a file, and return its function of this name. Raises UserError if it has none."""
    function = names_of(path).get(name)
    if not callable(function):
        raise UserError(f"{path.name} has no function {name}: define it, or name another one")
    return function  # type: ignore[no-any-return]


def in_a_line(fault: Exception) -> str:
    """Return a sentence of ours as it is, and the first line of what else was raised."""
    if isinstance(fault, UserError):
        return str(fault)
    return ": ".join([type(fault).__name__, *str(fault).splitlines()[:1]])


def arguments_of(
    described: Sequence[Values],
    contents: Sequence[Bytes],
    frameworks: Sequence[Framework],
    firsts: Sequence[int] = (),
) -> list[object]:
    """Return the arguments of a kernel: numbers, and arrays that are made of `contents`.

    `firsts` say which byte of each is the first one, by default that of offset 0.
    """
    left = zip(contents, firsts or [0] * len(contents), strict=True)
    by_name = {framework.name: framework for framework in frameworks}
    return [
        by_name[its["framework"]].made(its, *next(left)) if "framework" in its else its["value"]
        for its in described
    ]


def results_of(
    returned: Returned, frameworks: Sequence[Framework]
) -> list[tuple[Framework, Array]]:
    """Return the arrays of a call, in order. Raises UserError for what is no array.

    A subclass could compute what it holds when it is looked at.
    """
    if returned is None:
        return []
    if isinstance(returned, dict):
        returned = list(dict.values(returned))
    if isinstance(returned, (tuple, list)):
        return [result for part in returned for result in results_of(part, frameworks)]
    types = {framework.array: framework for framework in frameworks if framework.can_be_sent}
    if type(returned) in types:
        return [(types[type(returned)], returned)]
    known = " or ".join(f"{its.__module__}.{its.__name__}" for its in types)
    raise UserError(f"a result is a {type(returned).__name__}: return {known}, and no subclass")
