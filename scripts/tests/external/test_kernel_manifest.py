# SPDX-License-Identifier: Apache-2.0
"""A manifest is read as it is meant, or refused whole in one sentence that names the key."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from manifests import IN_PLACE, KERNELS, write_manifest
from refusal import told
from warpgauge.external import manifest, plan
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import UserError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA = json.loads(Path(manifest.__file__).with_name("kernels.schema.json").read_bytes())


def fault(folder: Path, text: str) -> str:
    """The sentence that refuses `text`, without the file's name."""
    sentence = told(write_manifest(folder, text), manifest.load)
    return sentence.removeprefix(", ").removeprefix(": ")


def test_the_published_schema_is_made_from_the_types() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert manifest.schema() == SCHEMA, "write json.dumps(manifest.schema(), indent=1) to it"
    validator = Draft202012Validator(SCHEMA)
    validator.validate(tomllib.loads(KERNELS))
    validator.validate(tomllib.loads(IN_PLACE))
    two = IN_PLACE.replace("constant = 0", "constant = 0, distinct = 2")
    assert not validator.is_valid(tomllib.loads(two))
    for old, new in (("cubin =", "cubim ="), ("null = true", 'null = true, input = "x"')):
        assert not validator.is_valid(tomllib.loads(KERNELS.replace(old, new)))


def test_the_example_of_the_documents_is_a_manifest(tmp_path: Path) -> None:
    page = ROOT / "docs/pages/kernels.md"
    text = page.read_text().split("```toml\n")[1].split("```")[0]
    path = write_manifest(tmp_path, text)
    (tmp_path / "scale_reference.cu").write_text("// ...")
    names = [case.name for case in plan.cases(manifest.load(path))]
    assert names == re.findall(r"external/\S+", text)


def test_a_long_chain_of_references_is_followed(tmp_path: Path) -> None:
    head, scale = KERNELS.split("[kernels.scale]")
    scale = scale.split("[kernels.naive]")[0]
    chain = [f"[kernels.k{n}]{scale.replace('naive', f'k{n + 1}')}" for n in range(1000)]
    last = KERNELS[KERNELS.index("[kernels.naive]") :].replace("[kernels.naive]", "[kernels.k1000]")
    manifest.load(write_manifest(tmp_path, "".join([head, *chain, last])))
    circle = scale.replace("naive", "k998")
    refused = fault(tmp_path, "".join([head, *chain, "[kernels.k1000]", circle]))
    assert refused.startswith("kernels verify each other, 'k")


X = '{ input = "x", type = "f32", count = "n" }'
VERIFY = 'verify.y = { reference = "naive", relative = 0.5 }'
SCALE = "kernels.scale"
FIRST = f"{SCALE}.arguments[0]"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("version = 1", "", "is not a manifest of version 1"),
        ("version = 1", "version = 2", "is not a manifest of version 1"),
        ("version = 1", "version = 1\nkernel = 3", "has the unknown key 'kernel'; did you mean 'k"),
        (KERNELS, "version = 1", "holds no kernel"),
        (KERNELS, "version = 1\nkernels = 3", "holds no kernel"),
        (KERNELS, "version = 1\n[kernels]\na = 3", "kernels.a: expected `object`, got `int`"),
        (KERNELS, "version", "is not TOML: "),
        (KERNELS, "a = " + "[" * 100_000, "is n"),
        (KERNELS, "#" * 17 * 2**20, "is larger than 16 MiB"),
        ("kernels.scale", "kernels.one_hot", "kernels.one_hot: is measured with a cold cache, but"),
        ("kernels.scale", "kernels.'a b'", "kernels.a b: expected `str` matching regex"),
        ("cubin =", "cubim =", f"{SCALE}: has the unknown key 'cubim'; did you mean 'cubin'?"),
        ("cubin = ", 'ptx = "a"\ncubin = ', f"{SCALE}: has cubin and ptx; write one of"),
        ('cubin = "scale.cubin"', "", f"{SCALE}: has no code; write one of cubin, fatbin"),
        ('"scale.cubin"', '"gone"', f"{SCALE}.cubin: "),
        ('"scale.cubin"', f'"{"x" * 5000}"', f"{SCALE}.cubin: "),
        ('"scale.cubin"', '"."', f"{SCALE}.cubin: "),
        ('"scale.cubin"', '"a\\u0000"', f"{SCALE}.cubin: expected `str` matching regex"),
        ('"scale_kernel"', '""', f"{SCALE}.symbol: expected `str` matching regex"),
        ('"scale_kernel"', '"a\\nkernel"', f"{SCALE}.symbol: expected `str` matching regex"),
        ('symbol = "scale_kernel"', "", f"{SCALE}: object missing required field `symbol`"),
        ('type = "f32"\naxes', "axes", f"{SCALE}: has no 'type'"),
        ('type = "f32"\naxes', 'type = "a/b"\naxes', f"{SCALE}.type: expected `str` matching"),
        ("block = [256]", "block = []", f"{SCALE}.block: expected `array` of length"),
        ("block = [256]", "block = [1, 1, 1, 1]", f"{SCALE}.block: expected `array` of length"),
        ("block = [256]", 'block = [256]\noptions = ["-G"]', f"{SCALE}: has options, but a cubin"),
        ("n = [256, 4096]", "n = []", f"{SCALE}.axes[...]: expected `array` of length >= 1"),
        ("n = [256, 4096]", "n = [1, -1]", f"{SCALE}.axes[...][1]: expected `int` >= 0"),
        ("n = [256, 4096]", "n = [1.5]", f"{SCALE}.axes[...][0]: expected `int`, got `float`"),
        ("n = [256, 4096]", "n = [7, 7]", f"{SCALE}: the axis 'n' has a value twice"),
        ("n = [256, 4096]", "'n-1' = [5]", f"{SCALE}.axes: expected `str` matching regex"),
        (X, "3", f"{FIRST}: expected `object`, got `int`"),
        (X, "{}", f"{FIRST}: is nothing; write one of input, in_place, output, scratch"),
        (X, '{ input = "x", null = true }', f"{FIRST}: is input and null; write one of"),
        (X, '{ inputs = "x" }', f"{FIRST}: object contains unknown field `inputs`"),
        (X, '{ input = "x", count = 1 }', f"{FIRST}: has no 'type'"),
        (X, '{ input = "x", type = "f32" }', f"{FIRST}: has no 'count'"),
        (X, '{ input = "x", type = "f31", count = 1 }', f"{FIRST}.type: invalid enum value 'f31'"),
        (X, '{ value = 1, type = "i32", count = 3 }', f"{FIRST}: 'count' is not a member of 'va"),
        (X, f"{X}, {X}", f"{SCALE}: two buffers have the same name"),
        (X, '{ input = "y", type = "f32", count = 1 }', f"{SCALE}: two buffers have the same name"),
        (X, X.replace("}", ", values = {} }"), f"{FIRST}.values: expected `object` of length >= 1"),
        (X, X.replace("}", ", values = 3 }"), f"{FIRST}.values: expected `object | null`"),
        (X, X.replace("}", ", values = { unifrom = 1 } }"), f"{FIRST}.values: invalid enum value"),
        (X, X.replace("}", ", values = { distinct = 2, constant = 1 } }"), f"{FIRST}.values: exp"),
        (X, X.replace("}", ', values = { constant = 1 }, npy = "x" }'), f"{FIRST}: has 'values' b"),
        (X, X.replace("input", "scratch").replace("}", ", values = { constant = 1 } }"),
         f"{FIRST}: 'values' is not a member of 'scratch'"),
        (X, X + ', { in_place = "z", type = "f32", count = 1 }', f"{SCALE}: 'z' is not verified"),
        (VERIFY, "", f"{SCALE}: 'y' is not verified; add verify.y, or reference_only"),
        (VERIFY, VERIFY.replace(".y", ".x"), f"{SCALE}: verify.x is no output; "),
        (VERIFY, "verify.y = {}", f"{SCALE}.verify[...]: is nothing; write one of reference, npy"),
        (VERIFY, 'verify.y = { npy = "y", python = "y.py:f" }', f"{SCALE}.verify[...]: is npy and"),
        (VERIFY, 'verify.y = { python = "y.py" }', f"{SCALE}.verify[...].python: expected `str`"),
        (VERIFY, 'verify.y = { python = "y.py:f" }', f"{SCALE}.verify.y.python: /"),
        (VERIFY, 'verify = { reference = "naive" }', f"{SCALE}.verify[...]: expected `object`"),
        (VERIFY, VERIFY.replace("0.5", "-1"), f"{SCALE}.verify[...].relative: expected `float`"),
        (VERIFY, VERIFY.replace("0.5", "nan"), f"{SCALE}.verify[...].relative: "),
        (VERIFY, VERIFY.replace("relative", "tolerance"), f"{SCALE}.verify[...]: object contains"),
        (VERIFY, VERIFY.replace("naive", "naif"), f"{SCALE}.verify: there is no kernel 'n"
         "aif'; did you mean 'naive'?"),
        (VERIFY, VERIFY.replace("naive", "scale"), "kernels verify each other, 'scale' by 'scale'"),
        (VERIFY, 'verify.y = { npy = "y" }', f"{SCALE}: its expected .npy file cannot match the r"),
        ('  { output = "y", type = "f32", count = "n" },\n  { value', "  { value",
         f"{SCALE}: verify.y is no output; there is none"),
        (VERIFY + "\n", "reference_only = false\n", f"{SCALE}: 'y' is not verified"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence_with_its_key(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in KERNELS
    assert fault(tmp_path, KERNELS.replace(old, new, 1)).startswith(said)


def test_results_of_a_file_need_inputs_that_are_the_same_in_every_run(tmp_path: Path) -> None:
    expected = KERNELS.replace(VERIFY, 'verify.y = { npy = "y" }')
    for fixed in ("values = { constant = 1 }", 'npy = "x"'):
        text = expected.replace(X, X.replace("}", f", {fixed} }}"), 1)
        manifest.load(write_manifest(tmp_path, text))
    random = X.replace("}", ", values = { uniform = [0, 1] } }")
    assert "cannot match the random data" in fault(tmp_path, expected.replace(X, random, 1))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"gone\.toml: cannot be read \(No such file"):
        manifest.load(tmp_path / "gone.toml")


@pytest.mark.parametrize(
    ("old", "new"), [('"ceil_div(n, 256)"', f"'{'(' * 9000}'"), ("n = [", f"'{'(' * 9000}' = [")]
)
def test_the_reason_is_not_lost_behind_a_long_text(tmp_path: Path, old: str, new: str) -> None:
    path = write_manifest(tmp_path, KERNELS.replace(old, new, 1))
    with pytest.raises(UserError) as caught:
        plan.cases(manifest.load(path))
    assert len(str(caught.value).removeprefix(str(path))) < 250


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
KEYS = st.sampled_from([*manifest.Kernel.__struct_fields__])


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=200,
)
@given(KEYS, VALUES)
def test_any_value_of_a_key_is_read_or_refused(tmp_path: Path, key: str, value: object) -> None:
    path = write_manifest(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        read = tomllib.loads(KERNELS)
        read["kernels"]["scale"][key] = value
        patch.setattr(manifest.contract, "read_toml", lambda path, limit: read)  # type: ignore[attr-defined]
        try:
            manifest.load(path)
        except UserError as refused:
            assert str(refused).isprintable()
