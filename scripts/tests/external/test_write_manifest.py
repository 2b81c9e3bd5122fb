# SPDX-License-Identifier: Apache-2.0
"""Entries of kernels.toml: what is in them, their files, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpgauge.external.write_manifest import (
    KernelEntry,
    Options,
    Parameters,
    write_manifest,
)
from warpgauge.system import contract
from warpgauge.system.errors import UserError

X, Y = np.arange(4, dtype="f4"), np.zeros(4, "f4")


def _entry(folder: Path, options: Options, parameter: str = "x") -> KernelEntry:
    parameters = Parameters("copy", folder, options)
    parameters.add(parameter, X)
    parameters.add("y", Y)
    image: dict[str, object] = {"cubin": parameters.file("cubin", b"\x7fELF")}
    return parameters.kernel(image, "copy_kernel", ["ceil_div(n, 256)"], [256])


def test_a_manifest_holds_the_entries_and_its_files_lie_beside_it(tmp_path: Path) -> None:
    entry = _entry(
        tmp_path / "kernels",
        {
            "outputs": ["y"],
            "axes": {"n": [4, 8]},
            "expressions": {"x": "n", "y": "n"},
            "verify": {"y": {"reference": "plain", "relative": 1e-6}},
            "bytes": "8 * n",
        },
    )
    write_manifest(tmp_path / "kernels.toml", [entry])
    assert contract.read_toml(tmp_path / "kernels.toml") == {
        "version": 1,
        "kernels": {
            "copy": {
                "cubin": "kernels/copy.cubin",
                "symbol": "copy_kernel",
                "type": "f32",
                "axes": {"n": [4, 8]},
                "arguments": [
                    {"input": "x", "type": "f32", "count": "n"},
                    {"output": "y", "type": "f32", "count": "n"},
                ],
                "grid": ["ceil_div(n, 256)"],
                "block": [256],
                "bytes": "8 * n",
                "verify": {"y": {"reference": "plain", "relative": 1e-6}},
            }
        },
    }
    assert (tmp_path / "kernels" / "copy.cubin").read_bytes() == b"\x7fELF"


def test_an_expected_array_is_saved_with_the_inputs_that_it_belongs_to(tmp_path: Path) -> None:
    entry = _entry(tmp_path, {"outputs": ["y"], "verify": {"y": {"npy": X, "relative": 0.0}}})
    write_manifest(tmp_path / "kernels.toml", [entry])
    text = (tmp_path / "kernels.toml").read_text()
    assert '"copy.x.npy"' in text
    assert '"copy.y.npy"' in text
    np.testing.assert_array_equal(np.load(tmp_path / "copy.x.npy"), X)
    np.testing.assert_array_equal(np.load(tmp_path / "copy.y.npy"), X)


def test_a_buffer_in_place_has_its_initial_and_its_expected_values(tmp_path: Path) -> None:
    entry = _entry(tmp_path, {"in_place": ["x"], "scratch": ["y"], "verify": {"x": {"npy": Y}}})
    assert entry.entry["arguments"] == [
        {"in_place": "x", "type": "f32", "count": "4", "npy": tmp_path / "copy.x.initial.npy"},
        {"scratch": "y", "type": "f32", "count": "4"},
    ]
    np.testing.assert_array_equal(np.load(tmp_path / "copy.x.initial.npy"), X)
    np.testing.assert_array_equal(np.load(tmp_path / "copy.x.npy"), Y)


def test_values_are_those_of_the_options(tmp_path: Path) -> None:
    uniform = {"uniform": [0, "n - 1"]}
    entry = _entry(tmp_path, {"outputs": ["y"], "values": {"x": uniform}})
    write_manifest(tmp_path / "kernels.toml", [entry])
    read: Any = contract.read_toml(tmp_path / "kernels.toml")
    assert read["kernels"]["copy"]["arguments"][0]["values"] == uniform


@pytest.mark.parametrize("text", ['a"b\\c', "tab\tand\nline", "bell\x07del\x7f", "µ😀", "${x}#'"])
def test_every_string_comes_back_as_it_was(tmp_path: Path, text: str) -> None:
    kernel = KernelEntry(
        "one", {"symbol": text, "options": [text], "verify": {text: {"relative": 0.5}}}
    )
    write_manifest(tmp_path / "kernels.toml", [kernel])
    read = contract.read_toml(tmp_path / "kernels.toml")
    assert read == {"version": 1, "kernels": {"one": {**kernel.entry}}}


@pytest.mark.parametrize(
    ("value", "kind", "described"),
    [
        (7, "i32", {"value": "7", "type": "i32"}),
        (-7, "i32", {"value": "-7", "type": "i32"}),
        (True, "i8", {"value": "1", "type": "i8"}),
        (2, "f32", {"value": 2.0, "type": "f32"}),
        (np.float32(0.5), "", {"value": 0.5, "type": "f32"}),
        (np.uint64(2**63), "", {"value": str(2**63), "type": "u64"}),
    ],
)
def test_a_scalar_keeps_the_number_of_the_example(
    tmp_path: Path, value: object, kind: str, described: object
) -> None:
    assert Parameters("copy", tmp_path, {}).add("n", value, kind) == described


def test_what_does_not_fit_is_refused_before_a_file_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    wrong: list[dict[str, object]] = [
        {"outputs": ["y", "z"]},
        {"in_place": ["z"]},
        {"scratch": ["z"]},
        {"values": {"z": {"constant": 1}}},
        {"verify": {"z": {"reference": "plain"}}},
    ]
    for options in wrong:
        with pytest.raises(UserError, match="no buffer parameter is named 'z'"):
            _entry(folder, {"outputs": ["y"], **options})  # type: ignore[typeddict-item]
    with pytest.raises(UserError, match="give outputs"):
        _entry(folder, {})
    with pytest.raises(TypeError, match="output"):
        _entry(folder, {"output": ["y"]})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(UserError, match="'Copy' is not lower snake case"):
        Parameters("Copy", folder, {})
    parameters = Parameters("copy", folder, {})
    with pytest.raises(UserError, match="parameter 'x': a manifest cannot describe complex64"):
        parameters.add("x", np.zeros(4, "c8"))
    with pytest.raises(UserError, match="'three', which has no dtype"):
        parameters.add("x", "three")
    assert not folder.exists()


@pytest.mark.parametrize("roles", [("in_place", "scratch"), ("outputs", "in_place")])
def test_a_buffer_in_two_roles_is_refused(tmp_path: Path, roles: tuple[str, str]) -> None:
    options: Any = {"outputs": ["y"]} | {key: ["x"] for key in roles}
    with pytest.raises(UserError, match="parameter 'x': it has one role"):
        _entry(tmp_path, options)


def test_two_kernels_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="more than one kernel is named 'one'"):
        write_manifest(tmp_path / "kernels.toml", [KernelEntry("one", {}), KernelEntry("one", {})])


def test_a_manifest_that_somebody_wrote_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "kernels.toml"
    for _ in "12":
        write_manifest(path, [KernelEntry("one", {})])
    path.write_text("version = 1\n")
    with pytest.raises(UserError, match="not made by write_manifest; name another file"):
        write_manifest(path, [KernelEntry("one", {})])
    assert path.read_text() == "version = 1\n"
