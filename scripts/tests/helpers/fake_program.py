# SPDX-License-Identifier: Apache-2.0
"""What a fake benchmark binary does: its text is the program, and its orders lie beside it.

It speaks Google Benchmark's flags, and writes its JSON as Google Benchmark does: indented, row by
row, and closed only at the end.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn, TextIO

ME = sys.argv[0]
FLAGS = dict(argument.lstrip("-").partition("=")[::2] for argument in sys.argv[1:])


def leave(status: int, words: str = "") -> NoReturn:
    if words:
        print(words, file=sys.stderr, flush=True)
    os._exit(status)


def count() -> int:
    """The number of this process among those of this program that measured."""
    with Path(f"{ME}.count").open("a+") as counter:
        counter.write("x")
        counter.seek(0)
        return len(counter.read())


def stay(own_session: bool) -> None:
    """Leave a child behind, whose pid is told; it is deaf to a polite request."""
    if os.fork() == 0:
        if own_session:
            os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Path(f"{ME}.child").write_text(str(os.getpid()))
        time.sleep(60)
        os._exit(0)
    while not Path(f"{ME}.child").exists():
        time.sleep(0.01)


def fall_ill(fault: str, name: str, out: TextIO) -> None:
    """What happens while a benchmark runs; it may be the end."""
    if fault == "crash":
        print("an illegal memory access", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "abort":
        print("terminate called\n  what():  no memory", file=sys.stderr, flush=True)
        os.abort()
    elif fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "hang":
        time.sleep(60)
    elif fault == "deaf hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)
    elif fault.startswith("half a row"):
        out.write('    {\n      "name": "' + name[:3])
        out.flush()
        if fault == "half a row":
            os.abort()
        os._exit(0)
    elif fault == "early exit":
        leave(1, "an exception that nobody caught")
    elif fault == "garbage":
        Path(FLAGS["benchmark_out"]).write_text("<html>not JSON at all")
        os._exit(0)
    elif fault.startswith("child"):
        stay(own_session=fault == "child in its own session")
    elif fault == "flood":
        for _ in range(300):
            os.write(1, b"x" * (1 << 20))
    elif fault == "removed folder":
        shutil.rmtree(Path(FLAGS["benchmark_out"]).parent)
    elif fault == "noise":
        os.write(2, b"\x00\xff bad \xc3\x28 bytes \x1b[2J\n")
        os.kill(os.getpid(), signal.SIGSEGV)


def written(row: dict[str, Any]) -> str:
    # As Google Benchmark does it: most control characters stand as they are.
    return json.dumps(row, indent=6)[:-1].replace("\\u0001", "\x01") + "    }"


def device(told: dict[str, Any]) -> dict[str, str]:
    """What the context says of the GPU that --device leads to, as CUDA numbers what is visible."""
    if not told["gpus"]:
        if int(FLAGS.get("device", "0")) > 0:
            leave(2, f"{ME}: there is no device {FLAGS['device']}")
        return {}
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    uuids = [one for one in told["gpus"] if visible is None or one in visible.split(",")]
    # A GPU that fell off its bus is one that nobody finds any more.
    uuids = [one for one in uuids if not Path(f"{ME}.lost-{one}").exists()]
    if not uuids:
        leave(3, f"{ME}: no CUDA-capable device is detected")
    if int(FLAGS.get("device", "0")) >= len(uuids):
        leave(2, f"{ME}: there is no device {FLAGS['device']}")
    uuid = uuids[int(FLAGS.get("device", "0"))]
    if "benchmark_out" in FLAGS:
        with Path(f"{ME}.ran-{uuid}").open("a") as ran:
            ran.write(f"{time.monotonic()}\n")
    return {"gpu_uuid": uuid}


def measure(told: dict[str, Any], names: list[str], gpu: dict[str, str]) -> None:
    process = count()
    fault = told["faults"].get(str(process), told["faults"].get("always", ""))
    context = {
        "date": "2026-11-20T12:00:00+00:00",
        "executable": ME,
        "num_cpus": 2,
        "caches": [],
        "library_build_type": "release",
        **told["context"],
        **gpu,
    }
    extra: dict[str, float] = {}
    if "suite" in FLAGS:
        context["suite"] = FLAGS["suite"]
    if "inject" in FLAGS:
        context["inject"] = FLAGS["inject"]
        regex, _, factor = FLAGS["inject"].rpartition("=")
        extra = {name: float(factor) for name in names if re.search(regex, name)}
    if told["trace"] is not None and "WARPGAUGE_TRACE" in os.environ:
        assert Path(os.environ["CUDA_INJECTION64_PATH"]).is_file()
        Path(os.environ["WARPGAUGE_TRACE"]).write_text(told["trace"])
    if fault == "no start":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "hang at start":
        time.sleep(60)
    out = Path(FLAGS["benchmark_out"]).open("w")  # noqa: SIM115 - a crash must not close it
    head = f"Running {ME}\nLoad Average: 1.0, 2.0, 3.0\n" + "".join(
        f"{key}: {value}\n" for key, value in told["context"].items()
    )
    print(head, end="", file=sys.stderr, flush=True)
    out.write('{\n  "context": ' + json.dumps(context, indent=4) + ',\n  "benchmarks": [\n')
    out.flush()
    broken = between = ""
    errors = 0
    for index, name in enumerate(names):
        row = {
            "name": name,
            "family_index": index,
            "per_family_instance_index": 0,
            "run_name": name,
            "run_type": "iteration",
            "repetitions": 1,
            "repetition_index": 0,
            "threads": 1,
            "iterations": 100,
            "real_time": (told["times"][name] + process)
            * extra.get(name, 1.0)
            * told["slower"].get(gpu.get("gpu_uuid", ""), 1.0),
            "cpu_time": 1.0,
            "time_unit": "ns",
            "bytes_per_second": 1e9,
            "samples": process,
        }
        if name in told["full_suite"]:
            row["full_suite"] = 1.0
        row.update(told["counters"].get("all", {}), **told["counters"].get(str(process), {}))
        ill = told["ill"].get(name, "") or (fault if index == len(names) - 1 else "")
        ill = ill or told["ill"].get(gpu.get("gpu_uuid", ""), "")
        error = ""
        if broken:
            error = f"not measured: {broken} broke the CUDA context"
            row["not_tried"] = 1.0
        elif fault == "errored row" and index == 0:
            error = "wrong result"
        elif ill.startswith("wrong"):
            error = "wrong \x01 result"
        elif ill == "skipped":
            row.update(skipped=True, skip_message="needs another GPU", real_time=0)
        elif ill == "broken context":
            error, broken = "cudaErrorIllegalAddress", name
        if error:
            errors += ill != "wrong, and status 0"
            row.update(error_occurred=True, error_message=error, real_time=0)
        if not broken:
            fall_ill(ill, name, out)
        if ill == "lost row":
            continue
        out.write(between + written(row))
        out.flush()
        between = ",\n"
    out.write("\n  ]\n}\n")
    out.close()
    if fault == "crash at exit":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "hang at exit":
        time.sleep(60)
    os._exit(4 if fault == "status 4" else 1 if errors else 0)


def main() -> None:
    told = json.loads(Path(f"{ME}.told").read_text())
    pattern = FLAGS.get("benchmark_filter", "")
    negated = pattern.startswith("-")
    names = [n for n in told["times"] if bool(re.search(pattern[negated:], n)) != negated]
    if "suite" in FLAGS and not told["full_suite"]:
        leave(2, f"{ME}: unknown argument '--suite={FLAGS['suite']}'; see --help")
    if FLAGS.get("suite") != "full":
        names = [name for name in names if name not in told["full_suite"]]
    if "shuffle" in FLAGS and not told["shuffles"]:
        leave(2, f"{ME}: unknown argument '--shuffle={FLAGS['shuffle']}'; see --help")
    if "shuffle" in FLAGS:
        sys.path.insert(0, told["scripts"])
        from warpgauge.execution.shuffle import shuffled

        names = list(shuffled(names, int(FLAGS["shuffle"])))
    if told["listing_fault"]:
        leave(127, told["listing_fault"])
    if not names and told["full_suite"] and not pattern and "benchmark_list_tests" in FLAGS:
        os._exit(0)
    if not names:
        leave(2, f"{ME}: no benchmark matches")
    if "benchmark_list_tests" in FLAGS:
        print("\n".join(names), flush=True)
        os._exit(0)
    if told["no_gpu"]:
        leave(3, f"{ME}: {told['no_gpu']}")
    measure(told, names, device(told))


if __name__ == "__main__":
    main()
