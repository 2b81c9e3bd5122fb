# SPDX-License-Identifier: Apache-2.0
"""Two functions of files: the checker makes their inputs, and compares what they return."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import evaluating
import fake_engine
from fake_engine import NumPy
from warpgauge.callables import arrays, checker, messages, side, timing
from warpgauge.callables.messages import Channel, Values
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import UserError

pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # of infinities

BASE = """
import numpy as np

def inputs(n=(4, 6)):
    return np.random.rand(3, n).astype("float32"), np.arange(n)

def kernel(x, i):
    return (x * x + i).astype(x.dtype)
"""
RIGHT = "def kernel(x, i):\n    return (x * x + i).astype(x.dtype)\n"


def faults_of(control: Channel, times: Sequence[int], own: str = "candidate") -> list[str]:
    """What the checker says of so many times of each point."""
    faults: list[str] = control.ask({"side": own, "times": times})[0]["faults"]
    return faults


@dataclass
class Files:
    folder: Path
    monkeypatch: pytest.MonkeyPatch

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def rows(self, own: str, text: str, answer: Values, name: str = "kernel") -> list[str]:
        """Run a side's program on a file, and return the errors of its rows."""
        engine = fake_engine.program()
        self.monkeypatch.setattr(timing, "engine_module", lambda: engine)
        kernel = self.write(f"{own}_kernel.py", text)
        assert side.main(evaluating.words(self.folder, own, kernel, answer, name)) == 0
        messages.names_of.cache_clear()
        return [*engine.rows.values()]

    def evaluated(
        self, text: str = RIGHT, base: str = BASE, **settings: object
    ) -> tuple[list[str], list[str]]:
        """Measure a candidate: the errors of its rows, and what the checker says of its times."""
        path = self.write("base.py", base)
        with evaluating.serving(self.folder, path, **settings) as (control, answer):
            assert "fault" not in answer, answer
            rows = self.rows("candidate", text, answer)
            return rows, faults_of(control, [1] * len(rows))

    def refused(self, base: str = BASE, **settings: object) -> str:
        """What the checker says of files or axes that it cannot take."""
        path = self.write("base.py", base)
        with evaluating.serving(self.folder, path, **settings) as (_, answer):
            return str(answer["fault"])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    framework = NumPy()
    monkeypatch.setattr(arrays, "present", lambda: [framework])
    monkeypatch.setattr(sys, "path", [*sys.path])
    messages.names_of.cache_clear()
    return Files(tmp_path, monkeypatch)


def test_right_results_at_each_point_are_seen_by_the_checker(files: Files) -> None:
    assert files.evaluated() == (["", ""], ["", ""])


def test_inputs_differ_in_each_process_and_axes_can_be_given(files: Files) -> None:
    base = files.write("base.py", BASE)
    with evaluating.serving(files.folder, base, axes={"n": ["5"]}) as (control, answer):
        assert answer["axes"] == {"n": [5]}
        log = files.folder / "seen"
        noted = RIGHT.replace("    return", f"    x.tofile({str(log)!r})\n    return")
        seen = []
        for _ in range(2):
            assert files.rows("candidate", noted, answer) == [""]
            seen.append(sorted(np.fromfile(log, "float32")))
        assert len(seen[0]) == 15
        assert seen[0] != seen[1]
        assert faults_of(control, [2]) == [""]


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("return (x * x + i * 1.001).astype(x.dtype)", "element"),
        ("return ((x * x + i) * np.nan).astype('float32')", "is nan and not"),
        ("return x", "a result is argument 0"),
        ("return x * x + i", "has the type float64"),
        ("return (x * x + i)[0].astype(x.dtype)", "shape"),
        ("return x * x, i + 1", "returns 2 results"),
        ("return 3", "a result is a int"),
        ("return None", "no array"),
        ("y = (x * x + i).astype(x.dtype); x[0] = 7; return y", "input"),
        ("return (x * x + i).view(Lazy)", "a result is a Lazy"),
        ("return KEPT.setdefault(x.shape, x * x + i)", "the same memory"),
        ("return KEPT.setdefault(x.shape, (x * x + i).astype(x.dtype)).copy()", "element"),
    ],
)
def test_a_wrong_result_is_an_error_of_its_row(files: Files, kernel: str, said: str) -> None:
    head = "import numpy as np\nKEPT = {}\nclass Lazy(np.ndarray): pass\n"
    rows, faults = files.evaluated(f"{head}def kernel(x, i):\n    {kernel}\n")
    assert [said in row for row in rows] == [True, True], rows
    assert all(faults)


def test_a_right_row_that_the_checker_did_not_see_does_not_count(files: Files) -> None:
    forged = f"""{RIGHT}
from warpgauge.callables import side
side._CheckedCall._require_right_contents = lambda self, slot, contents: None
"""
    real = side._CheckedCall._require_right_contents
    try:
        rows, faults = files.evaluated(forged)
    finally:
        side._CheckedCall._require_right_contents = real  # type: ignore[method-assign]
    assert rows == ["", ""]
    assert all("did not see" in fault for fault in faults)


def test_each_process_is_to_be_seen_by_the_checker(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = files.write("base.py", BASE)
    with evaluating.serving(files.folder, path) as (control, answer):
        assert files.rows("candidate", RIGHT, answer) == ["", ""]
        forged = "_require_right_contents"
        monkeypatch.setattr(side._CheckedCall, forged, lambda self, slot, contents: None)
        assert files.rows("candidate", RIGHT, answer) == ["", ""]
        assert faults_of(control, [1, 1]) == ["", ""]
        assert all("did not see" in fault for fault in faults_of(control, [2, 2]))


def test_a_checker_without_memory_accuses_nobody(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(own: NumPy, array: np.ndarray) -> float:
        raise MemoryError("no more")

    monkeypatch.setattr(NumPy, "mean_square", exhausted)
    base = BASE + "def reference(x, i): return x * x + i\n"
    rows, faults = files.evaluated(base=base)
    assert all("the checker fails: MemoryError" in row for row in rows)
    assert all("did not see" in fault for fault in faults)


def test_a_result_that_would_lie_beyond_what_was_sent_is_wrong(files: Files) -> None:
    path = files.write("base.py", BASE)
    with evaluating.serving(files.folder, path), socket.socket(socket.AF_UNIX) as mine:
        mine.settimeout(60)
        mine.connect(str(files.folder / "checker.socket"))
        channel = Channel(mine)
        channel.ask({"side": "candidate"})
        channel.ask({"point": {"n": 4}})
        forged = {"framework": "numpy", "type": "float32", "shape": [3, 4], "strides": [4000, 1]}
        question = {"shifts": [0, 0], "results": [forged]}
        assert "no memory of its own" in channel.ask(question, [bytearray(48)])[0]["wrong"]


def test_a_wrong_result_that_the_row_hides_does_not_count(files: Files) -> None:
    path = files.write("base.py", BASE)
    with evaluating.serving(files.folder, path) as (control, answer):
        assert len(files.rows("candidate", "def kernel(x, i): return x + i\n", answer)) == 2
        assert files.rows("candidate", RIGHT, answer) == ["", ""]
        assert faults_of(control, [0, 0]) == ["", ""]  # nobody has a time yet
        assert all("wrong result" in fault for fault in faults_of(control, [1, 1]))


@pytest.mark.parametrize("message", [b"\x03\x00\x00\x00abc", b"\xff" * 8, b""])
def test_a_second_connection_spoils_the_side_and_garbage_ends_its_own(
    files: Files, monkeypatch: pytest.MonkeyPatch, message: bytes
) -> None:
    monkeypatch.setattr(checker, "PATIENCE_S", 0.0)
    path = files.write("base.py", BASE)
    with evaluating.serving(files.folder, path) as (control, _):
        mine, other = (socket.socket(socket.AF_UNIX) for _ in "12")
        with mine, other:
            for one in (mine, other):
                one.settimeout(60)
                one.connect(str(files.folder / "checker.socket"))
            Channel(mine).ask({"side": "candidate"})
            if message:
                mine.sendall(message)
                with pytest.raises((EOFError, ConnectionResetError)):
                    Channel(mine).receive()
            else:
                with pytest.raises(UserError, match="one connection"):
                    Channel(other).ask({"side": "candidate"})
            faults = faults_of(control, [1, 1])
            assert all("spoke to the checker" in fault for fault in faults)
            assert "did not see" in faults_of(control, [1, 1], "base")[0]


def test_of_many_further_connections_only_the_first_is_waited_for(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = list[float]()
    monkeypatch.setattr(Channel, "ends_within", lambda own, seconds: waits.append(seconds))
    path = files.write("base.py", BASE)
    with evaluating.serving(files.folder, path), ExitStack() as held:
        for number in range(4):
            mine = held.enter_context(socket.socket(socket.AF_UNIX))
            mine.settimeout(60)
            mine.connect(str(files.folder / "checker.socket"))
            with pytest.raises(UserError, match="one connection") if number else nullcontext():
                Channel(mine).ask({"side": "candidate"})
    assert waits == [checker.PATIENCE_S, 0.0, 0.0]


def test_a_process_that_was_killed_before_it_received_all_has_ended() -> None:
    one, other = map(Channel, socket.socketpair())
    one.send({"arguments": []})
    assert not one.ends_within(0)
    other.close()
    assert one.ends_within(0)
    one.close()


def test_the_reference_gets_double_precision_and_has_its_tolerance(files: Files) -> None:
    reference = """
def reference(x, i):
    assert x.dtype == "float64"
    return x * x + i

tolerance = (0.0, 0.01)
"""
    near = RIGHT.replace("x * x + i", "(x * x + i) * 1.005")
    assert files.evaluated(near, BASE + reference)[1] == ["", ""]
    assert all(files.evaluated(near)[1])


def test_a_base_that_cannot_take_double_precision_is_its_own_reference(files: Files) -> None:
    typed = BASE.replace("(x * x + i).astype(x.dtype)", "x.view('float32') * 2")
    candidate = "def kernel(x, i):\n    return x + x\n"
    assert files.evaluated(candidate, typed)[1] == ["", ""]
    refusing = typed.replace("x.view('float32')", "{'float32': x}[x.dtype.name]")
    assert files.evaluated(candidate, refusing)[1] == ["", ""]


def test_inputs_of_a_file_of_their_own_and_numbers_among_them(files: Files) -> None:
    own = files.write(
        "own.py",
        "import numpy as np\nfixed = [0]\n"
        "def inputs(): return np.arange(8.0), 3, 'text', None\n"
        "def reference(x, *others): return np.cumsum(x) * 3\n",
    )
    base = "import numpy as np\ndef kernel(x, a, b, c): return np.cumsum(x) * a\n"
    assert files.evaluated(base, base, inputs=str(own)) == ([""], [""])


@pytest.mark.parametrize(
    ("base", "settings", "said"),
    [
        ("1 / 0", {}, "base.py cannot be imported: ZeroDivisionError"),
        ("def other(): pass", {}, "base.py has no function kernel"),
        ("def kernel(x): return x", {}, "base.py has no function inputs"),
        (BASE, {"axes": {"m": ["1"]}}, "--axis m: inputs() has no such parameter, only n"),
        (BASE, {"axes": {"n": ["big"]}}, "the parameter n of inputs() needs integers"),
        (BASE.replace("n=(4, 6)", "n"), {}, "add --axis n=…"),
        (BASE.replace("n=(4, 6)", "n=()"), {}, "the parameter n of inputs() needs integers"),
        (BASE.replace("(3, n)", "(3, -n)"), {}, "inputs() fails: ValueError"),
        (BASE.replace("return np.random", "return {}, np.random"), {}, "input 0 is a dict"),
        ("def inputs(): return 3\ndef kernel(x): return x", {}, "inputs() returns no array"),
        (BASE.replace("x * x + i", "x @ x @ i"), {}, "kernel, which is the reference, fails"),
        (BASE.replace("return (x", "(x"), {}, "the base's kernel returns no array"),
        (BASE + "tolerance = 0.01", {}, "tolerance is (absolute, relative)"),
        (BASE + "tolerance = 0, 'much'", {}, "tolerance is (absolute, relative)"),
        (BASE + "fixed = 1", {}, "fixed is a list"),
    ],
)
def test_files_that_cannot_be_evaluated_are_said_in_one_sentence(
    files: Files, base: str, settings: dict[str, object], said: str
) -> None:
    refused = files.refused(base, **settings)
    assert said in refused
    assert "\n" not in refused


def test_inputs_in_the_host_s_memory_are_refused(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "present", lambda: [NumPy(device=None)])
    assert "host's memory" in files.refused()


def test_arrays_that_cannot_be_sent_are_refused(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NumPy, "can_be_sent", False)
    assert "input 0 is a ndarray" in files.refused()
    with pytest.raises(UserError, match="a result is a ndarray"):
        messages.results_of(np.zeros(3), [NumPy()])


def test_a_candidate_without_the_function_is_an_error_of_its_rows(files: Files) -> None:
    rows, faults = files.evaluated("def other(): pass\n")
    assert all("has no function kernel" in row for row in rows)
    assert all(faults)


def float32(*values: float) -> np.ndarray:
    return np.array(values, dtype="float32")


@pytest.mark.parametrize(
    ("result", "expected", "is_right"),
    [
        (float32(1, 2), np.array([1.0, 2.0 + 1e-7]), True),
        (float32(1, 2), np.array([1.0, 2.1]), False),
        (float32(np.nan, 2), np.array([1.0, 2.0]), False),
        (float32(1, 2), np.array([np.nan, 2.0]), False),
        (float32(np.nan), np.array([np.nan]), False),
        (float32(np.inf, -np.inf), np.array([np.inf, -np.inf]), True),
        (float32(np.inf), np.array([-np.inf]), False),
        (float32(1), np.array([np.inf]), False),
        (float32(np.inf, 1), np.array([1.0, 1.0]), False),
        (float32(3, np.inf), np.array([4.0, np.inf]), False),
        (np.array([2, 3]), np.array([2, 3]), True),
        (np.array([2, 3]), np.array([2, 4]), False),
        (float32(1, 2), np.array([1.0]), False),
        (float32(), np.array([]), True),
        (float32(1e-9, 1), np.array([0.0, 1.0]), True),  # beside what is larger
    ],
)
def test_a_result_is_compared_as_the_engine_does(
    result: np.ndarray, expected: np.ndarray, is_right: bool
) -> None:
    assert (checker.difference(NumPy(), result, expected, None) == "") is is_right


def test_the_example_of_the_page_is_right(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def randn(*shape: int, device: str) -> np.ndarray:
        return np.random.randn(*shape).astype("float32")

    def sigmoid(x: np.ndarray) -> np.ndarray:
        return np.asarray(1 / (1 + np.exp(-x)))

    functional = SimpleNamespace(silu=lambda x: x / (1 + np.exp(-x)))
    names = {"randn": randn, "sigmoid": sigmoid, "manual_seed": lambda seed: None}
    torch = SimpleNamespace(nn=SimpleNamespace(functional=functional), **names)
    monkeypatch.setitem(sys.modules, "torch", torch)
    page = (ROOT / "docs" / "pages" / "python.md").read_text()
    base, candidate = (
        page.partition(f"```python\n# {name}\n")[2].partition("```")[0]
        for name in ("baseline.py", "optimize.py")
    )
    assert files.evaluated(candidate, base, axes={"n": ["3", "5"]}) == (["", ""], ["", ""])


def test_a_file_is_read_anew_although_its_size_and_time_are_those_of_another(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "bytecode"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for value in (1, 2):
        path = files.write("mine.py", f"def kernel(): return {value}\n")
        os.utime(path, (1e9, 1e9))
        messages.names_of.cache_clear()
        assert messages.function_of(path, "kernel")() == value


def test_a_message_comes_as_it_was_sent() -> None:
    one, other = map(Channel, socket.socketpair())
    contents = [bytearray(), bytearray(b"xyz")]
    one.send({"a": [1, "ü"]}, contents)
    assert other.receive() == ({"a": [1, "ü"]}, contents)
    one.close()
    with pytest.raises(EOFError):
        other.receive()
    other.close()
