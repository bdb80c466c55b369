"""Functions of time: a number, an expression in t, a table, or a Python function."""

from __future__ import annotations

import ast
import difflib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    PlainSerializer,
    Tag,
    model_validator,
)

from hardgrain.errors import InputError, RunError
from hardgrain.scene._base import Finite, Numbers, Spec, plain

__all__ = [
    "FUNCTIONS", "PYTHON", "Table", "TimeFunction", "compile_function", "function_name",
    "is_constant",
]  # fmt: skip

Function = Callable[[float], float]

# [characters, levels] Longest and deepest expression: far more than anyone writes by hand, and far
# less than what the parser could not handle.
_LONGEST = 1000
_DEEPEST = 200

# Text that takes the place of a Python function in a run file.
PYTHON = "python:"


class Table(Spec):
    """Straight lines between points (time, value), constant before the first and after the last."""

    kind: Literal["table"] = "table"
    time: Annotated[Numbers, Field(min_length=1)]  # times of the points, in increasing order [time]
    # value of the function at each of these times, in the unit of the field that it stands in
    value: Annotated[Numbers, Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> Table:
        if len(self.time) != len(self.value):
            raise ValueError(
                f"time has {len(self.time)} entries but value has {len(self.value)};"
                " they must be equally many"
            )
        for a, b in zip(self.time, self.time[1:]):
            if not a < b:
                raise ValueError(f"time must increase, but {b:g} follows {a:g}")
        return self


def _step(x: float) -> float:
    return 1.0 if x >= 0.0 else 0.0


def _ramp(t: float, t0: float, t1: float) -> float:
    if t0 == t1:
        return _step(t - t0)
    return min(max((t - t0) / (t1 - t0), 0.0), 1.0)


def _sign(x: float) -> float:
    return math.copysign(1.0, x) if x != 0.0 else 0.0


def _floor(x: float) -> float:
    return float(math.floor(x))


_CONSTANTS = {"pi": math.pi, "e": math.e}


@dataclass(frozen=True)
class _Function:
    """A function that expressions may call."""

    usage: str
    about: str
    call: Callable[..., float]
    least: int = 1  # least number of arguments
    most: float = 1


_ALL = (
    _Function("sin(x)", "sine, x in radian", math.sin),
    _Function("cos(x)", "cosine, x in radian", math.cos),
    _Function("tan(x)", "tangent, x in radian", math.tan),
    _Function("exp(x)", "exponential", math.exp),
    _Function("log(x)", "natural logarithm", math.log),
    _Function("sqrt(x)", "square root", math.sqrt),
    _Function("abs(x)", "absolute value", abs),
    _Function("floor(x)", "the largest whole number that is not above x", _floor),
    _Function("sign(x)", "-1, 0 or 1", _sign),
    _Function("step(x)", "0 for negative x, else 1; step(t - 2) switches on at t = 2", _step),
    _Function(
        "ramp(t, t0, t1)", "0 before t0, 1 after t1, a straight line in between", _ramp, 3, 3
    ),
    _Function("min(x, y, …)", "the least of its arguments", min, 2, math.inf),
    _Function("max(x, y, …)", "the largest of its arguments", max, 2, math.inf),
)
FUNCTIONS = {one.usage.partition("(")[0]: one for one in _ALL}
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_ALLOWED = (
    "an expression may hold numbers, t, pi, e, + - * / **, parentheses and the functions "
    + ", ".join(FUNCTIONS)
)


def _quote(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")


def _parse(text: str) -> ast.Expression:
    """Syntax tree of an expression that is not deeper than allowed."""
    if len(text) > _LONGEST:
        raise InputError(
            f"{_quote(text)} has {len(text)} characters, but an expression may have {_LONGEST};"
            " a table may serve better"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise InputError(f"{_quote(text)} cannot be read; {_ALLOWED}") from None
    layer: list[ast.AST] = [tree.body]
    for _ in range(_DEEPEST):
        layer = [child for node in layer for child in ast.iter_child_nodes(node)]
    if layer:
        raise InputError(
            f"{_quote(text)} is nested more than {_DEEPEST} levels deep; write it simpler"
        )
    return tree


class _Checker(ast.NodeTransformer):
    """Refuses what is not allowed, and makes floats of integers, so that no power explodes."""

    def __init__(self, text: str) -> None:
        self.text = _quote(text)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        raise InputError(f"{_quote(ast.unparse(node))} in {self.text} is not allowed; {_ALLOWED}")

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self.generic_visit(node)
        if value > 1e300:
            raise InputError(f"{self.text} holds a number too large to compute with")
        return ast.Constant(float(value))

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in FUNCTIONS:
            raise InputError(f"{node.id!r} in {self.text} is a function; write {node.id}(…)")
        if node.id not in _CONSTANTS and node.id != "t":
            self._unknown(node.id, ["t", *_CONSTANTS])
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.UnaryOp:
        if not isinstance(node.op, ast.UAdd | ast.USub):
            self.generic_visit(node)
        return ast.UnaryOp(node.op, self.visit(node.operand))

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if isinstance(node.op, ast.BitXor):
            raise InputError(f"'^' in {self.text} is not allowed; write ** for powers")
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.Pow):  # it becomes a call, since (−1.0)**0.5 would be complex
            return ast.Call(ast.Name("_power", ast.Load()), [left, right], [])
        if not isinstance(node.op, _OPERATORS):
            self.generic_visit(node)
        return ast.BinOp(left, node.op, right)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        if not isinstance(node.func, ast.Name) or node.keywords:
            self.generic_visit(node)
        name = node.func.id  # type: ignore[attr-defined]
        if name not in FUNCTIONS:
            self._unknown(name, list(FUNCTIONS))
        least, most = FUNCTIONS[name].least, FUNCTIONS[name].most
        if not least <= len(node.args) <= most:
            wanted = f"{least}" if least == most else f"at least {least}"
            raise InputError(
                f"{name} in {self.text} takes {wanted} argument{'s' * (least > 1)},"
                f" not {len(node.args)}"
            )
        return ast.Call(node.func, [self.visit(argument) for argument in node.args], [])

    def _unknown(self, name: str, known: list[str]) -> None:
        close = difflib.get_close_matches(name.lower(), known, 1)
        hint = f"did you mean {close[0]!r}?" if close else _ALLOWED
        raise InputError(f"{_quote(name)} in {self.text} is unknown; {hint}")


_NAMES: dict[str, Any] = {
    "__builtins__": {},
    "_power": math.pow,
    **_CONSTANTS,
    **{name: one.call for name, one in FUNCTIONS.items()},
}


def _compile_expression(text: str) -> Function:
    tree = _Checker(text).visit(_parse(text).body)
    code = compile(ast.fix_missing_locations(ast.Expression(tree)), "<expression>", "eval")
    return lambda t: eval(code, _NAMES, {"t": t})


def _uses_time(text: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "t" for node in ast.walk(_parse(text)))


def _check_expression(text: str) -> str:
    if not text.startswith(PYTHON):
        function = _guard(_compile_expression(text), _quote(text))
        if not _uses_time(text):
            try:
                function(0.0)
            except RunError as error:
                raise InputError(str(error)) from None
    return text


def _guard(function: Callable[[float], Any], name: str) -> Function:
    """The function, which raises an error in place of returning anything but a finite float."""

    def guarded(t: float) -> float:
        try:
            value = float(function(t))
        except Exception as error:
            raise RunError(f"{name} has no value at t = {t:g} ({error})") from error
        if not math.isfinite(value):
            raise RunError(f"{name} is {value} at t = {t:g}; it must be finite")
        return value

    return guarded


def function_name(function: Callable[..., Any]) -> str:
    """What a Python function is called in messages and files."""
    return getattr(function, "__qualname__", type(function).__qualname__)


def _form(value: Any) -> str | None:
    """Which form of `TimeFunction` a value is meant to have."""
    match value:
        case bool():
            return None
        case int() | float():
            return "number"
        case str():
            return "expression"
        case dict() | Table():
            return "table"
    return "function" if callable(value) else None


TimeFunction = Annotated[
    Annotated[Finite, Tag("number")]
    | Annotated[str, AfterValidator(_check_expression), Tag("expression")]
    | Annotated[Table, Tag("table")]
    | Annotated[
        Function,
        PlainSerializer(lambda f: PYTHON + function_name(f), return_type=str, when_used="json"),
        Tag("function"),
    ],
    Discriminator(
        _form,
        custom_error_type="time_function",
        custom_error_message="should be a number, an expression in t such as"
        " '0.5*sin(2*pi*3*t)', a table with time and value, or a Python function of t",
    ),
    BeforeValidator(plain),
]


def compile_function(f: TimeFunction) -> Function:
    """Make f a Python function of time, which returns a finite float or raises a `RunError`."""
    if isinstance(f, str):
        if f.startswith(PYTHON):
            raise InputError(
                f"the function {f.removeprefix(PYTHON)!r} was given in Python and is not stored;"
                " build the scene in Python again, or use an expression or a table"
            )
        return _guard(_compile_expression(f), _quote(f))
    if isinstance(f, Table):
        time, value = np.array(f.time), np.array(f.value)
        return lambda t: float(np.interp(t, time, value))
    if callable(f):
        return _guard(f, f"the function {function_name(f)}")
    constant = float(f)
    return lambda t: constant


def is_constant(f: TimeFunction) -> bool:
    """Whether f is known to be constant; of a Python function that is never known."""
    if isinstance(f, str):
        return not f.startswith(PYTHON) and not _uses_time(f)
    if isinstance(f, Table):
        return len(set(f.value)) == 1
    return not callable(f)
