# SPDX-License-Identifier: Apache-2.0
"""The list of GPU models is checked before it becomes jobs, and agrees with its schema."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import shell
from hosted_repository import git
from warpgauge.commands.ci.hosted import gpus as gpus_command
from warpgauge.github import gpus
from warpgauge.github.gpus import Gpu
from warpgauge.system import environment, process
from warpgauge.system.errors import ExitStatus, UserError

H200 = {
    "slug": "nvidia-h200",
    "name": "NVIDIA H200",
    "runs_on": ["self-hosted", "gpu-nvidia-h200"],
    "minutes": 60,
}
L4 = {"slug": "nvidia-l4", "name": "NVIDIA L4", "runs_on": ["self-hosted", "l4"], "minutes": 5}
SCHEMA = environment.ROOT / ".github" / "gpus.schema.json"


def listed(root: Path, document: object) -> Path:
    path = gpus.file_of(root)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def test_the_projects_own_list_is_sound() -> None:
    path = gpus.file_of(environment.ROOT)
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(path.read_text()), schema)
    for one in gpus.read(path):
        assert (environment.ROOT / "baselines" / one.slug).is_dir()


Planned = Callable[..., dict[str, Any]]


@pytest.fixture
def planned(capsys: pytest.CaptureFixture[str]) -> Planned:
    """What the plan of a tree says, as a job reads it, and whether it says how to turn it on."""

    def ask(root: Path, *argv: str, **environment: str) -> dict[str, Any]:
        assert gpus_command(argv, root, environment) is ExitStatus.OK
        out, err = capsys.readouterr()
        said = {key: json.loads(value) for key, _, value in map(_parts, out.splitlines())}
        assert err.startswith("::notice ") == (not said["enabled"]) == ("WARPGAUGE_GPU" in err)
        return said

    return ask


def _parts(line: str) -> tuple[str, str, str]:
    return line.partition("=")


def test_each_model_is_a_job_or_the_one_that_is_asked_for(tmp_path: Path, planned: Planned) -> None:
    listed(tmp_path, {"gpus": [H200, L4]})
    for argv, jobs in (([], [H200, L4]), (["--gpu="], [H200, L4]), (["--gpu=nvidia-l4"], [L4])):
        assert planned(tmp_path, *argv)["matrix"]["include"] == jobs
    with pytest.raises(UserError, match=r"the GPU 'h200'; it lists nvidia-h200, nvidia-l4"):
        gpus_command(["--gpu", "h200"], tmp_path)


@pytest.mark.parametrize(
    ("value", "on"),
    [
        *((value, False) for value in ("", " ", "0", "off", "False", "no")),
        *((value, True) for value in ("on", "1", "true")),
    ],
)
def test_no_job_waits_for_a_runner_unless_the_repository_says_there_is_one(
    tmp_path: Path, planned: Planned, value: str, on: bool
) -> None:
    listed(tmp_path, {"gpus": [H200]})
    assert planned(tmp_path)["enabled"] is False
    assert planned(tmp_path, WARPGAUGE_GPU=value)["enabled"] is on


@pytest.fixture
def branched(tmp_path: Path) -> Path:
    """A clone whose main has gone on since the branch that is checked out left it."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    listed(tmp_path, {"gpus": [H200], "measured": ["kernels/**"]})
    for path in ("kernels/a.cu", "README.md"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("one\n" * 9)
    _commit(tmp_path)
    git(tmp_path, "checkout", "--quiet", "-b", "change")
    git(tmp_path, "checkout", "--quiet", "main")
    (tmp_path / "kernels" / "of_main.cu").write_text("two\n")
    _commit(tmp_path)
    git(tmp_path, "checkout", "--quiet", "change")
    return tmp_path


def _commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "a commit")


def test_a_pull_request_is_measured_where_it_changes_itself_what_is_measured(
    branched: Path, planned: Planned
) -> None:
    (branched / "README.md").write_text("two\n")
    _commit(branched)
    assert planned(branched, "--base", "main")["measured"] is False  # others' changes do not count
    assert planned(branched)["measured"] is True
    (branched / "kernels" / "a.cu").rename(branched / "a b.cu")  # out of the folder
    _commit(branched)
    assert planned(branched, "--base", "main")["measured"] is True
    listed(branched, {"gpus": [H200], "measured": ["nothing"]})
    _commit(branched)
    assert planned(branched, "--base", "main")["measured"] is True  # as main's list says
    with pytest.raises(UserError, match="is not a commit of this clone"):
        planned(branched, "--base", "nowhere")


def test_another_project_s_checkout_has_a_list_of_its_own(
    branched: Path, planned: Planned, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ours = tmp_path_factory.mktemp("ours")
    listed(ours, {"gpus": [L4]})
    told = planned(ours, str(branched), "--base=main")
    assert told["matrix"]["include"] == [H200]
    assert told["measured"] is False


def test_everything_is_measured_where_the_base_has_no_list_that_can_be_read(
    branched: Path, planned: Planned
) -> None:
    gpus.file_of(branched).write_text("no JSON")
    _commit(branched)
    git(branched, "branch", "broken")
    listed(branched, {"gpus": [H200]})
    assert planned(branched, "--base", "broken")["measured"] is True


WRONG = {
    "slug": ("../main", "NVIDIA", "a" * 65, 1),
    "name": ("", "$(reboot)", "H\n200"),
    "runs_on": (
        *("", "a b", "ubuntu-24.04", "ubuntu-24.04-arm", "${{ github.ref }}", "a" * 257, None, 1),
        *([], ["gpu", "gpu"], ["a b"], [None], [["gpu"]], ["gpu", "macos-latest"]),
        *({}, {"labels": "gpu"}, {"group": ""}, {"group": "g", "label": "gpu"}, {"group": ["g"]}),
        *({"group": "g", "labels": []}, {"group": "g", "labels": None}, {"group": "`g`"}),
    ),
    "minutes": (4, 361, True, "60"),
    "more": (1,),
}


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"gpus": []},
        {"gpus": [H200] * 17},
        {"gpus": {"nvidia-h200": H200}},
        {"gpus": [H200], "more": 1},
        *({"gpus": [H200], "measured": one} for one in ([], "a", [""], ["/a"], ["a", "a"], [1])),
        *({"gpus": [H200], "measured": [one]} for one in ("[a-z]", "a\nb", "!a", "a" * 201)),
        {"gpus": [H200], "measured": [f"a{number}" for number in range(65)]},
        {"gpus": ["nvidia-h200"]},
        {"gpus": [{key: value for key, value in H200.items() if key != "minutes"}]},
        *({"gpus": [{**H200, key: one}]} for key, values in WRONG.items() for one in values),
    ],
)
def test_what_is_no_list_of_gpus_is_one_sentence_and_no_job(
    tmp_path: Path, document: object
) -> None:
    path = listed(tmp_path, document)
    with pytest.raises(UserError) as caught:
        gpus.read(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).endswith("; see .github/gpus.schema.json")
    assert str(caught.value).isprintable()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, json.loads(SCHEMA.read_text()))


def test_two_models_of_one_name_and_a_key_that_stands_twice_are_refused(tmp_path: Path) -> None:
    for key in ("slug", "name"):
        path = listed(tmp_path, {"gpus": [H200, {**L4, key: H200[key]}]})
        with pytest.raises(UserError, match=f"has two GPUs of the same {key}"):
            gpus.read(path)
    path = listed(tmp_path, {"gpus": [H200]})
    path.write_text(path.read_text().replace('"minutes": 60', '"minutes": 60, "minutes": 6'))
    with pytest.raises(UserError, match="holds the key 'minutes' twice"):
        gpus.read(path)


@pytest.mark.parametrize(
    ("runs_on", "labels", "group"),
    [
        ("linux-amd64-gpu-h200-latest-1", ("linux-amd64-gpu-h200-latest-1",), ""),
        (["self-hosted", "gpu"], ("self-hosted", "gpu"), ""),
        (["gpu"], ("gpu",), ""),
        ("ubuntu-24.04-gpu-t4", ("ubuntu-24.04-gpu-t4",), ""),  # a larger runner's
        ("runs-on=1/gpu", ("runs-on=1/gpu",), ""),
        ({"group": "GPU pool (H200)"}, (), "GPU pool (H200)"),
        ({"group": "org/pool"}, (), "pool"),
        ({"group": "pool", "labels": "gpu"}, ("gpu",), "pool"),
        ({"group": "pool", "labels": ["gpu", "x64"]}, ("gpu", "x64"), "pool"),
    ],
)
def test_a_runner_is_named_as_a_workflow_names_it(
    tmp_path: Path, runs_on: object, labels: tuple[str, ...], group: str
) -> None:
    document = {"gpus": [{**H200, "runs_on": runs_on}]}
    (one,) = gpus.read(listed(tmp_path, document))
    assert (one.runs_on, one.labels, one.group) == (runs_on, labels, group)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("kernels/**", "kernels/a kernels/deep/er/a.cu", "kernels other/kernels/a Kernels/a"),
        ("kernels/*", "kernels/a kernels/.b", "kernels/deep/a kernels"),
        ("**/CMakeLists.txt", "CMakeLists.txt a/b/CMakeLists.txt", "aCMakeLists.txt CMakeLists"),
        ("a/**/b", "a/b a/c/b a/c/d/b", "ab a/cb"),
        ("**.cu", "x.cu a/b/x.cu", "x.cuh a/xcu"),
        ("**", "x a/b/x", ""),
        ("a?.c+", "ab.c+", "a/.c+ abc.c+ ab.cc"),
    ],
)
def test_a_pattern_matches_whole_paths(pattern: str, matching: str, others: str) -> None:
    assert [path for path in matching.split() if not gpus.touches([pattern], [path])] == []
    assert not gpus.touches([pattern], others.split())
    assert gpus.touches(["nothing", pattern], ["README.md", matching.split()[0]])


def test_our_documents_and_tests_change_no_result_and_what_is_built_and_run_does() -> None:
    patterns = gpus.measured(gpus.file_of(environment.ROOT))
    assert gpus.touches([], ["README.md"])  # without a pattern everything counts
    still = "README.md .github/README.md scripts/tests/test_a.py scripts/README.md"
    assert not gpus.touches(patterns, still.split())
    moving = "CMakeLists.txt .cmake/cuda.cmake benchmarks/gemm.cu kernels/CMakeLists.txt"
    moving += " scripts/src/warpgauge/verdict/pairs.py requirements.lock baselines/policy.toml"
    assert [path for path in moving.split() if not gpus.touches(patterns, [path])] == []


MODEL = Gpu("nvidia-h200", "NVIDIA H200", ("self-hosted", "gpu"), 60)
NONE_HERE = "echo No devices were found; exit 6"


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes an nvidia-smi of a script, or takes it away; its arguments go to the file `asked`."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(process, "GPU_DEVICES", (str(tmp_path / "nvidiactl"),))
    monkeypatch.setattr(process, "_LOADED_DRIVER", tmp_path / "version")
    program = tmp_path / "nvidia-smi"

    def install(script: str) -> None:
        program.unlink(missing_ok=True)
        if script:
            shell.script(program, f'echo "$*" >>{tmp_path}/asked\n{script}')

    return install


def test_a_runner_with_another_gpu_measures_nothing_one_without_any_is_told_later(
    driver: Callable[[str], None],
) -> None:
    driver("echo NVIDIA L4; echo NVIDIA L4")
    with pytest.raises(UserError, match="this runner has NVIDIA L4, not NVIDIA H200") as caught:
        gpus.require_here(MODEL)
    assert caught.value.status is ExitStatus.NOT_MEASURED
    for script in ("echo NVIDIA L4; echo NVIDIA H200", "", NONE_HERE, "exit 0"):
        driver(script)
        gpus.require_here(MODEL)


def test_a_hosted_runner_needs_nothing_but_python() -> None:
    command = [sys.executable, "-S", "-E", str(environment.ROOT / "scripts" / "warpgauge")]
    command += ["ci", "gpus"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("matrix={")


def test_of_a_machine_of_several_gpus_only_the_runners_own_counts(
    driver: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver("echo NVIDIA H200")
    for visible in ("GPU-0123", "1", ""):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        gpus.require_here(MODEL)
    query = "--query-gpu=name --format=csv,noheader"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == [f"--id=GPU-0123 {query}", query, query]


@pytest.mark.parametrize("script", ["", NONE_HERE])
def test_a_runner_without_a_driver_has_no_gpu(
    driver: Callable[[str], None], tmp_path: Path, script: str
) -> None:
    driver(script)
    with pytest.raises(UserError, match="no GPU was found: no NVIDIA driver is load") as caught:
        process.require_gpu()
    assert caught.value.status is ExitStatus.NOT_MEASURED
    (tmp_path / "version").touch()
    assert process.why_no_gpu() == "the NVIDIA driver is loaded, but shows no GPU"
    device = tmp_path / "nvidiactl"
    device.touch()
    process.require_gpu()
    device.unlink()
    driver("echo NVIDIA L4")
    process.require_gpu()


@pytest.mark.parametrize("visible", ["", "-1"])
def test_gpus_that_are_hidden_from_programs_are_none(
    driver: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, visible: str
) -> None:
    driver("echo NVIDIA L4")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with pytest.raises(UserError, match=r"CUDA_VISIBLE_DEVICES=\S+ hides every GPU"):
        process.require_gpu()
