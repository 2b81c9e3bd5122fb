# SPDX-License-Identifier: Apache-2.0
"""jax as far as warpgauge.callables uses it, on arrays of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

Leaf = Any
Tree = Any


@dataclass(frozen=True)
class Device:
    platform: str
    local_hardware_id: int


GPU, CPU = Device("gpu", 3), Device("cpu", 0)


class Array(np.ndarray):
    """Nothing may write it."""

    deleted = False
    where: tuple[Device, ...] = (GPU,)

    def devices(self) -> set[Device]:
        return set(self.where)

    def is_deleted(self) -> bool:
        return self.deleted

    def unsafe_buffer_pointer(self) -> int:
        return int(self.ctypes.data)


def array(values: object) -> Array:
    made = np.array(values).view(Array)
    made.flags.writeable = False
    return made


def leaves(tree: Tree) -> list[Leaf]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        return [leaf for part in tree for leaf in leaves(part)]
    return [] if tree is None else [tree]


def mapped(function: Callable[[Leaf], Leaf], tree: Tree) -> Tree:
    if isinstance(tree, dict):
        return {key: mapped(function, part) for key, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(mapped(function, part) for part in tree)
    return function(tree)


class Jax(ModuleType):
    """The module; `waited` are the results that were waited for."""

    tree = SimpleNamespace(leaves=leaves, map=mapped)
    numpy = SimpleNamespace(
        asarray=array,
        iscomplexobj=np.iscomplexobj,
        issubdtype=np.issubdtype,
        inexact=np.inexact,
    )

    def __init__(self) -> None:
        super().__init__("jax")
        self.Array = Array
        self.waited: list[object] = []

    def block_until_ready(self, values: Tree) -> Tree:
        self.waited.append(values)
        return values

    def device_put(self, values: Array, device: object) -> Array:
        return array(values)

    def enable_x64(self, on: bool) -> AbstractContextManager[None]:
        return nullcontext()
