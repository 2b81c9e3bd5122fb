# SPDX-License-Identifier: Apache-2.0
"""A ReFrame test: builds the benchmarks once, and measures every GPU of every node.

    reframe -C scripts/reframe/site.py -c scripts/reframe/fleet_check.py --prefix fleet \\
      --distribute=all --run -S references=$PWD/references.json

A benchmark's performance variable is its slowest GPU's median, in microseconds. Run files stay
below the prefix, which `scripts/warpgauge fleet` reads.
"""

# A class attribute is a variable of the test to ReFrame, and its methods are called by it.
# ruff: noqa: ANN201, RUF012

import json
import statistics
from pathlib import Path

import reframe.utility.sanity as sn
from reframe.core.builtins import fixture, run_before, sanity_function, variable

import reframe as rfm

ROOT = Path(__file__).resolve().parents[2]
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}

# Of scripts/bench: no regression; and no baseline to compare with, or something undecided.
MEASURED = ("0", "3")


class Build(rfm.RunOnlyRegressionTest):
    """Once, on the node that ReFrame runs on: all nodes share the file system."""

    root = variable(str, value=str(ROOT))
    options = variable(str, value="")  # more of scripts/bench's
    local = True
    sourcesdir = None

    @run_before("run")
    def list_benchmarks(self):
        """To know their names, scripts/bench builds them."""
        self.executable = f"{self.root}/scripts/bench"
        self.executable_opts = ["--list", self.options]

    @sanity_function
    def lists_benchmarks(self):
        return sn.assert_found(r"^\w+/\w+", self.stdout)


@rfm.simple_test
class WarpgaugeCheck(rfm.RunOnlyRegressionTest):
    """All GPUs of a node, one after the other, while nobody else has the node."""

    build = fixture(Build, scope="session")
    root = variable(str, value=str(ROOT))
    budget = variable(str, value="5m")
    filter = variable(str, value="")
    references = variable(str, value="")  # scripts/warpgauge baseline export wrote it

    valid_systems = ["+gpu"]
    valid_prog_environs = ["*"]
    sourcesdir = None
    num_tasks = 1
    exclusive_access = True
    time_limit = "2h"
    keep_files = ["run-*.json", "run-*.commands"]

    @run_before("run")
    def measure(self):
        self.executable = f"{self.root}/scripts/bench"
        self.executable_opts = ["--no-build", "--device all", f"--budget {self.budget}",
                                "--out run.json"]  # fmt: skip
        if self.filter:
            self.executable_opts.append(f"--filter '{self.filter}'")
        self.postrun_cmds = ['echo "exit status $?"']

    @sanity_function
    def measured(self):
        """Exit status 1, a regression, fails; so does a GPU without a run file."""
        status = sn.extractsingle(r"^exit status (\d+)", self.stdout, 1)
        files = sn.count(sn.glob(f"{self.stagedir}/run-*.json"))
        return sn.all([sn.assert_in(status, MEASURED, "scripts/bench ended with {0}"),
                       sn.assert_gt(files, 0, "no GPU has a run file")])  # fmt: skip

    @run_before("performance")
    def time_of_slowest_gpu(self):
        """A variable for each benchmark: the time of the slowest GPU."""
        slowest: dict[str, float] = {}
        runs = Path(self.stagedir).glob("run-*.json")
        for path in (run for run in runs if not run.stem.endswith("-base")):
            for row in json.loads(path.read_text())["benchmarks"]:
                if row.get("process_medians") and not row.get("error_occurred"):
                    median = statistics.median(row["process_medians"])
                    name = row["name"].replace(":", "=")  # a colon parts ReFrame's own names
                    time = MICROSECONDS[row["time_unit"]] * median
                    slowest[name] = max(slowest.get(name, 0.0), time)
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(time), "us")
            for name, time in slowest.items()
        }
        if self.references:
            known = json.loads(Path(self.references).read_text())
            self.reference = {
                where: {name: tuple(held) for name, held in rows.items() if name in slowest}
                for where, rows in known.items()
            }
