# SPDX-License-Identifier: Apache-2.0
"""Classes of machine instructions: arithmetic by type, memory by space, width and direction."""

from __future__ import annotations

import re
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

# The rough cost of an instruction on an SM, relative to an FP32 operation; used to order changes.
COST = MappingProxyType(
    {
        **dict.fromkeys((FP16, FP32, INTEGER, MOVE, OTHER), 1.0),
        BRANCH: 3.0,
        **dict.fromkeys((SPECIAL, CONVERSION, SHUFFLE, SHARED_LOAD, SHARED_STORE, CONSTANT), 4.0),
        **dict.fromkeys((GLOBAL_LOAD, GLOBAL_STORE, TENSOR, ASYNC_COPY), 8.0),
        **dict.fromkeys((INDEXED_CONSTANT, SHARED_ATOMIC, CALL), 10.0),
        **dict.fromkeys((FP64, LOCAL_LOAD, LOCAL_STORE), 15.0),
        **dict.fromkeys((BARRIER, GLOBAL_ATOMIC), 30.0),
    }
)

_MEMORY = MappingProxyType(
    {
        **dict.fromkeys(("LDG", "LD"), GLOBAL_LOAD),
        **dict.fromkeys(("STG", "ST"), GLOBAL_STORE),
        **dict.fromkeys(("LDS", "LDSM"), SHARED_LOAD),
        **dict.fromkeys(("STS", "STSM", "STAS"), SHARED_STORE),
        "LDL": LOCAL_LOAD,
        "STL": LOCAL_STORE,
    }
)
# The first pattern that matches the name before the first point decides.
_ARITHMETIC = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\w*MMA$|UTC\w+", TENSOR),
        (r"MUFU", SPECIAL),
        (r"LDGSTS|UBLK\w+|UTMA\w+", ASYNC_COPY),
        (r"ATOMS", SHARED_ATOMIC),
        (r"ATOMG?|REDG?|REDAS|UTMARED\w*", GLOBAL_ATOMIC),
        (r"BAR|MEMBAR|FENCE|SYNCS|\w*DEPBAR|WARPSYNC|ERRBAR|UCGABAR\w*", BARRIER),
        (r"CALL", CALL),
        (r"BRA|BRX\w?|JMP|JMX\w?|RET|BSSY|BSYNC|BREAK|EXIT|KILL", BRANCH),
        (r"SHFL|REDUX|CREDUX|VOTEU?|MATCH", SHUFFLE),
        (r"U?[FI]2[FIU]P?|U?FRND|F2FP|U?I2FP|I2I\w*", CONVERSION),
        (r"D(?:ADD|MUL|FMA|SETP?|MNMX)", FP64),
        (r"H(?:ADD|MUL|FMA|SETP?|MNMX)2?\w*", FP16),
        (r"U?F(?:ADD|MUL|FMA|SETP?|MNMX|SEL|CHK|SWZADD)\w*", FP32),
        (r"U?MOV\w*|C?S2U?R|R2UR|R2P|P2R|U?CS2R|UP2UR|UR2UP", MOVE),
        (r"U?(?:IADD|IMAD|LEA|LOP|PLOP|SHF|SHL|SHR|ISETP|VI|IABS|IMNMX|PRMT|SEL|FLO|POPC|BREV|"
         r"BMSK|SGXT|ISCADD|IDP|VABSDIFF|VHMNMX|IMUL|LEPC)\w*", INTEGER),
    )
)  # fmt: skip
# A kernel's parameters and its author's constants; bank 4 holds addresses of functions.
_INDEXED = re.compile(r"c?x?\[(?!0x4\])[^]]*\]\[U?R\d+.*\]")
_WORD, _WIDE = 32, {"64": 64, "128": 128, "256": 256, "ENL2": 256}
_NARROW = {"U8": 8, "S8": 8, "U16": 16, "S16": 16}


def kind_of(instruction: Instruction) -> Kind:
    base, *modifiers = instruction.opcode.split(".")
    if base in _MEMORY:
        return Kind(_MEMORY[base], _bits(base, modifiers))
    if base in ("LDC", "ULDC", "LDCU"):
        per_thread = base == "LDC" and any(map(_INDEXED.search, instruction.operands))
        return Kind(INDEXED_CONSTANT if per_thread else CONSTANT)
    # Arithmetic with zero also fills registers and converts numbers.
    if base == "IMAD" and "MOV" in modifiers:
        return Kind(MOVE)
    if base == "HFMA2" and instruction.operands[1:3] == ("-RZ", "RZ"):
        return Kind(MOVE)
    if base == "HADD2" and "F32" in modifiers and instruction.operands[1:2] == ("-RZ",):
        return Kind(CONVERSION)
    found = (name for pattern, name in _ARITHMETIC if pattern.fullmatch(base))
    return Kind(next(found, OTHER))


def _bits(base: str, modifiers: list[str]) -> int:
    if base in ("LDSM", "STSM"):  # matrices, each of which is 32 bits of each thread
        return _WORD * max((int(one) for one in modifiers if one in ("2", "4")), default=1)
    widths = [bits for one in modifiers if (bits := _WIDE.get(one) or _NARROW.get(one))]
    return widths[0] if widths else _WORD
