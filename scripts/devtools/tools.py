# SPDX-License-Identifier: Apache-2.0
"""The linters of the Python environment, whose versions are locked."""

from __future__ import annotations

import sysconfig
from pathlib import Path

# What scripts/test and scripts/lint import and run.
PACKAGES = [
    *("numpy", "scipy", "rich", "msgspec", "pytest", "xdist", "hypothesis", "jsonschema"),
    *("ruff", "mypy", "clang_format", "clang_tidy", "check_jsonschema", "ruamel.yaml"),
    *("prometheus_client", "cmarkgfm", "jinja2"),
]
# What a wheel is built with.
WHEEL = ["auditwheel", "build", "hatch_fancy_pypi_readme", "nanobind", "scikit_build_core"]

_PROGRAMS = "clang-format", "clang-tidy", "zizmor", "check-jsonschema", "hadolint", "shellcheck"
_FOLDER = Path(sysconfig.get_path("scripts"))

CLANG_FORMAT, CLANG_TIDY, ZIZMOR, CHECK_JSONSCHEMA, HADOLINT, SHELLCHECK = (
    str(_FOLDER / name) for name in _PROGRAMS
)
