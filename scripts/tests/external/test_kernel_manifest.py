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
from warpgauge.external import kernel, manifest, plan
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import UserError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA = json.loads(Path(kernel.__file__).with_name("kernels.schema.json").read_bytes())


def fault(folder: Path, text: str) -> str:
    """The sentence that refuses `text`, without the file's name."""
    sentence = told(write_manifest(folder, text), manifest.load)
    return sentence.removeprefix(", ").removeprefix(": ")


def test_the_published_schema_is_made_from_the_types() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert kernel.schema() == SCHEMA, "write json.dumps(kernel.schema(), indent=1) to it"
    validator = Draft202012Validator(SCHEMA)
    validator.validate(tomllib.loads(KERNELS))
    validator.validate(tomllib.loads(IN_PLACE))
    two = IN_PLACE.replace("constant = 0", "constant = 0, distinct = 2")
    assert not validator.is_valid(tomllib.loads(two))
    for old, new in (("cubin =", "cubim ="), ("null = true", 'null = true, input = "x"')):
        assert not validator.is_valid(tomllib.loads(KERNELS.replace(old, new)))


def test_a_manifest_is_read_in_its_order(tmp_path: Path) -> None:
    read = manifest.load(write_manifest(tmp_path, KERNELS))
    assert list(read.kernels) == ["scale", "naive"]
    scale, naive = read.kernels.values()
    assert (scale.image, scale.outputs, scale.reference) == (
        ("cubin", "scale.cubin"),
        ["y"],
        "naive",
    )
    assert naive.options == ["-std=c++17"]
    assert read.file("scale.cubin") == tmp_path / "scale.cubin"


def test_the_example_of_the_documents_is_a_manifest(tmp_path: Path) -> None:
    page = ROOT / "scripts/src/warpgauge/external/README.md"
    text = page.read_text().split("```toml\n")[1].split("```")[0]
    path = write_manifest(tmp_path, text)
    (tmp_path / "scale_reference.cu").write_text("// ...")
    names = [case.name for case in plan.cases(manifest.load(path))]
    assert names == re.findall(r"external/\S+", text)


def test_a_long_chain_of_references_is_followed_once(tmp_path: Path) -> None:
    head, scale = KERNELS.split("[kernels.scale]")
    scale = scale.split("[kernels.naive]")[0]
    chain = (f"[kernels.k{n}]{scale.replace('naive', f'k{n + 1}')}" for n in range(1000))
    text = f"{head}{''.join(chain)}[kernels.k1000]{scale.replace('naive', 'k998')}"
    circle = "'k998' by 'k999' by 'k1000' by 'k998' is a circle"
    assert fault(tmp_path, text) == (
        f"kernels.k998.verify: {circle}; verify one of them with a .npy file"
    )


X = '{ input = "x", type = "f32", count = "n" }'
VERIFY = 'verify.y = { reference = "naive", relative = 0.5 }'
CIRCLE = KERNELS.replace(
    "reference_only = true", 'type = "f32"\nverify.y = { reference = "scale" }'
)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("version = 1", "", "is not a manifest of version 1; begin it with version = 1"),
        ("version = 1", "version = 2", "has version 2; update warpgauge"),
        ("version = 1", "version = 0", "is not a manifest of version 1"),
        ("version = 1", "version = 1\nkernel = 3", "has the unknown key 'kernel'; did you mean 'k"),
        ("cubin =", "cubim =", "kernels.scale: has the unknown key 'cubim'; did you mean 'cubin'?"),
        ("cubin = ", 'ptx = "a"\ncubin = ', "kernels.scale: has 'cubin' and 'ptx'; write one of"),
        ('cubin = "scale.cubin"', "", "kernels.scale: has no code; write one of cubin, fatbin"),
        ('"scale.cubin"', '"gone"', "kernels.scale.cubin: "),
        ('"scale.cubin"', '"."', "kernels.scale.cubin: "),
        ('"scale.cubin"', '"a\\u0000"', "kernels.scale.cubin: is empty, or holds a line break"),
        ('"scale_kernel"', '""', "kernels.scale.symbol: is empty, or holds a line break"),
        ('"scale_kernel"', '"a\\nkernel"', "kernels.scale.symbol: is empty, or holds a line break"),
        ('symbol = "scale_kernel"', "", "kernels.scale: has no 'symbol'; add it"),
        ('type = "f32"\naxes', "axes", "kernels.scale: has no 'type'"),
        ('type = "f32"\naxes', 'type = "a/b"\naxes', "kernels.scale.type: is not a valid name"),
        ("kernels.scale", "kernels.one_hot", "kernels.one_hot: is measured with a cold cache, but"),
        ("kernels.scale", "kernels.'a b'", "kernels.a b: is not a valid name"),
        ("n = [256, 4096]", "n = []", "kernels.scale.axes.n: expected a list with a length of at"),
        ("n = [256, 4096]", "n = [1, -1]", "kernels.scale.axes.n[1]: expected an integer of at le"),
        ("n = [256, 4096]", "n = [1.5]", "kernels.scale.axes.n[0]: expected an integer, got a nu"),
        ("n = [256, 4096]", "n = 5", "kernels.scale.axes.n: expected a list, got an integer"),
        ("n = [256, 4096]", "lambda = [5]", "kernels.scale.axes.lambda: cannot be used in an "
                                            "expression"),
        ("n = [256, 4096]", "'n-1' = [5]", "kernels.scale.axes.n-1: is not a valid name"),
        (X, "3", "kernels.scale.arguments[0]: expected a table, got an integer"),
        (X, "{}", "kernels.scale.arguments[0]: is nothing; write one of input, output, in_pl"),
        (X, '{ input = "x", null = true }', "kernels.scale.arguments[0]: is input and null;"),
        (X, '{ inputs = "x" }', "kernels.scale.arguments[0]: has the unknown key 'inputs'; did"),
        (X, '{ input = "x", count = 1 }', "kernels.scale.arguments[0]: has no 'type'"),
        (X, '{ input = "x", type = "f32" }', "kernels.scale.arguments[0]: has no 'count'"),
        (X, '{ input = "x", type = "i16", count = 1 }', "kernels.scale.arguments[0].type: no buff"),
        (X, '{ input = "x", type = "f31", count = 1 }', "kernels.scale.arguments[0].type: 'f31' "),
        (X, '{ value = 1, type = "f31" }', "kernels.scale.arguments[0].type: 'f31' is not known"),
        (X, '{ input = "y", type = "f32", count = 1 }', "kernels.scale.arguments: 'y' is both inp"),
        (X, '{ input = "x", output = "x", type = "f32", count = 1 }', "kernels.scale.arguments[0]: "
         "is input and output; write in_place = 'x'"),
        (X, '{ input = "x", scratch = "x", type = "f32", count = 1 }', "kernels.scale.arguments[0]:"
         " is input and scratch; write one of"),
        (X, X + ', { in_place = "z", type = "f32", count = 1 }', "kernels.scale: the in_place 'z' "
         "is not verified; add verify.z"),
        ('{ output = "y"', '{ in_place = "y"', "kernels.scale.verify.y.reference: 'naive' has the "
         "output 'y' of f32, but this"),
        (X, X.replace("input", "scratch"), "kernels.scale.verify.y.reference: 'naive' has the in"),
        (VERIFY, f"{VERIFY}\nverify.x = {{}}", "kernels.scale.verify.x: is no output of this ker"),
        (X, X.replace("}", ", values = {} }"), "kernels.scale.arguments[0].values: has no distrib"),
        (X, X.replace("}", ", values = 3 }"), "kernels.scale.arguments[0].values: expected a tabl"),
        (X, X.replace("}", ", values = { unifrom = [0, 1] } }"), "kernels.scale.arguments[0].values"
         ": has the unknown key 'unifrom'; did you mean 'uniform'?"),
        (X, X.replace("}", ", values = { uniform = [0] } }"), "kernels.scale.arguments[0].values"
         ".uniform: expected a list with a length of at"),
        (X, X.replace("}", ", values = { distinct = 2, constant = 1 } }"), "kernels.scale.arguments"
         "[0].values: has 'distinct' and 'constant'; write one"),
        (X, X.replace("}", ', values = { constant = 1 }, npy = "x" }'), "kernels.scale.arguments[0]"
         ".values: stand beside 'npy'"),
        (X, X.replace("input", "scratch").replace("}", ", values = { constant = 1 } }"),
         "kernels.scale.arguments[0].values: is not a member of 'scratch'"),
        (X, f"{X}, {X}", "kernels.scale.arguments: two buffers are named 'x'; rename one"),
        (X, '{ value = 1, type = "e4m3" }', "kernels.scale.arguments[0].type: no scalar is of"),
        (X, '{ value = 1.5, type = "i32" }', "kernels.scale.arguments[0].value: 1.5 is no i32"),
        (X, '{ value = 1e39, type = "f32" }', "kernels.scale.arguments[0].value: 1e+39 exceeds"),
        (X, '{ value = 1, type = "i32", count = 3 }', "kernels.scale.arguments[0].count: is no"),
        (X, '{ input = "x", type = "f32", npy = "no" }', ""),
        ("block = [256]", "block = []", "kernels.scale.block: expected a list with a length o"),
        ("block = [256]", "block = [1, 1, 1, 1]", "kernels.scale.block: expected a list with a l"),
        ("block = [256]", 'block = [256]\noptions = ["-G"]', "kernels.scale.options: a cubin"),
        (VERIFY, 'verify.y = { npy = "y" }', "kernels.scale.verify.y: the .npy file cannot match "
                                             "the random"),
        (VERIFY, "", "kernels.scale: the output 'y' is not verified; add verify.y, or"),
        (VERIFY, VERIFY.replace(".y", ".x"), "kernels.scale.verify.x: is no output of this kernel"),
        (VERIFY, "verify.y = {}", "kernels.scale.verify.y: has neither of 'reference' and 'npy'"),
        (VERIFY, 'verify = { reference = "naive" }', "kernels.scale.verify: 'reference' is no"),
        (VERIFY, VERIFY.replace("0.5", "-1"), "kernels.scale.verify.y.relative: expected a number"),
        (VERIFY, VERIFY.replace("0.5", "nan"), "kernels.scale.verify.y.relative: "),
        (VERIFY, VERIFY.replace("0.5", "inf"), "kernels.scale.verify.y.relative: is not finite"),
        (VERIFY, VERIFY.replace("naive", "naif"), "kernels.scale.verify.y.reference: this manifest "
         "has no kernel 'naif'; did you mean 'naive'?"),
        (VERIFY, VERIFY.replace("naive", "scale"), "kernels.scale.verify: 'scale' by 'scale' is a"),
        (VERIFY, VERIFY.replace("relative", "tolerance"), "kernels.scale.verify.y: has the unkn"),
        ('{ output = "y"', '{ output = "z"', "kernels.scale.verify.y: is no output of this kernel"),
        (X, X.replace("x", "w"), "kernels.scale.verify.y.reference: 'naive' has the input 'x' of"),
        (X, X.replace("f32", "f64"), "kernels.scale.verify.y.reference: 'naive' has the input 'x'"),
        ('  { output = "y", type = "f32", count = "n" },\n  { value', "  { value",
         "kernels.scale.verify.y: is no output of this kernel; there is n"),
        (KERNELS, CIRCLE, "kernels.scale.verify: 'scale' by 'naive' by 'scale' is a circle"),
        (KERNELS, "version = 1", "holds no kernel; add a table [kernels.NAME]"),
        (KERNELS, "version = 1\nkernels = 3", "kernels: expected a table, got an integer"),
        (KERNELS, "version = 1\n[kernels]\na = 3", "kernels.KEY: expected a table, got an inte"),
        (KERNELS, "version", "is not TOML: "),
        (KERNELS, "a = " + "[" * 100_000, "is n"),
        (KERNELS, "#" * 17 * 2**20, "is larger than 16 MiB"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence_with_its_key(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in KERNELS
    if not said:  # a file that is only looked at with its elements
        manifest.load(write_manifest(tmp_path, KERNELS.replace(old, new, 1)))
        return
    assert fault(tmp_path, KERNELS.replace(old, new, 1)).startswith(said)


def test_results_of_a_file_need_inputs_that_are_the_same_in_every_run(tmp_path: Path) -> None:
    expected = KERNELS.replace(VERIFY, 'verify.y = { npy = "y" }')
    constant = X.replace("}", ", values = { constant = 1 } }")
    manifest.load(write_manifest(tmp_path, expected.replace(X, constant, 1)))
    random = X.replace("}", ", values = { uniform = [0, 1] } }")
    assert "cannot match the random data" in fault(tmp_path, expected.replace(X, random, 1))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"gone\.toml: cannot be read \(No such file"):
        manifest.load(tmp_path / "gone.toml")
    write_manifest(tmp_path)
    (tmp_path / "scale.cubin").write_bytes(b"")
    with pytest.raises(UserError, match=r"scale\.cubin is empty; make it again"):
        manifest.load(tmp_path / "kernels.toml")


@pytest.mark.parametrize(
    ("kind", "content", "fits"),
    [
        ("cubin", b"__global__ void f() {}", False),
        ("cubin", b"\x50\xed\x55\xba\x01\x00", False),
        ("fatbin", b"\x50\xed\x55\xba\x01\x00", True),
        ("fatbin", b"\x7fELF\x02", True),
        ("fatbin", b".version 8.0\n", False),
        ("ptx", b".version 8.0\n\0", True),
        ("ptx", b"\x7fELF", False),
        ("ptx", b"PK\x03\x04\0\0text", False),
        ("source", b"\x7fELF", False),
    ],
)
def test_a_file_of_another_kind_is_refused_with_its_key(
    tmp_path: Path, kind: str, content: bytes, fits: bool
) -> None:
    (tmp_path / "code").write_bytes(content)
    path = write_manifest(tmp_path, KERNELS.replace('cubin = "scale.cubin"', f'{kind} = "code"'))
    if fits:
        manifest.load(path)
        return
    with pytest.raises(UserError, match=rf", kernels\.scale\.{kind}: \S+/code is not "):
        manifest.load(path)


def test_only_types_that_are_taken_are_offered(tmp_path: Path) -> None:
    for argument in ('input = "x", count = 1', "value = 1"):
        text = KERNELS.replace(X, f'{{ {argument}, type = "f31" }}', 1)
        *_, offered = fault(tmp_path, text).partition("known are ")
        for one in offered.split(", "):
            said = fault(tmp_path, text.replace("f31", one).replace("verify.y", "verify.no"))
            assert said.startswith("kernels.scale.verify.no"), one


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
KEYS = st.sampled_from([*kernel.Kernel.__struct_fields__])


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=200,
)
@given(KEYS, VALUES)
def test_any_value_of_a_key_is_read_or_refused(tmp_path: Path, key: str, value: object) -> None:
    path = write_manifest(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        told = tomllib.loads(KERNELS)
        told["kernels"]["scale"][key] = value
        patch.setattr(manifest.toml_file, "read", lambda path, limit: told)  # type: ignore[attr-defined]
        try:
            manifest.load(path)
        except UserError as fault:
            assert str(fault).isprintable()
