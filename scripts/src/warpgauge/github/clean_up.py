# SPDX-License-Identifier: Apache-2.0
"""The end of a job on a GPU runner: the GPU as it was, and nothing of the job left behind.

It is the job's own code, so that it guards against accidents and not against malice: a runner that
strangers' code runs on is thrown away after the job, or cleaned by a hook of its own.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

from warpgauge.github.gpus import nvidia_smi, this_runners
from warpgauge.system import streams
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert, plural

TEMPORARY = "warpgauge-gate-"  # what scripts/warpgauge ci gate calls its temporary folders

_RESETS = ("--reset-gpu-clocks", "--reset-memory-clocks")


def runner(root: Path) -> ExitStatus:
    """Set the clocks back, and empty the job's folder, which `root` is in. Raises UserError."""
    place = _workspace(root)
    for option in _RESETS:
        _set_back(option)
    mine = [one for one in Path(tempfile.gettempdir()).glob(f"{TEMPORARY}*") if _is_mine(one)]
    left = [one for one in [*place.iterdir(), *mine] if not _removed(one)]
    if left:
        named = ", ".join(inert(str(one)) for one in left[:3])
        raise UserError(
            f"{plural(len(left), 'entry', 'entries')} of the job cannot be removed ({named}): "
            "remove them on the runner before its next job"
        )
    streams.write(f"gate: {place} is empty\n")
    return ExitStatus.OK


def _workspace(root: Path) -> Path:
    """The folder of a job on GitHub. Raises UserError anywhere else: it would be somebody's own."""
    told = os.environ.get("GITHUB_WORKSPACE", "")
    if os.environ.get("GITHUB_ACTIONS") != "true" or not told:
        raise UserError("--clean-up empties the folder of a job on GitHub, and this is none")
    place = Path(told).resolve()
    if not root.resolve().is_relative_to(place):
        raise UserError(
            f"{root} does not lie in {place}, the folder of this job: nothing is removed"
        )
    return place


def _set_back(option: str) -> None:
    """The driver's own clocks; whom it does not let set them back, it did not let lock them."""
    done = nvidia_smi(*this_runners(), option)
    if done is not None and done.returncode:
        words = inert(" ".join((done.stdout + done.stderr).split()))
        streams.write(f"gate: nvidia-smi {option}: {words}\n")


def _is_mine(path: Path) -> bool:
    try:
        return path.lstat().st_uid == os.getuid()
    except OSError:
        return False


def _removed(path: Path) -> bool:
    """Whatever its modes; what a link leads to stays."""
    try:
        if path.is_dir() and not path.is_symlink():
            _open(path)
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    except OSError:
        pass  # it is still there, which counts
    return not os.path.lexists(path)


def _open(top: Path) -> None:
    """Every folder of the tree, to us."""
    top.chmod(stat.S_IRWXU)
    for folder, names, _ in os.walk(top):
        for one in (Path(folder, name) for name in names):
            if not one.is_symlink():
                one.chmod(stat.S_IRWXU)
