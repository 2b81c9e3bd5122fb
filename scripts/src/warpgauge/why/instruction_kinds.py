# SPDX-License-Identifier: Apache-2.0
"""Classes of machine instructions: arithmetic by type, memory by space, width and direction."""

from __future__ import annotations

import re
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from warpgauge.why.machine_code import Instruction


class Kind(NamedTuple):
    """A class of instructions; `bits` moved per thread, for a load or store."""

    name: str
    bits: int = 0


FP16, FP32, FP64 = "FP16", "FP32", "FP64"
INTEGER, MOVE, CONVERSION = "integer", "move", "conversion"
SPECIAL, TENSOR, SHUFFLE = "special function (MUFU)", "tensor core", "warp shuffle"
GLOBAL_LOAD, GLOBAL_STORE = "global load", "global store"
SHARED_LOAD, SHARED_STORE = "shared load", "shared store"
LOCAL_LOAD, LOCAL_STORE = "local load", "local store"
ASYNC_COPY = "asynchronous copy"
CONSTANT, INDEXED_CONSTANT = "constant load", "constant load at a thread-dependent index"
GLOBAL_ATOMIC, SHARED_ATOMIC = "global atomic", "shared atomic"
BARRIER, BRANCH, CALL, OTHER = "barrier", "branch", "call", "other"

# For each class, the names before the first point, and the rough cost on an SM relative to an FP32
# operation, which is used to order changes. The first pattern that matches decides.
_CLASSES = (
    (GLOBAL_LOAD, 8.0, r"LDG?"),
    (GLOBAL_STORE, 8.0, r"STG?"),
    (SHARED_LOAD, 4.0, r"LDSM?"),
    (SHARED_STORE, 4.0, r"STSM?|STAS"),
    (LOCAL_LOAD, 15.0, r"LDL"),
    (LOCAL_STORE, 15.0, r"STL"),
    (INDEXED_CONSTANT, 10.0, r"(?!)"),  # a constant load, by its operands
    (CONSTANT, 4.0, r"U?LDC|LDCU"),
    (TENSOR, 8.0, r"\w*MMA|UTC\w+"),
    (SPECIAL, 4.0, r"MUFU"),
    (ASYNC_COPY, 8.0, r"LDGSTS|UBLK\w+|UTMA\w+"),
    (SHARED_ATOMIC, 10.0, r"ATOMS"),
    (GLOBAL_ATOMIC, 30.0, r"ATOMG?|REDG?|REDAS|UTMARED\w*"),
    (BARRIER, 30.0, r"BAR|MEMBAR|FENCE|SYNCS|\w*DEPBAR|WARPSYNC|ERRBAR|UCGABAR\w*"),
    (CALL, 10.0, r"CALL"),
    (BRANCH, 3.0, r"BRA|BRX\w?|JMP|JMX\w?|RET|BSSY|BSYNC|BREAK|EXIT|KILL"),
    (SHUFFLE, 4.0, r"SHFL|REDUX|CREDUX|VOTEU?|MATCH"),
    (CONVERSION, 4.0, r"U?[FI]2[FIU]P?|U?FRND|F2FP|U?I2FP|I2I\w*"),
    (FP64, 15.0, r"D(?:ADD|MUL|FMA|SETP?|MNMX)"),
    (FP16, 1.0, r"H(?:ADD|MUL|FMA|SETP?|MNMX)2?\w*"),
    (FP32, 1.0, r"U?F(?:ADD|MUL|FMA|SETP?|MNMX|SEL|CHK|SWZADD)\w*"),
    (MOVE, 1.0, r"U?MOV\w*|C?S2U?R|R2UR|R2P|P2R|U?CS2R|UP2UR|UR2UP"),
    (INTEGER, 1.0, r"U?(?:IADD|IMAD|LEA|LOP|PLOP|SHF|SHL|SHR|ISETP|VI|IABS|IMNMX|PRMT|SEL|FLO|POPC"
     r"|BREV|BMSK|SGXT|ISCADD|IDP|VABSDIFF|VHMNMX|IMUL|LEPC)\w*"),
    (OTHER, 1.0, r"\w*"),
)  # fmt: skip
COST = MappingProxyType({name: cost for name, cost, _ in _CLASSES})
TRANSFERS = (GLOBAL_LOAD, GLOBAL_STORE, SHARED_LOAD, SHARED_STORE)
LOCAL = (LOCAL_STORE, LOCAL_LOAD)

# A kernel's parameters and its author's constants; bank 4 holds addresses of functions.
_INDEXED = re.compile(r"c?x?\[(?!0x4\])[^]]*\]\[U?R\d+.*\]")
_WORD = 32
_WIDTHS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256, "ENL2": 256}


def kind_of(instruction: Instruction) -> Kind:
    base, *modifiers = instruction.opcode.split(".")
    operands = instruction.operands
    name = _class_of(base)
    if name in (*TRANSFERS, *LOCAL):
        return Kind(name, _bits(base, modifiers))
    if base == "LDC" and any(map(_INDEXED.search, operands)):
        return Kind(INDEXED_CONSTANT)
    # Arithmetic with zero also fills registers and converts numbers.
    if base == "IMAD" and "MOV" in modifiers:
        return Kind(MOVE)
    if base == "HFMA2" and operands[1:3] == ("-RZ", "RZ"):
        return Kind(MOVE)
    if base == "HADD2" and "F32" in modifiers and operands[1:2] == ("-RZ",):
        return Kind(CONVERSION)
    return Kind(name)


@cache
def _class_of(base: str) -> str:
    return next(name for name, _, pattern in _CLASSES if re.fullmatch(pattern, base))


def _bits(base: str, modifiers: list[str]) -> int:
    if base in ("LDSM", "STSM"):  # matrices, each of which is 32 bits of each thread
        return _WORD * max((int(one) for one in modifiers if one in ("2", "4")), default=1)
    return next((_WIDTHS[one] for one in modifiers if one in _WIDTHS), _WORD)
