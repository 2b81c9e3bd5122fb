# SPDX-License-Identifier: Apache-2.0
"""The GPU models that pull requests are measured on: .github/gpus.json.

Standard library only, because a hosted runner plans the jobs before anything is installed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpgauge.system.environment import ROOT
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.location import Place, parsed, text_of
from warpgauge.system.process import nvidia_smi
from warpgauge.system.text import cut, inert, typed

_REMEDY = "see .github/gpus.schema.json"
# Repository settings, which a copy does not inherit. A pull request from a fork cannot read the
# variable, but it can read the topic, which comes with the event.
VARIABLE, TOPIC = "WARPGAUGE_GPU", "warpgauge-gpu"
_OFF = ("", "0", "false", "no", "off")


@dataclass(frozen=True)
class Gpu:
    """A model, and the runners that have it."""

    slug: str
    name: str  # as nvidia-smi writes it
    # As in a workflow's `runs-on`: a label, a list of labels, or {"group", "labels"}.
    runs_on: str | Sequence[str] | Mapping[str, Any] = field(hash=False)
    minutes: int  # the time limit of a job

    @property
    def job_name(self) -> str:
        """The name of its job in gpu.yml."""
        return f"gate ({self.name})"

    @property
    def artifact(self) -> str:
        """The name that the workflow gives to what its job leaves; others are ignored."""
        return f"warpgauge-{self.slug}"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that a runner must have; none if any runner of the group will do."""
        told = self.runs_on
        if isinstance(told, Mapping):
            told = told.get("labels", ())
        return (told,) if isinstance(told, str) else tuple(told)

    @property
    def group(self) -> str:
        """The name of the runners' group, or "".

        The prefix that distinguishes an organisation's group from its enterprise's is removed.
        """
        told = str(self.runs_on["group"]) if isinstance(self.runs_on, Mapping) else ""
        return re.sub(r"\A(?:org|ent)/", "", told)


def file_of(root: Path) -> Path:
    """Return the path of the list of models."""
    return root / ".github" / "gpus.json"


def read(path: Path) -> tuple[Gpu, ...]:
    """Return the models in `path`, each with a unique slug. Raise UserError."""
    found = [Gpu(**told) for told in _top(path)["gpus"]]
    for key in ("slug", "name"):
        if len({getattr(gpu, key) for gpu in found}) < len(found):
            raise Place(path).error(f"has two GPUs of the same {key}", _REMEDY)
    return tuple(found)


def measured(path: Path) -> list[str]:
    """Return the patterns of paths that can change a result. Raise UserError."""
    return list(_top(path).get("measured", ()))


def turns_on(value: str) -> bool:
    """Return whether this value of VARIABLE says that runners exist."""
    return value.strip().lower() not in _OFF


def touches(patterns: Sequence[str], paths: Iterable[str]) -> bool:
    """Return whether a path matches a pattern; without patterns every path does.

    In a pattern ``*`` matches any characters of one name, ``?`` one of them, and ``**`` any
    characters and folders: ``kernels/**`` is everything in a folder, ``**/CMakeLists.txt`` that
    file in any folder. Nothing else is special, and a pattern matches a whole path.
    """
    if not patterns:
        return True
    together = re.compile("|".join(map(_expression, patterns)), re.DOTALL)
    return any(together.fullmatch(path) for path in paths)


def chosen(path: Path, slug: str) -> Gpu:
    """Return the model with this slug. Raise UserError."""
    listed = {gpu.slug: gpu for gpu in read(path)}
    if slug in listed:
        return listed[slug]
    raise UserError(f"{path} does not list the GPU {typed(slug)}; it lists {', '.join(listed)}")


def require_here(gpu: Gpu) -> None:
    """Raise UserError if this runner has GPUs but none of this model: its labels are wrong."""
    names = here()
    if names and gpu.name not in names:  # without GPUs, warpgauge bench reports why
        has = inert(", ".join(sorted(set(names))))
        raise UserError(
            f"this runner has {has}, not {gpu.name}: remove the labels of {gpu.slug} in "
            ".github/gpus.json from it",
            ExitStatus.NOT_MEASURED,
        )


def here() -> list[str]:
    """Return the names of this runner's GPUs; none without nvidia-smi.

    If CUDA_VISIBLE_DEVICES names a GPU by its UUID, the runner has only that one.
    """
    which = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    only = [f"--id={which}"] if which.startswith("GPU-") else []
    output = nvidia_smi(*only, "--query-gpu=name", "--format=csv,noheader")
    return [line.strip() for line in output.splitlines()]


_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _expression(pattern: str) -> str:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return "".join(_WILD.get(part) or re.escape(part) for part in parts)


def _top(path: Path) -> Any:  # noqa: ANN401
    """Return the document. Raise UserError unless it is what .github/gpus.schema.json describes."""
    place = Place(path)
    document = parsed(place, text_of(place))
    schema = json.loads((ROOT / ".github" / "gpus.schema.json").read_bytes())
    for fault in _faults(document, schema, schema, "the list"):
        raise place.error(fault, _REMEDY)
    return document


def _faults(value: object, rule: Any, schema: Any, what: str) -> Iterator[str]:  # noqa: ANN401
    """Yield what is wrong with a value, by the keywords of JSON Schema that our schema has."""
    rule = schema["$defs"][Path(rule["$ref"]).name] if "$ref" in rule else rule
    if "anyOf" in rule:
        right = any(not [*_faults(value, one, schema, what)] for one in rule["anyOf"])
    elif type(value) is not _TYPES[rule["type"]]:
        right = False
    elif isinstance(value, dict):
        right = {*rule["required"]} <= value.keys() <= rule["properties"].keys()
        for key in value if right else ():
            yield from _faults(value[key], rule["properties"][key], schema, repr(key))
    elif isinstance(value, list):
        distinct = not rule.get("uniqueItems") or len({*map(repr, value)}) == len(value)
        right = distinct and rule["minItems"] <= len(value) <= rule["maxItems"]
        for number, item in enumerate(value if right else (), 1):
            yield from _faults(item, rule["items"], schema, f"{number} of {what}")
    elif isinstance(value, str):
        pattern = re.fullmatch(rule["pattern"], value)
        right = pattern is not None and len(value) <= rule["maxLength"]
    else:
        right = rule["minimum"] <= value <= rule["maximum"]
    if not right:
        yield f"{what} cannot be {cut(typed(str(value)), 80)}"


_TYPES = {"object": dict, "array": list, "string": str, "integer": int}
