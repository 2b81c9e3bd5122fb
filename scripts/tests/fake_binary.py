# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the benchmark binaries: real processes that behave, or misbehave, as told."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

GPU = {
    "gpu_name": "NVIDIA Fake",
    "gpu_uuid": "GPU-00000000-0000-0000-0000-000000000000",
    "build_type": "Release",
    "boot_id": "b007",
}

# Speaks Google Benchmark's flags, and writes its JSON as Google Benchmark does: indented, and
# closed only at the end. `faults` says by the number of the process what goes wrong in it.
_PROGRAM = """#!{python} -IS
import json, os, re, signal, sys, time
told = json.loads({told!r})
flags = dict(a.lstrip("-").partition("=")[::2] for a in sys.argv[1:])
pattern = flags.get("benchmark_filter", "")
negated = pattern.startswith("-")
names = [n for n in told["times"] if bool(re.search(pattern[negated:], n)) != negated]
def leave(status, words=""):
    print(words, file=sys.stderr, flush=True)
    os._exit(status)
if told["listing_fault"]:
    leave(127, told["listing_fault"])
if not names:
    leave(2, sys.argv[0] + ": no benchmark matches")
if "benchmark_list_tests" in flags:
    print("\\n".join(names), flush=True)
    os._exit(0)
if told["no_gpu"]:
    leave(3, sys.argv[0] + ": " + told["no_gpu"])
if int(flags.get("device", "0")) > 0:
    leave(2, sys.argv[0] + ": there is no device " + flags["device"])
with open(sys.argv[0] + ".count", "a+") as counter:
    counter.write("x")
    counter.seek(0)
    process = len(counter.read())
fault = told["faults"].get(str(process), told["faults"].get("always", ""))
context = dict(date="2026-11-20T12:00:00+00:00", executable=sys.argv[0], num_cpus=2, caches=[],
               library_build_type="release", **told["context"])
extra = {{}}
if "inject" in flags:
    context["inject"] = flags["inject"]
    regex, _, factor = flags["inject"].rpartition("=")
    extra = {{n: float(factor) for n in names if re.search(regex, n)}}
if told["trace"] is not None and "WARPGAUGE_TRACE" in os.environ:
    assert os.path.isfile(os.environ["CUDA_INJECTION64_PATH"])
    with open(os.environ["WARPGAUGE_TRACE"], "w") as trace:
        trace.write(told["trace"])
out = open(flags["benchmark_out"], "w")
out.write('{{\\n  "context": ' + json.dumps(context, indent=4) + ',\\n  "benchmarks": [\\n')
for index, name in enumerate(names):
    row = dict(name=name, family_index=index, per_family_instance_index=0, run_name=name,
               run_type="iteration", repetitions=1, repetition_index=0, threads=1, iterations=100,
               real_time=(told["times"][name] + process) * extra.get(name, 1.0),
               cpu_time=1.0, time_unit="ns", bytes_per_second=1e9, samples=process)
    row.update(told["counters"].get("all", {{}}), **told["counters"].get(str(process), {{}}))
    if fault == "errored row" and index == 0:
        row.update(error_occurred=True, error_message="wrong result", real_time=0)
    if index == len(names) - 1:
        out.flush()
        if fault == "crash":
            print("an illegal memory access", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        if fault == "half a row":
            out.write('    {{\\n      "name": "' + name[:3])
            out.flush()
            os.abort()
        if fault == "hang":
            time.sleep(60)
        if fault == "lost row":
            break
    out.write((",\\n" if index else "") + "    " + json.dumps(row, indent=6)[:-1] + "    }}")
out.write("\\n  ]\\n}}\\n")
out.close()
if fault == "garbage":
    open(flags["benchmark_out"], "w").write("<html>not JSON at all")
if fault == "crash at exit":
    os.kill(os.getpid(), signal.SIGSEGV)
os._exit(1 if fault == "errored row" else 4 if fault == "status 4" else 0)
"""


def make(
    folder: Path,
    family: str,
    times: Mapping[str, float] | None = None,
    *,
    context: Mapping[str, str] | None = None,
    faults: Mapping[str, str] | None = None,
    counters: Mapping[int, Mapping[str, float]] | Mapping[str, Mapping[str, float]] | None = None,
    listing_fault: str = "",
    no_gpu: str = "",
    trace: str | None = None,
) -> Path:
    """A program bench_<family>, in the list of those built.

    Its benchmarks take `times` ns plus the number of the process, and have the `counters` of "all"
    and of that number. Where WARPGAUGE_TRACE names a file it writes `trace` there, as if CUPTI were
    in it.
    """
    path = folder / f"bench_{family}"
    told = {
        "times": times or {f"{family}/one": 1000.0, f"{family}/two": 2000.0},
        "context": ({} if family == "host" else GPU) if context is None else context,
        "faults": faults or {},
        "counters": {} if counters is None else dict(counters),
        "listing_fault": listing_fault,
        "no_gpu": no_gpu,
        "trace": trace,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(_PROGRAM.format(python=sys.executable, told=json.dumps(told)))
    path.chmod(0o755)
    with (folder / "families.txt").open("a") as families:
        families.write(f"{path.name}\n")
    return path
