# SPDX-License-Identifier: Apache-2.0
"""warpgauge ab over real Google Benchmark programs, compiled here where that can be."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from two_folders import TwoFolders
from warpgauge.system.errors import ExitStatus

# Manual and CPU time, repetitions of which the aggregates alone are reported, a template, and a
# program that talks. `FACTOR` is how long the first takes.
_SOURCE = r"""
#include <benchmark/benchmark.h>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>
static void manual(benchmark::State& state) {
  const double scatter = 1e-4 * (getpid() % 7);
  for (auto _ : state) state.SetIterationTime(1e-3 * FACTOR * (1 + scatter));
}
BENCHMARK(manual)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(9);
BENCHMARK(manual)->Name("typical (of 3)")->UseManualTime()->Iterations(9)->Repetitions(3)
    ->ReportAggregatesOnly();
template <class T> void spin(benchmark::State& state) {
  for (auto _ : state) for (volatile int i = 0; i < state.range(0); i = i + 1) {}
}
BENCHMARK_TEMPLATE(spin, std::vector<int>)->Arg(2000)->MinTime(0.005);
static void ill(benchmark::State& state) {
  if (std::getenv("ILL") != nullptr) std::abort();
  for (auto _ : state) state.SetIterationTime(1e-3 + 1e-8 * (getpid() % 97));
}
BENCHMARK(ill)->UseManualTime()->Iterations(3);
static void failing(benchmark::State& state) {
  state.SkipWithError("a \"bad\" result");
  for (auto _ : state) {}
}
BENCHMARK(failing);
int main(int argc, char** argv) {
  std::puts("device 0");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
"""
MANUAL = "manual/iterations:9/manual_time"
TYPICAL = "typical (of 3)/iterations:9/repeats:3/manual_time"
SPIN = "spin<std::vector<int>>/2000/min_time:0.005"
ILL = "ill/iterations:3/manual_time"


def compiled(path: Path, factor: float) -> None:
    """Skips, and says why, where no compiler or no library is there."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no g++")
    path.parent.mkdir(exist_ok=True)
    source = path.parents[1] / "source.cpp"
    source.write_text(_SOURCE)
    command = [compiler, "-std=c++17", "-O1", f"-DFACTOR={factor}", str(source), "-o", str(path)]
    done = subprocess.run(
        [*command, "-lbenchmark", "-lpthread"], capture_output=True, text=True, check=False
    )
    if done.returncode and "benchmark/benchmark.h" in done.stderr:
        pytest.skip("libbenchmark is not installed (Debian: libbenchmark-dev)")
    assert done.returncode == 0, done.stderr


def test_real_programs_are_measured_as_they_are(
    folders: TwoFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(folders.root / "base" / "a program", 1.0)
    compiled(folders.root / "candidate" / "a program", 1.1)
    status, outcomes = folders.outcomes("--filter=-spin")
    assert status is ExitStatus.REGRESSION
    slower = dict.fromkeys((MANUAL, TYPICAL), "REGRESSION")
    assert outcomes == {**slower, ILL: "PASS", "failing": "ERROR"}
    out, _ = folders.output()
    assert 'in round 1: a "bad" result' in out
    times = {row["name"]: row["real_time"] for row in folders.documents()[1]["benchmarks"]}
    assert times[MANUAL] == pytest.approx(1.1e6, rel=1e-3)
    assert times[TYPICAL] == pytest.approx(1.1e6, rel=1e-3)

    monkeypatch.setenv("ILL", "1")
    _, outcomes = folders.outcomes("--filter=ill|manual/|spin")
    assert outcomes.pop(SPIN) != "ERROR"
    assert outcomes == {MANUAL: "REGRESSION", ILL: "ERROR"}
    assert "in round 1: a program was killed by SIGABRT" in folders.output()[0]
