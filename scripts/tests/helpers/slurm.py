# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster on this machine: a controller and several node daemons, all ours."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

DAEMONS = ("slurmctld", "slurmd")
# Debian's are not on the path of every user.
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
_PATIENCE_S = 600.0

_CONF = """\
ClusterName=warpgauge
SlurmctldHost=localhost
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1
ReturnToService=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
{nodes}
PartitionName=gpu Nodes=ALL Default=YES State=UP OverSubscribe=NO
"""


def missing(*programs: str) -> list[str]:
    """Which of them are not installed."""
    return [name for name in programs if shutil.which(name, path=PATH) is None]


def running(folder: Path) -> set[str]:
    """The processes of Slurm's daemons of the cluster in `folder`, by their numbers."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):
            environment = path.with_name("environ").read_bytes()
            if path.read_text().startswith("slurm") and bytes(folder) in environment:
                found.add(path.parent.name)
    return found


@contextmanager
def cluster(folder: Path, nodes: int) -> Iterator[Mapping[str, str]]:
    """The environment in which Slurm's commands talk to it. Nothing of it is left behind."""
    ports = _free_ports(nodes + 1)
    names = [f"node{number}" for number in range(1, nodes + 1)]
    lines = [
        f"NodeName={name} NodeHostname=localhost Port={port} CPUs=1 State=UNKNOWN"
        for name, port in zip(names, ports[1:], strict=True)
    ]
    for name in ("state", *names):
        (folder / name).mkdir(parents=True)
    conf = folder / "slurm.conf"
    conf.write_text(_CONF.format(user=getpass.getuser(), folder=folder, ports=ports,
                                 nodes="\n".join(lines)))  # fmt: skip
    environ = {**os.environ, "PATH": PATH, "SLURM_CONF": str(conf)}
    with ExitStack() as held:
        held.enter_context(_daemon(["slurmctld", "-D"], environ, folder))
        for name in names:
            held.enter_context(_daemon(["slurmd", "-D", "-N", name], environ, folder))
        _wait(environ, lambda: _output(environ, "sinfo", "-h", "-o", "%t %D") == f"idle {nodes}")
        try:
            yield environ
        finally:
            _output(environ, "scancel", "--user", getpass.getuser())
            _wait(environ, lambda: not _output(environ, "squeue", "-h"))
    _wait(environ, lambda: not running(folder))  # what stood over a job ends a little later


@contextmanager
def _daemon(command: list[str], environ: Mapping[str, str], folder: Path) -> Iterator[None]:
    with (folder / "daemons.log").open("ab") as log:
        process = subprocess.Popen(command, env=environ, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _output(environ: Mapping[str, str], *command: str) -> str:
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _wait(environ: Mapping[str, str], done: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE_S
    while not done():
        if time.monotonic() > until:
            raise TimeoutError(_output(environ, "sinfo", "-R") + _output(environ, "squeue"))
        time.sleep(0.2)
