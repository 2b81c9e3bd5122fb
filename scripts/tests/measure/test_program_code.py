# SPDX-License-Identifier: Apache-2.0
"""The host code of two objects is equal if they run alike, whatever surrounds them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

import shell
from hand_made_cubin import cubin
from warpgauge.measure import build, program_code, toolkit
from warpgauge.measure.discovery import Binary
from warpgauge.measure.program_code import Kernel, code_of, linked, object_digest, occupancy
from warpgauge.system.environment import ROOT

_SOURCE = """
extern "C" int first(const char*, int);
extern "C" int second(const char*, int);
int (*const table[])(const char*, int) = {first, second};
static int counts[4];
int run(int n) {
  counts[n & 3] += table[n & 1]("some text", n) + first("another", 3 * n);
  return counts[n & 3];
}
"""


def digest(folder: Path, source: str, *options: str) -> str:
    path = folder / "made.cpp"
    path.write_text(source)
    command = [os.environ.get("CXX", "c++"), "-O2", "-c", *options, str(path), "-o"]
    subprocess.run([*command, str(folder / "made.o")], check=True)
    return object_digest((folder / "made.o").read_bytes())


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return digest(tmp_path_factory.mktemp("base"), _SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("3 * n", "5 * n"),
        ("{first, second}", "{second, first}"),  # only relocations differ
        ('first("another"', 'second("another"'),  # only the name of a symbol differs
        ("some text", "same text"),
        ("counts[4]", "counts[8]"),
        ("static int counts", "alignas(64) static int counts"),
        ("int run", "__attribute__((aligned(64))) int run"),
        ("int run", "int go"),
    ],
)
def test_what_runs_otherwise_differs(tmp_path: Path, base: str, old: str, new: str) -> None:
    assert old in _SOURCE
    assert digest(tmp_path, _SOURCE.replace(old, new)) != base


def test_comments_and_debug_information_do_not_count(tmp_path: Path, base: str) -> None:
    assert digest(tmp_path, f"// a comment\n\n{_SOURCE}", "-g") == base


def test_names_that_nvcc_makes_anew_do_not_count_whatever_their_length(tmp_path: Path) -> None:
    source = """
    extern "C" void use(const char*);
    void _GLOBAL__N__{0}k() {{ use("_GLOBAL__N__{0}k"); use("after it"); }}
    """
    one, other, third = (
        digest(tmp_path, source.format(name))
        for name in (
            "bfc0dd94_6_sum_cu_0f2af4bd_6093",
            "00c0dd94_6_sum_cu_1f2af4bd_716093",
            "00c0dd94_6_max_cu_1f2af4bd_716093",
        )
    )
    assert one == other != third


def test_code_that_the_linker_is_to_compile_counts_as_it_is(tmp_path: Path) -> None:
    one, other = (
        digest(tmp_path, f"int run(int n) {{ return {factor} * n; }}", "-flto") for factor in (3, 5)
    )
    assert one != other


@pytest.mark.skipif(not shutil.which("cmake") or not shutil.which("ninja"), reason="needs CMake")
def test_a_comment_does_not_count_where_code_holds_the_numbers_of_its_lines(
    tmp_path: Path,
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(made LANGUAGES CXX)\n"
        "add_library(made OBJECT made.cpp)\ntarget_compile_features(made PRIVATE cxx_std_20)\n"
        "target_compile_options(made PRIVATE -Wall -Wextra -Wpedantic -Werror)\n"
    )
    source = """
    #include <source_location>
    void fail(int line, const char* file, unsigned);
    void run(int n) {
      if (n) fail(__LINE__, __FILE__, std::source_location::current().line());
    }
    """
    without = f"-DCMAKE_PROJECT_INCLUDE={ROOT / '.cmake' / 'without_lines.cmake'}"
    built = tmp_path / "the build"  # with a space
    (tmp_path / "made.cpp").touch()
    configure = ["cmake", "-G", "Ninja", "-S", str(tmp_path), "-B", str(built), without]
    subprocess.run(configure, check=True, capture_output=True)
    found = []
    for text in (source, f"// a comment\n{source}", source.replace("if (n)", "if (!n)")):
        (tmp_path / "made.cpp").write_text(text)
        subprocess.run(["ninja", "-C", str(built)], check=True, capture_output=True)
        (made,) = built.rglob("made.cpp.o")
        found.append(object_digest(made.read_bytes()))
    assert found[0] == found[1] != found[2]


def test_an_object_that_the_linker_left_out_is_not_of_the_program(tmp_path: Path) -> None:
    parts = {
        "main": 'extern "C" int used(); int main() { return used(); }',
        "used": 'static int count; extern "C" int used() { return ++count; }',
        "spare": 'static int count; extern "C" int spare() { return ++count; }',
        "locals": "static volatile int count = [] { return 1; }();",
    }
    for name, source in parts.items():
        (tmp_path / f"{name}.cpp").write_text(source)
    cxx = os.environ.get("CXX", "c++")
    run = partial(subprocess.run, check=True, cwd=tmp_path)
    run([cxx, "-c", *(f"{name}.cpp" for name in parts)])
    run(["ar", "rc", "library.a", "used.o", "spare.o"])
    run([cxx, "main.o", "library.a", "-o", "program"])
    objects = {name: (tmp_path / f"{name}.o").read_bytes() for name in parts}
    assert linked(objects, tmp_path / "program") == ["main", "used", "locals"]
    run(["strip", "program"])  # so that nothing is known of it
    assert linked(objects, tmp_path / "program") == [*parts]


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x02\x01", b"text"])
def test_a_file_of_another_format_counts_as_it_is(content: bytes) -> None:
    assert object_digest(content) == object_digest(content) != object_digest(content + b"!")


KERNEL = "_Z3sumv"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Binary:
    """A program in a build folder, with tools that know it."""
    built, tools = tmp_path / "built", tmp_path / "tools"
    for folder in (built, tools):
        folder.mkdir()
    objects = "sum.cu.o", "run_context.cpp.o", "bench_sum_context.cpp.o", "of two.o"
    for name in (*objects, "data", "libsum.a"):
        (built / name).write_text(name)
    (built / "cubin").write_bytes(cubin({f".text.{KERNEL}": b"code"}))
    (built / "bench_sum").write_bytes(cubin({".nv_fatbin": b""}))
    (built / "libmax.so.1").write_bytes(cubin({".nv_fatbin": b"code", ".text": b"code"}))
    quoted = "\"'of two.o'\""
    files = f"sum.cu {quoted} {' '.join(objects[:3])} {built}/libsum.a libmax.so.1"
    listed = f'printf "%s\\n" {files}'
    shell.script(
        tools / "ninja",
        f'case "$4" in inputs) {listed};; *) cat "$2/link" 2>/dev/null || true;; esac',
    )
    usage = f" Function {KERNEL}:\\n  REG:32 STACK:8 SHARED:64 LOCAL:0\\n"
    shell.script(
        tools / "cuobjdump",
        f'case "$1" in -xelf) cp "{built}/cubin" x.1.sm_90a.cubin;; -ptx) cat "{built}/ptx" '
        f'2>/dev/null || true;; *) printf "{usage}";; esac',
    )
    shell.script(tools / "ldd", f'cat "{built}/libraries" 2>/dev/null || true')
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(build, "cuda_compiler", lambda: None)
    monkeypatch.setattr(toolkit, "packaged", lambda: tools)
    return Binary(built / "bench_sum", inputs=(built / "data",))


def code(program: Binary, kept: Path) -> program_code.ProgramCode:
    return code_of(program, program.path.parent, kept)


def test_kernels_are_known_by_architecture_with_what_they_need(
    program: Binary, tmp_path: Path
) -> None:
    first = code(program, tmp_path / "first")
    kernel = first.kernels[90][KERNEL]
    assert kernel == Kernel(kernel.digest, registers=32, stack=8, shared=64, occupancy=1.0)
    (program.path.parent / "cubin").write_bytes(cubin({f".text.{KERNEL}": b"CODE"}))
    second = code(program, tmp_path / "second")
    assert second.kernels[90][KERNEL].digest != kernel.digest
    assert second.host == first.host
    assert first.cubins[0].functions == [KERNEL]  # kept


def test_launch_bounds_limit_the_occupancy(program: Binary, tmp_path: Path) -> None:
    bounds = bytes.fromhex("04050c00 18000000 01000000 01000000")  # at most 24 threads
    held = {f".text.{KERNEL}": b"code", f".nv.info.{KERNEL}": bounds}
    (program.path.parent / "cubin").write_bytes(cubin(held))
    assert code(program, tmp_path / "kept").kernels[90][KERNEL].occupancy == 0.5  # of 32 blocks


@pytest.mark.parametrize(
    ("architecture", "registers", "shared", "warps", "share"),
    [  # as cudaOccMaxActiveBlocksPerMultiprocessor of cuda_occupancy.h has them
        (90, 32, 0, range(1, 33), 1.0),
        (90, 33, 0, range(1, 33), 0.75),  # 40 are taken, for 48 warps
        (90, 255, 0, range(1, 33), 0.125),
        (80, 168, 0, range(8, 9), 0.125),  # 12 warps, but blocks of 8
        (90, 168, 0, range(20, 21), 0.0),  # cannot run
        (80, 32, 20_000, range(1, 9), 0.875),  # 7 blocks
        (90, 32, 20_000 + 1024, range(1, 9), 1.0),  # with what CUDA takes
        (86, 40, 0, range(1, 5), 1.0),  # 48 warps
        (89, 32, 0, range(1, 3), 1.0),  # 24 blocks
        (86, 32, 0, range(1, 3), 0.667),  # 16 blocks
        (120, 128, 0, range(1, 33), 0.333),
        (70, 32, 0, range(1, 33), None),  # no limits known
        (90, 0, 0, range(1, 33), None),  # a function
    ],
)
def test_the_occupancy_is_that_of_registers_shared_memory_and_launch_bounds(
    architecture: int, registers: int, shared: int, warps: range, share: float | None
) -> None:
    assert occupancy(architecture, registers, shared, warps) == share


def test_the_context_of_a_run_does_not_count(program: Binary, tmp_path: Path) -> None:
    first = code(program, tmp_path / "first")
    (program.path.parent / "bench_sum_context.cpp.o").write_text("another commit")
    assert code(program, tmp_path / "second").host == first.host


@pytest.mark.parametrize(
    "name", ["sum.cu.o", "of two.o", "run_context.cpp.o", "libsum.a", "data", "link", "ptx"]
)
def test_objects_inputs_libraries_the_link_command_and_ptx_count(
    program: Binary, tmp_path: Path, name: str
) -> None:
    first = code(program, tmp_path / "first")
    (program.path.parent / name).write_text("other")
    second = code(program, tmp_path / "second")
    differ = [part for part in second.host if second.host[part] != first.host.get(part)]
    assert len(differ) == 1


def test_where_source_lines_are_recorded_does_not_count(program: Binary, tmp_path: Path) -> None:
    listed = program.path.parent / "ptx"
    listed.write_text("Fatbin elf code:\narch = sm_90\nidentifier = sum.cu\n\n")
    first = code(program, tmp_path / "first")
    listed.write_text("Fatbin elf code:\narch = sm_90\n\n")
    assert code(program, tmp_path / "second").host == first.host
    listed.write_text("Fatbin elf code:\narch = sm_80\n\n")
    assert code(program, tmp_path / "third").host != first.host


def test_of_a_library_that_is_built_here_the_device_code_counts(
    program: Binary, tmp_path: Path
) -> None:
    hosts = list[Mapping[str, str]]()
    for device, host in ((b"code", b"code"), (b"code", b"CODE"), (b"CODE", b"code")):
        library = cubin({".nv_fatbin": device, ".text": host})
        (program.path.parent / "libmax.so.1").write_bytes(library)
        hosts.append(code(program, tmp_path / f"kept-{len(hosts)}").host)
    assert hosts[0] == hosts[1] != hosts[2]


def test_a_library_counts_by_its_name_and_size(program: Binary, tmp_path: Path) -> None:
    library = tmp_path / "libgemm.so.1"
    library.write_text("one")
    line = f"libgemm.so.1 => {library} (0x1)\n"
    (program.path.parent / "libraries").write_text(line)
    first = code(program, tmp_path / "first")
    library.write_text("another")
    assert code(program, tmp_path / "second").host != first.host


def loaded(folder: Path, *names: str) -> list[Path]:
    """Libraries whose content is the folder's name, or that of a link in them."""
    folder.mkdir(parents=True)
    for name in names:
        file, _, target = name.partition("→")
        (folder / file).symlink_to(target) if target else (folder / file).write_text(folder.name)
    return [folder / name.partition("→")[0] for name in names]


def test_libraries_differ_by_their_versions_or_else_their_content(tmp_path: Path) -> None:
    (tmp_path / "liblinked.so.2.1").write_text("2.1")
    (tmp_path / "liblinked.so.2.2").write_text("2.2")
    names = "libplain.so", "libsame.so.1"
    old = loaded(tmp_path / "a", *names, "liblinked.so.2→../liblinked.so.2.1", "libgone.so.3")
    new = loaded(tmp_path / "b", *names, "liblinked.so.2→../liblinked.so.2.2")
    found = {one.key: one for one in program_code.library_differences(old, new)}
    assert found.keys() == {"libplain.so", "libsame.so", "liblinked.so", "libgone.so"}
    versions, gone = found["liblinked.so"], found["libgone.so"]
    assert (versions.baseline, versions.candidate) == ("2.1", "2.2")
    assert (gone.baseline, gone.candidate) == ("3", "not loaded")
    for name in ("libplain.so", "libsame.so"):
        assert found[name].baseline != found[name].candidate
    assert found["libsame.so"].baseline.startswith("1 ")


def test_equal_libraries_in_two_folders_do_not_differ(tmp_path: Path) -> None:
    sides = [loaded(tmp_path / name / "lib", "libsame.so.1") for name in ("c", "d")]
    assert program_code.library_differences(*sides) == []
