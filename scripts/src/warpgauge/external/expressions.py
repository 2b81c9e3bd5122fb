# SPDX-License-Identifier: Apache-2.0
"""Expressions of a manifest: integers, axes, + - * /, ceil_div, min, max and parentheses.

Arithmetic is exact, and division rounds down. Expressions are untrusted: only this grammar is
evaluated, and a limit on the length bounds the work.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from warpgauge.system.text import quoted

LARGEST = 2**63 - 1
_LONGEST = 500  # characters
_SHOWN = 10**30  # larger values are not printed
_GRAMMAR = "use integers, axes, + - * /, ceil_div(a, b), min, max and parentheses"


class ExpressionError(ValueError):
    """An expression that has no value: what is wrong, and what to do."""

    def __init__(self, fault: str, remedy: str = "correct it") -> None:
        super().__init__(fault)
        self.remedy = remedy


def evaluate(
    expression: int | str, point: Mapping[str, int], low: int = 0, high: int = LARGEST
) -> int:
    """Return the value of `expression` at `point`, which gives a value to each axis.

    Raises ExpressionError, also for a value outside `low` to `high`.
    """
    if isinstance(expression, int):
        value = expression
    else:
        try:
            value = _value(_parsed(expression), point)
        except RecursionError:
            raise ExpressionError("is nested too deeply", "simplify it") from None
    if not low <= value <= high:
        fault = f"not between {low} and {high}"
        if isinstance(expression, int):
            raise ExpressionError(f"is {fault}")
        shown = "" if abs(value) >= _SHOWN else f"{value}, "
        raise ExpressionError(f"is {shown}{fault}", "correct it, or the values of its axes")
    return value


@lru_cache(maxsize=4096)
def _parsed(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ExpressionError(f"has more than {_LONGEST} characters", "simplify it")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise ExpressionError("is not an expression", _GRAMMAR) from None
    except (MemoryError, RecursionError):
        raise ExpressionError("is nested too deeply", "simplify it") from None


def _ceil_div(values: Sequence[int]) -> int:
    dividend, divisor = values
    return -(-dividend // divisor)


_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv,
}
# Functions, and the numbers of arguments that they take.
_FUNCTIONS: Mapping[str, tuple[Callable[[Sequence[int]], int], range]] = {
    "ceil_div": (_ceil_div, range(2, 3)),
    "min": (min, range(2, _LONGEST)),
    "max": (max, range(2, _LONGEST)),
}


def _value(node: ast.expr, point: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in point:
            known = f"the axes are {', '.join(point)}" if point else "this kernel has no axes"
            raise ExpressionError(f"names the unknown axis {quoted(node.id)}", known)
        return point[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, point)
    try:
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = _value(node.left, point), _value(node.right, point)
            return _OPERATORS[type(node.op)](left, right)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            function, counts = _FUNCTIONS.get(node.func.id, (None, range(0)))
            if function is not None and len(node.args) in counts:
                return function([_value(one, point) for one in node.args])
    except ZeroDivisionError:
        raise ExpressionError("divides by zero") from None
    raise ExpressionError("exceeds the largest value of an expression", _GRAMMAR)
