# SPDX-License-Identifier: Apache-2.0
"""A policy file is read as it is meant, or refused in one sentence that names the entry."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refusal import told
from warpgauge.records.counters import Clock
from warpgauge.records.load import load
from warpgauge.records.model import Record, Source
from warpgauge.system.errors import UserError
from warpgauge.verdict import policy
from warpgauge.verdict.comparison_settings import ComparisonSettings

ROOT = Path(__file__).parents[3]
RUN = Record(Path("/x/run.json"), Source.RUN, {}, {})

EFFECT = """
[[minimum_effect]]
pattern = "memcpy/.*_pageable/"
percent = 25
reason = "pageable copies follow the host's memory"
"""
TOLERANCE = """
[[tolerance]]
pattern = "memcpy/.*_pageable/"
percent = 7.5
reason = "nobody waits for pageable copies"
"""
REQUIRED = """
[[required]]
pattern = "^gemm/cublas/"
"""
PINNED = """
[[resources]]
pattern = "^softmax_"
registers = 64
spills = 0
architectures = ["sm_90"]
"""
ENERGY = """
[[energy]]
pattern = "^gemm/"
percent = 10
reason = "the racks are at their limit"
"""
EXPECTED = """
[[expected]]
pattern = "^gemm/tiled/"
slower_by_at_most_percent = 5
reason = "the bounds check"
expires = 2027-01-31
"""


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "policy.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def fault(folder: Path, text: str | bytes) -> str:
    """The sentence that refuses `text`, without the file's name."""
    return told(written(folder, text), policy.load)


def test_every_kind_of_entry_is_read(tmp_path: Path) -> None:
    expected = EXPECTED.replace('"the bounds check"', '"""\nthe bounds\n  check\n"""')
    text = EFFECT + TOLERANCE + REQUIRED + ENERGY + expected + "resources = true\n"
    read = policy.load(written(tmp_path, text))
    (effect,), (tolerance,) = read.minimum_effects, read.tolerances
    (required,), (accepted,) = read.required, read.expected
    assert (effect.fraction, effect.reason) == (0.25, "pageable copies follow the host's memory")
    assert (tolerance.fraction, tolerance.reason) == (0.075, "nobody waits for pageable copies")
    assert (required.pattern.pattern, required.reason) == ("^gemm/cublas/", "")
    assert [entry.fraction for entry in read.energies] == [0.1]
    assert (accepted.fraction, accepted.expires) == (0.05, date(2027, 1, 31))
    assert (accepted.reason, accepted.resources) == ("the bounds check", True)
    assert not policy.load(written(tmp_path, EXPECTED)).expected[0].resources


@pytest.mark.parametrize("text", ["", "\ufeff", "# nothing\r\n", "expected = []\n"])
def test_a_file_without_entries_asks_for_nothing(tmp_path: Path, text: str) -> None:
    read = policy.load(written(tmp_path, text))
    assert (read.minimum_effects, read.tolerances) == ((), ())
    assert (read.required, read.expected) == ((), ())


def test_a_pattern_may_have_other_limits_on_another_architecture(tmp_path: Path) -> None:
    text = PINNED + PINNED.replace("64", "80").replace("sm_90", "sm_80")
    first, second = policy.load(written(tmp_path, text)).pins
    assert (first.registers, first.spills, first.shared_bytes) == (64, 0, None)
    assert (second.registers, second.architectures) == (80, ("sm_80",))


def test_the_last_minimum_effect_that_matches_counts(tmp_path: Path) -> None:
    later = EFFECT.replace("memcpy/.*_", "h2d_").replace("25", "12.5")
    # A minus and "all" are letters like others.
    read = policy.load(written(tmp_path, EFFECT + later + EFFECT.replace("memcpy/.*_", "-all")))
    assert read.minimum_effect("memcpy/d2h_pageable/bytes:4096") == read.minimum_effects[0]
    assert read.minimum_effect("memcpy/h2d_pageable/bytes:4096") == read.minimum_effects[1]
    assert read.minimum_effect("gemm/naive/f32/n:256") is None


def test_the_tolerance_is_the_last_that_matches_and_no_less_than_the_minimum_effect(
    tmp_path: Path,
) -> None:
    later = TOLERANCE.replace("memcpy/.*_", "h2d_").replace("7.5", "12.5")
    text = TOLERANCE + later + EFFECT.replace("memcpy/.*_", "memcpy/d2d_")
    read = policy.load(written(tmp_path, text))
    terms = ComparisonSettings(policy=read)
    for name, host, device in (
        ("memcpy/d2h_pageable/bytes:4096", 0.075, 0.075),
        ("memcpy/h2d_pageable/bytes:4096", 0.125, 0.125),
        ("memcpy/d2d_pageable/bytes:4096", 0.25, 0.25),  # a smaller change fails nobody
        ("gemm/naive/f32/n:256", 0.03, 0.01),  # no policy
    ):
        assert terms.tolerance(name, Clock.HOST) == host
        assert terms.tolerance(name, Clock.DEVICE) == device
    asked = ComparisonSettings(policy=read, minimum_effect=0.1)
    assert asked.tolerance("memcpy/d2h_pageable/bytes:4096", Clock.HOST) == 0.1
    assert asked.tolerance("memcpy/h2d_pageable/bytes:4096", Clock.HOST) == 0.125
    assert ComparisonSettings().tolerance("memcpy/d2h_pageable/bytes:4096", Clock.HOST) == 0.03


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (EFFECT.replace("minimum_effect", "minimum_efect"),
         ": has the unknown key 'minimum_efect'; did you mean 'minimum_effect'?"),
        ("zzzz = 'a'\n",
         ": has the unknown key 'zzzz'; known are fail_on_resources, minimum_effect, tolerance, "
         "required, expected, resources, energy"),
        (ENERGY.replace("= 10", "= 0"),
         ", energy entry 1.percent: expected `float` > 0.0; correct it"),
        ("fail_on_resources = 'yes'\n",
         ": 'fail_on_resources' is not true or false; correct it"),
        (TOLERANCE.replace("reason", "# reason"),
         ", tolerance entry 1: object missing required field `reason`; correct it"),
        (REQUIRED.replace("[[", "[").replace("]]", "]"),
         ": 'required' is not a list of tables; write [[required]]"),
        ("required = ['^gemm/']\n",
         ", required entry 1: expected `object`, got `str`; correct it"),
        (EFFECT.replace("percent", "persent"),
         ", minimum_effect entry 1: has the unknown key 'persent'; did you mean 'percent'?"),
        (REQUIRED + "zzzz = 1\n",
         ", required entry 1: has the unknown key 'zzzz'; known are pattern, reason"),
        (EXPECTED + EXPECTED.replace("gemm", "sync").replace("expires = 2027-01-31", ""),
         ", expected entry 2: object missing required field `expires`; correct it"),
        (PINNED.replace("= 64", "= -1"),
         ", resources entry 1.registers: expected `int` >= 0; correct it"),
        (PINNED.replace("sm_90", "90a"),
         ", resources entry 1.architectures[0]: expected `str` matching regex '^sm_[0-9]+$'; "
         "correct it"),
        ("[[resources]]\npattern = 'softmax'\n",
         ", resources entry 1: limits nothing: give one of registers, spills, shared_bytes, "
         "stack_bytes, occupancy; correct it"),
        (PINNED + "occupancy = 50\n",
         ", resources entry 1.occupancy: expected `float` <= 1.0; correct it"),
        (PINNED + PINNED,
         ", resources entry 2: has the pattern of entry 1; remove one of them"),
        (EFFECT + EFFECT,
         ", minimum_effect entry 2: has the pattern of entry 1; remove one of them"),
    ],
)  # fmt: skip
def test_a_table_that_is_none_of_these_is_refused(tmp_path: Path, text: str, told: str) -> None:
    assert fault(tmp_path, text) == told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("pattern = 1", "pattern: expected `str`, got `int`; correct it"),
        ("pattern = ''", "pattern: expected `str` of length >= 1; correct it"),
        ("pattern = '('", "pattern: is not a regular expression (missing ), unterminated "
         "subpattern at position 0); correct it"),
        ("reason = true", "reason: expected `str`, got `bool`; correct it"),
        ("reason = {}", "reason: expected `str`, got `object`; correct it"),
        ("reason = ''", "reason: expected `str` of length >= 1; correct it"),
        ("reason = ' '", "reason: expected `str` matching regex '\\\\S'; correct it"),
        ("slower_by_at_most_percent = '5'", "slower_by_at_most_percent: expected `float`, "
         "got `str`; correct it"),
        ("slower_by_at_most_percent = true", "slower_by_at_most_percent: expected `float`, "
         "got `bool`; correct it"),
        ("expires = '2027-01-31'", "expires: expected `date`, got `str`; correct it"),
        ("expires = 2027-01-31T00:00:00Z", "expires: expected `date`, got "
         "`datetime`; correct it"),
        ("expires = 12:00:00", "expires: expected `date`, got `time`; correct it"),
        ("resources = 1", "resources: expected `bool`, got `int`; correct it"),
        ("number = 1", ": has the unknown key 'number'; known are pattern, reason, "
         "slower_by_at_most_percent, expires, resources"),
    ],
)  # fmt: skip
def test_a_value_that_means_nothing_is_refused(tmp_path: Path, line: str, told: str) -> None:
    key = line.partition(" ")[0]
    lines = [old for old in EXPECTED.splitlines() if not old.startswith(f"{key} ")]
    text = "\n".join([*lines, line, ""])
    assert fault(tmp_path, text) == f", expected entry 1.{told}".replace(".:", ":")


@pytest.mark.parametrize(
    "value", ["0", "-5", "1000", "inf", "nan", "1e400", "9" * 400, "0x" + "f" * 5000]
)
def test_a_percentage_out_of_range_is_refused(tmp_path: Path, value: str) -> None:
    for entry, old, kind in ((EFFECT, "25", "minimum_effect"), (TOLERANCE, "7.5", "tolerance")):
        told = fault(tmp_path, entry.replace(old, value))
        assert told.startswith(f", {kind} entry 1.percent: ")
        assert len(told) < 150


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"\xff\xfe[", "is not UTF-8 text (byte 1); save it as UTF-8"),
        (b"[[expected", "is not TOML: "),
        (b"required = []\nrequired = []\n", "is not TOML: "),
        (b"a = " + b"9" * 5000, "is not TOML: "),
        (b"a = " + b"[" * 5000, "is nested too deeply"),
        (b"<<<<<<< HEAD\n", "holds an unresolved merge conflict; resolve it"),
        (b"#" * 2**20 + b"#", "is larger than 1 MiB"),
    ],
)
def test_what_is_no_toml_is_refused(tmp_path: Path, raw: bytes, told: str) -> None:
    assert fault(tmp_path, raw).startswith(f": {told}")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "nothing", Path("a\0b")):
        with pytest.raises(UserError, match=r"is not a regular file|is no path|cannot be read"):
            policy.load(path)


_VALUES = st.one_of(
    st.booleans(), st.integers(), st.floats(), st.dates(), st.datetimes(),
    st.text(st.characters(codec="ascii", exclude_categories=["Cc"], exclude_characters="'")),
)  # fmt: skip


@settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.sampled_from(["pattern", "slower_by_at_most_percent", "reason", "expires"]), _VALUES)
def test_any_value_is_read_or_refused(tmp_path: Path, key: str, value: object) -> None:
    told = f"'{value}'" if isinstance(value, str) else str(value).lower().replace(" ", "t")
    lines = [line for line in EXPECTED.splitlines() if not line.startswith(f"{key} ")]
    try:
        policy.load(written(tmp_path, "\n".join([*lines, f"{key} = {told}"])))
    except UserError as caught:
        assert str(caught).isprintable()


def test_the_policy_of_a_baseline_lies_above_its_folder_and_cannot_be_read_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of(path: Path) -> policy.Policy | None:
        return policy.of(Record(path, Source.BASELINE, {}, {}), RUN, Path("/elsewhere"), None)

    folder = tmp_path / "baselines" / "nvidia-test"
    folder.mkdir(parents=True)
    (folder / "gemm.json").touch()
    assert of(folder) is None
    written(folder.parent, REQUIRED)
    monkeypatch.chdir(folder)
    for path in (folder, folder / "gemm.json", Path(), Path("../nvidia-test")):
        found = of(path)
        assert found is not None
        assert found.name == "baselines/policy.toml"
    (folder.parent / "policy.toml").unlink()
    (folder.parent / "policy.toml").symlink_to("nowhere")
    with pytest.raises(UserError, match="cannot be read"):
        of(folder)


def test_the_projects_own_policy_requires_its_families_and_hides_little() -> None:
    read = policy.load(ROOT / "baselines" / "policy.toml")
    assert not read.expected
    assert not read.minimum_effects
    names = load(ROOT / "baselines" / "nvidia-h200").rows
    wide = [name for name in names if (one := read.tolerance(name)) and one.fraction > 0.03]
    assert len(wide) < 0.05 * len(names)
    families = {path.stem for path in (ROOT / "baselines" / "nvidia-h200").glob("*.json")}
    required = {
        name for name in families for one in read.required if one.pattern.search(f"{name}/")
    }
    assert required == families - {"host"}
