# SPDX-License-Identifier: Apache-2.0
"""What is told of a cause, whatever the names in it, and of machine code without a measurement."""

from __future__ import annotations

import json
from dataclasses import replace

from counter_sets import kernel
from warpgauge.why import reason
from warpgauge.why.causes import code_changes, explanation
from warpgauge.why.cupti import Call
from warpgauge.why.machine_code import Instruction, Kernel
from warpgauge.why.reason import Evidence, Reason


def code(*opcodes: str, name: str = "f") -> dict[str, Kernel]:
    made = tuple(Instruction(16 * n, "", one, ("R1",), "k.cu:3") for n, one in enumerate(opcodes))
    return {name: Kernel(name, made, " ".join(opcodes))}


def explained(before: Evidence, after: Evidence, slowdown: float, name: str = "a/b") -> Reason:
    return explanation(name, before, after, slowdown)


def test_every_format_tells_the_same_shares() -> None:
    calls = {"cudaLaunchKernel": Call(1.0, 2e-6)}
    before = Evidence(2e-6, True, calls=calls)
    after = Evidence(3e-6, True, calls={**calls, "cudaMemsetAsync": Call(1.0, 8e-7)})
    found = [explained(before, after, 0.5)]
    (one,) = json.loads(reason.document(found))["benchmarks"]
    assert (one["causes"][0]["key"], round(one["unexplained"], 2)) == ("added_memset", 0.2)
    text = reason.plain(found)
    assert "80 %" in text
    assert "cudaMemsetAsync" in text


def test_a_hostile_name_cannot_leave_its_line() -> None:
    text = reason.plain([explained(Evidence(1.0), Evidence(2.0), 1.0, "a|b\n<x>\x1b[31m")])
    assert "\x1b" not in text
    assert "b\n" not in text


def test_the_same_machine_code_is_said_and_excludes_causes_of_code() -> None:
    stalls = {"wait": 4.0, "selected": 1.0}
    slow = kernel({**stalls, "long_scoreboard": 9.0}, instructions=5e8, local_sectors=5e7)
    sides = [
        Evidence(one["time"], counters=one, code=code("FADD", "EXIT"), code_is_whole=True)
        for one in (kernel(stalls, instructions=4e8), slow)
    ]
    found = explained(sides[0], sides[1], sides[1].seconds / sides[0].seconds - 1.0)
    assert found.same_code
    assert "machine code is the same" in found.paragraph
    assert "spills" not in {one.key for one in found.causes}


def test_what_became_faster_has_nothing_to_explain() -> None:
    for slowdown, words in ((-0.05, "a/b is 5 % faster."), (0.0, "a/b is not slower.")):
        paragraph = explained(Evidence(1.0), Evidence(1.0 + slowdown), slowdown).paragraph
        assert paragraph == f"{words} There is nothing to explain."


def test_the_same_code_is_not_said_of_kernels_of_which_some_are_unknown() -> None:
    own = code("FADD", "EXIT")
    found = explained(Evidence(1.0, code=own, code_is_whole=True), Evidence(2.0, code=own), 1.0)
    assert not found.same_code


def test_kernels_of_one_template_are_compared() -> None:
    before, after = (f"_ZN1a4tileILi{n}EEEvPf" for n in (128, 64))  # a::tile<n>(float*)
    sides = [
        Evidence(1.0, code=code("LDG.E.128", "EXIT", name=before)),
        Evidence(2.0, code=code("LDG.E", "EXIT", name=after)),
    ]
    (change,) = code_changes(*(one.code for one in sides)).values()
    assert change.widths
    sides[1] = Evidence(2.0, code={**(sides[1].code or {}), **code(name="_ZN1a4tileILi2EEEvPf")})
    assert not code_changes(*(one.code for one in sides))


def test_a_register_that_is_spilled_is_told_from_an_array() -> None:
    before = Evidence(1e-5, code=code("FADD", "EXIT"))
    ((name, kernel),) = code("STL", "LDL", "FADD", "EXIT").items()
    spilled = tuple(replace(one, is_spill=one.opcode == "STL") for one in kernel.code)
    words = []
    for one in (kernel, replace(kernel, code=spilled)):
        (cause,) = explained(before, Evidence(2e-5, code={name: one}), 1.0).causes
        assert cause.key == "spills"
        words.append(cause.words)
    assert "array" in words[0]
    assert "array" not in words[1]


def test_without_counters_the_code_names_causes() -> None:
    before = Evidence(1e-5, code=code("LDG.E.128", "FADD", "EXIT"))
    for after, key in (
        (("LDG.E", "LDG.E", "LDG.E", "LDG.E", "FADD", "EXIT"), "narrower"),
        (("LDG.E.128", "STL", "LDL", "FADD", "EXIT"), "spills"),
        (("LDG.E.128", "F2F.F64.F32", "DADD", "EXIT"), "fp64"),
    ):
        told = explained(before, Evidence(2e-5, code=code(*after)), 1.0)
        assert [(one.key, one.share) for one in told.causes] == [(key, None)]


def test_other_launch_bounds_are_named_before_what_they_did() -> None:
    (old,), (new,) = (code(*words).values() for words in (("FADD",), ("FADD", "STL", "LDL")))
    sides = [
        Evidence(1e-5, resources={"registers": registers}, code={"f": replace(one, bounds=bounds)})
        for one, bounds, registers in ((old, 1024, 64), (old, 256, 60), (new, 256, 40))
    ]
    for before, after, key in (
        (sides[0], sides[1], "launch_bounds"),
        (sides[0], sides[2], "spills"),
    ):
        (cause,) = explained(before, after, 0.3).causes
        assert (cause.key, cause.share) == (key, None)
        assert cause.words.startswith("threads by launch bounds 1024 → 256")


def test_without_counters_changed_code_is_told_but_no_cause() -> None:
    before = Evidence(1.0, code=code("FADD", "FMUL", "EXIT"))
    after = Evidence(1.3, code=code("FMUL", "FADD", "EXIT"))
    paragraph = explained(before, after, 0.3).paragraph
    assert "unknown" in paragraph
    assert "f changed: about as many instructions of each kind" in paragraph
