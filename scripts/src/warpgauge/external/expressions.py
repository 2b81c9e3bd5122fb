# SPDX-License-Identifier: Apache-2.0
"""Expressions of a manifest: integers, axes, + - * /, ceil_div, min, max and parentheses.

Arithmetic is exact, and division rounds down. Expressions are untrusted: only this grammar is
evaluated, and a limit on the length bounds the work.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache

from warpgauge.system.text import quoted

LARGEST = 2**63 - 1
_LONGEST = 500  # characters
_SHOWN = 10**30  # larger values are not printed
_GRAMMAR = "use integers, axes, + - * /, ceil_div(a, b), min, max and parentheses"


class ExpressionError(ValueError):
    """An expression that has no value; its arguments say what is wrong, and what to do."""


def evaluate(
    expression: int | str, point: Mapping[str, int], low: int = 0, high: int = LARGEST
) -> int:
    """Return the value of `expression` at `point`, which gives a value to each axis.

    Raises ExpressionError, also for a value outside `low` to `high`.
    """
    try:
        value = expression if isinstance(expression, int) else _value(_parsed(expression), point)
    except ZeroDivisionError:
        raise ExpressionError("divides by zero", "correct it") from None
    except (MemoryError, RecursionError):
        raise ExpressionError("is nested too deeply", "simplify it") from None
    if not low <= value <= high:
        hidden = isinstance(expression, int) or abs(value) >= _SHOWN
        fault = f"is {'' if hidden else f'{value}, '}not between {low} and {high}"
        raise ExpressionError(fault, "correct it, or the values of its axes")
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


_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv,
}


def _value(node: ast.expr, point: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.Name(id=name) if name in point:
            return point[name]
        case ast.Name(id=name):
            known = f"the axes are {', '.join(point)}" if point else "this kernel has no axes"
            raise ExpressionError(f"names the unknown axis {quoted(name)}", known)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, point)
        case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, point), _value(right, point))
        case ast.Call(ast.Name(id="ceil_div"), [dividend, divisor], []):
            return -(-_value(dividend, point) // _value(divisor, point))
        case ast.Call(ast.Name(id="min" | "max" as name), [_, _, *_], []):
            values = [_value(argument, point) for argument in node.args]
            return min(values) if name == "min" else max(values)
    raise ExpressionError("is not an expression of a manifest", _GRAMMAR)
