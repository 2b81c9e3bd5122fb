# SPDX-License-Identifier: Apache-2.0
"""The recipes for package managers agree with the project: version, bounds, options, folders."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

import workflows
from warpgauge import __version__
from warpgauge.system import contract
from warpgauge.system.environment import ROOT

FOLDER = ROOT / ".github" / "packaging"
CONDA = workflows.parsed((FOLDER / "conda" / "recipe.yaml").read_text())
PORT = FOLDER / "vcpkg" / "warpgauge"
MANIFEST = json.loads((PORT / "vcpkg.json").read_text())
# The project's own, which `pip install` of a clone reads.
PROJECT = next(
    path for folder in (ROOT, ROOT / "scripts") if (path := folder / "pyproject.toml").exists()
)


class Spack(NamedTuple):
    """What the recipe for Spack declares, and the options that it gives to CMake."""

    versions: dict[str, dict[str, str]]
    needs: list[str]
    options: dict[str, object]


@pytest.fixture
def spack(monkeypatch: pytest.MonkeyPatch) -> Spack:
    """As Spack reads it, from stand-ins for its modules."""
    declared = Spack({}, [], {})
    directives = {
        "version": lambda name, **keys: declared.versions.update({name: keys}),
        "depends_on": lambda spec, **keys: declared.needs.append(spec),
        "conflicts": lambda spec, **keys: None,
        "license": lambda name: None,
    }
    package = SimpleNamespace(
        define=lambda name, value: declared.options.update({name: value}),
        define_from_variant=lambda name, variant: declared.options.update({name: variant}),
    )
    systems = "spack_repo.builtin.build_systems"
    modules: dict[str, dict[str, object]] = {
        "spack": {}, "spack.package": {**directives}, "spack_repo": {}, "spack_repo.builtin": {},
        systems: {}, f"{systems}.cmake": {"CMakePackage": type("CMakePackage", (), {})},
        f"{systems}.cuda": {"CudaPackage": type("CudaPackage", (), {})},
    }  # fmt: skip
    for name, members in modules.items():
        module = ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    (path,) = (FOLDER / "spack_repo" / "warpgauge").rglob("package.py")
    recipe = runpy.run_path(str(path))
    recipe["Warpgauge"].cmake_args(package)
    return declared


def bound(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    assert found
    return found[1]


def test_every_recipe_has_the_version_of_the_project(spack: Spack) -> None:
    assert CONDA["context"]["version"] == __version__
    assert MANIFEST["version"] == __version__
    assert spack.versions == {"main": {"branch": "main"}, __version__: {"tag": f"v{__version__}"}}
    shown = (FOLDER / "README.md").read_text()
    assert bound(shown, r"gh:warpgauge/warpgauge@([\d.]+)") == __version__


def test_the_source_is_the_clone_that_a_recipe_lies_in() -> None:
    assert (FOLDER / "conda" / CONDA["source"]["path"]).resolve() == ROOT
    up = bound((PORT / "portfile.cmake").read_text(), r'"\$\{CURRENT_PORT_DIR\}(/[./]+)"')
    assert Path(f"{PORT}{up}").resolve() == ROOT


def test_the_package_of_conda_has_the_licences_of_the_package_of_python() -> None:
    project: Any = contract.read_toml(PROJECT)
    assert CONDA["about"]["license_file"] == project["project"]["license-files"]
    assert [it for it in CONDA["about"]["license_file"] if not (ROOT / it).exists()] == []


def test_the_package_of_conda_needs_what_the_package_of_python_needs() -> None:
    project: Any = contract.read_toml(PROJECT)
    # Python of conda is newer than those that need tomli; where there is a bound, it is the same.
    listed = [need for need in project["project"]["dependencies"] if "python_version" not in need]
    specs = [re.sub(r"(?<=\w)(?=[<>=])", " ", need, count=1).replace("-", "_") for need in listed]
    needs = {f"{need.replace('-', '_')} " for need in CONDA["requirements"]["run"]} - {"python "}
    assert len(needs) == len(specs)
    assert [it for it in specs if not any(need.startswith(f"{it} ") for need in needs)] == []


def test_the_bounds_are_those_of_the_build(spack: Spack) -> None:
    cmake = (ROOT / "CMakeLists.txt").read_text()
    fetched = (ROOT / ".cmake" / "dependencies.cmake").read_text()
    least = bound(cmake, r"cmake_minimum_required\(VERSION ([\d.]+)")
    benchmark, json_ = re.findall(r"FIND_PACKAGE_ARGS ([\d.]+)", fetched)
    assert {f"cmake@{least}:", f"benchmark@{benchmark}:", f"nlohmann-json@{json_}:"} <= {
        *spack.needs
    }
    needed = {*CONDA["requirements"]["build"], *CONDA["requirements"]["host"]}
    assert {f"cmake >={least}", f"benchmark >={benchmark}", f"nlohmann_json >={json_}"} <= needed
    backend: Any = contract.read_toml(PROJECT)["build-system"]
    assert {need.replace(">=", " >=") for need in backend["requires"]} <= needed


def test_every_option_that_a_recipe_sets_is_one(spack: Spack) -> None:
    options = set(
        re.findall(r"^option\((\w+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    )
    port = set(re.findall(r"WARPGAUGE_\w+", (PORT / "portfile.cmake").read_text()))
    assert len(port) == 3
    assert port == spack.options.keys()
    assert port <= options
    assert spack.options["WARPGAUGE_CUDA"] == "cuda"
    assert "cuda" in MANIFEST["features"]
