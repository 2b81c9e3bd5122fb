# SPDX-License-Identifier: Apache-2.0
"""scripts/devtools/sanitize, over a ctest and a compute-sanitizer that are stand-ins."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from warpgauge.system.environment import ROOT

# It runs what it is given, and finds something wherever that says so.
SANITIZER = """#!/bin/sh
echo "$@" >> "$LOG"
while [ "${1#--}" != "$1" ]; do shift 2; done
"$@" > said; status=$?
if grep -q overrun said; then echo "========= Invalid read"; exit 86; fi
exit $status
"""


def entry(name: str, script: str, label: str = "gpu") -> dict[str, object]:
    known = {"LABELS": [label], "ENVIRONMENT": ["SLEPT=0.1"], "SKIP_RETURN_CODE": 77}
    properties = [{"name": key, "value": value} for key, value in known.items()]
    return {"name": name, "command": ["/bin/sh", "-c", script], "properties": properties}


@dataclass
class Machine:
    """Its programs lie in `bin`; `build` is the build folder."""

    root: Path
    build: Path
    bin: Path

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def tests(self, *entries: dict[str, object]) -> None:
        (self.build / "tests.json").write_text(json.dumps({"tests": entries}))

    def sanitize(self, *argv: str) -> tuple[int, str]:
        """Exit status and output; nothing takes any time there."""
        script = ROOT / "scripts" / "devtools" / "sanitize"
        done = subprocess.run(
            [sys.executable, str(script), str(self.build), *argv],
            env={"PATH": str(self.bin), "LOG": str(self.root / "log"),
                 "CUDACXX": str(self.bin / "nvcc")},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        return done.returncode, re.sub(r"\(\d+ s\)", "(0 s)", done.stdout)

    def calls(self) -> list[str]:
        return (self.root / "log").read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path, tmp_path / "build", tmp_path / "bin")
    made.build.mkdir()
    made.bin.mkdir()
    for tool in ("cat", "env", "grep", "sleep"):  # and no other of this machine's
        (made.bin / tool).symlink_to(shutil.which(tool) or "")
    made.program("ctest", "#!/bin/sh\ncat tests.json\n")
    made.program("compute-sanitizer", SANITIZER)
    made.program("nvidia-smi", "#!/bin/sh\necho 'GPU 0: NVIDIA Fake'\n")
    made.tests(entry("good", "test $SLEPT = 0.1"), entry("on_the_host", "exit 5", label="host"))
    return made


def test_every_gpu_test_is_run_under_the_tool_and_told_in_a_line(machine: Machine) -> None:
    assert machine.sanitize() == (0, "good: ok (0 s)\nmemcheck: 1 GPU test, 0 skipped, 0 failed\n")
    (call,) = machine.calls()
    assert call.startswith("--tool memcheck --error-exitcode 86 ")
    assert "--report-api-errors no" in call
    assert machine.sanitize("racecheck")[0] == 0
    assert machine.calls()[1].startswith("--tool racecheck ")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo overrun", "bad: FAILED: the sanitizer found something (0 s)\n  ========= Invalid"),
        ("exit 5", "bad: FAILED: status 5 (0 s)"),
    ],
)
def test_a_finding_and_a_failure_fail(machine: Machine, script: str, said: str) -> None:
    machine.tests(entry("bad", script), entry("good", "exit 0"))
    status, output = machine.sanitize("racecheck")
    assert status == 1
    assert said in output
    assert output.splitlines()[-1] == "racecheck: 2 GPU tests, 0 skipped, 1 failed: bad"


def test_what_does_not_end_fails(machine: Machine) -> None:
    machine.tests(entry("bad", "exec sleep 600"))
    status, output = machine.sanitize("racecheck", "--timeout=0.2")
    assert status == 1
    assert "bad: FAILED: did not finish within 0.2 s" in output


def test_what_is_skipped_is_told_and_nothing_but_that_is_no_pass(machine: Machine) -> None:
    machine.tests(entry("small", "exit 77"), entry("good", "exit 0"))
    assert machine.sanitize()[1].startswith("small: skipped (0 s)\ngood: ok")
    status, output = machine.sanitize("memcheck", "small")
    assert status == 3
    assert "every test was skipped" in output


def remove(name: str) -> Callable[[Machine], None]:
    return lambda machine: (machine.bin / name).unlink()


@pytest.mark.parametrize(
    ("spoil", "argv", "status", "said"),
    [
        (remove("nvidia-smi"), [], 3, "sanitize: there is no GPU here"),
        (remove("compute-sanitizer"), [], 3, "sanitize: there is no compute-sanitizer here"),
        (remove("ctest"), [], 2, "sanitize: ctest cannot list the tests of"),
        (lambda machine: machine.tests(), [], 2, "has no test with the label gpu: build it"),
        (lambda machine: None, ["memcheck", "nothing"], 2, "no GPU test of"),
        (lambda machine: None, ["memcheck", "("], 2, "is not a regular expression"),
        (lambda machine: machine.tests({**entry("a", ""), "command": []}), [], 2, "is not built"),
    ],
)
def test_where_nothing_can_be_checked_one_sentence_says_why(
    machine: Machine, spoil: Callable[[Machine], None], argv: list[str], status: int, said: str
) -> None:
    spoil(machine)
    found, output = machine.sanitize(*argv)
    assert (found, len(output.splitlines())) == (status, 1)
    assert said in output
