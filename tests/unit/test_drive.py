"""Functions of time: what they give, and what is refused."""

import contextlib
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

import hardgrain as hg
from hardgrain.errors import InputError, RunError
from hardgrain.scene.drive import Table, TimeFunction, compile_function, is_constant

adapter = TypeAdapter(TimeFunction)


def value(f: object, t: float) -> float:
    return compile_function(adapter.validate_python(f))(t)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5*sin(2*pi*3*t)", lambda t: 0.5 * math.sin(6.0 * math.pi * t)),
        (" -t**2 + 1e-3/(1 + t) ", lambda t: -(t**2) + 1e-3 / (1.0 + t)),
        ("exp(-t)*cos(t) - tan(t/3)", lambda t: math.exp(-t) * math.cos(t) - math.tan(t / 3)),
        ("log(1 + t) + sqrt(t) + abs(-e)", lambda t: math.log1p(t) + math.sqrt(t) + math.e),
        ("min(t, 1, 2) + max(t, 1)", lambda t: t + 1.0 if t < 1 else 1.0 + t),
        ("floor(t)", math.floor),
        ("sign(t - 1)", lambda t: float(np.sign(t - 1.0))),
        ("step(t - 1)", lambda t: float(t >= 1.0)),
        ("ramp(t, 1, 3)", lambda t: float(np.clip((t - 1.0) / 2.0, 0.0, 1.0))),
        ("ramp(t, 3, 1)", lambda t: float(np.clip((3.0 - t) / 2.0, 0.0, 1.0))),
        ("ramp(t, 1, 1)", lambda t: float(t >= 1.0)),
        ("2", lambda t: 2.0),
        ("2**-1", lambda t: 0.5),
    ],
)
def test_expressions(text: str, expected: object) -> None:
    for t in (0.0, 0.3, 1.0, 1.7, 2.5, 4.0):
        result = value(text, t)
        assert type(result) is float
        assert result == pytest.approx(expected(t), rel=1e-14, abs=1e-15)  # type: ignore[operator]


def test_table_interpolates_and_holds_its_ends() -> None:
    table = {"time": [1.0, 2.0, 4.0], "value": [0.0, 10.0, -10.0]}
    assert [value(table, t) for t in (0.0, 1.0, 1.5, 3.0, 4.0, 9.0)] == [0, 0, 5, 0, -10, -10]


def test_python_functions() -> None:
    assert value(lambda t: np.float32(2.0) * t, 1.5) == 3.0
    assert value(math.cos, 0.0) == 1.0
    with pytest.raises(RunError, match=r"the function .*lambda.* has no value at t = 0 .*division"):
        value(lambda t: 1.0 / t, 0.0)
    with pytest.raises(RunError, match=r"is nan at t = 2"):
        value(lambda t: math.nan, 2.0)


@pytest.mark.parametrize(
    ("f", "constant"),
    [
        (1, True),
        ("2*pi", True),
        ("sin(t)", False),
        ({"time": [0, 1], "value": [2, 2]}, True),
        ({"time": [0, 1], "value": [2, 3]}, False),
        (lambda t: 1.0, False),
        ("python:f", False),
    ],
)
def test_is_constant(f: object, constant: bool) -> None:
    assert is_constant(adapter.validate_python(f)) is constant


def test_json_keeps_all_but_the_code_of_functions() -> None:
    class Model(BaseModel):
        drives: list[TimeFunction]

    table = Table(time=(0.0, 1.0), value=(1.0, 2.0))
    model = Model(drives=[1, "sin(t)", table, math.cos, np.float64(2.5)])
    text = model.model_dump_json()
    assert json.loads(text)["drives"] == [
        1.0,
        "sin(t)",
        {"kind": "table", "time": [0.0, 1.0], "value": [1.0, 2.0]},
        "python:cos",
        2.5,
    ]
    again = Model.model_validate_json(text)
    assert again.drives[:3] == [1.0, "sin(t)", table]
    assert Model(**model.model_dump()) == model
    with pytest.raises(InputError, match="'cos' was given in Python and is not stored"):
        compile_function(again.drives[3])


@pytest.mark.parametrize(
    ("text", "t", "sentence"),
    [
        ("1/t", 0.0, r"'1/t' has no value at t = 0 \(float division by zero\)"),
        ("log(t)", 0.0, "'log.t.' has no value at t = 0"),
        ("(-t)**0.5", 2.0, "has no value at t = 2"),
        ("exp(t)", 1e4, "has no value at t = 10000"),
        ("1e300*t", 1e10, "'1e300.t' is inf at t = 1e.10; it must be finite"),
    ],
)
def test_no_value_at_some_time(text: str, t: float, sentence: str) -> None:
    with pytest.raises(RunError, match=sentence):
        value(text, t)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ("sni(t)", "'sni' in 'sni.t.' is unknown; did you mean 'sin'?"),
        ("Pi*t", "did you mean 'pi'?"),
        ("x", "'x' in 'x' is unknown; an expression may hold numbers, t, pi"),
        ("2^t", "write .. for powers"),
        ("sin", "'sin' in 'sin' is a function"),
        ("min(t)", "takes at least 2 arguments, not 1"),
        ("ramp(t)", "takes 3 arguments, not 1"),
        ("sin(t, t)", "takes 1 argument, not 2"),
        ("sin(x=t)", "is not allowed"),
        ("sin(*t)", "is not allowed"),
        ("", "cannot be read"),
        ("2*", "cannot be read"),
        ("t\0", "cannot be read"),
        ("t if t else 1", "is not allowed"),
        ("t > 1", "is not allowed"),
        ("True", "is not allowed"),
        ("1j", "is not allowed"),
        ("'a'", "is not allowed"),
        ("t // 2", "is not allowed"),
        ("not t", "is not allowed"),
        ("(1).__class__", "is not allowed"),
        ("__import__('os').system('true')", "is not allowed"),
        ("[t for t in (1, 2)]", "is not allowed"),
        ("lambda: 0", "is not allowed"),
        ("9**9**9**9", "has no value"),
        ("1/0", "has no value"),
        ("1e999", "too large"),
        ("1" + 400 * "0", "too large"),
        ("t" + 1000 * "+t", "has 2001 characters"),
        (900 * "-" + "t", "nested|cannot be read"),
        (300 * "(" + "t" + 300 * ")", "cannot be read"),
        ({"time": [0.0, 0.0], "value": [1.0, 2.0]}, "time must increase, but 0 follows 0"),
        ({"time": [0.0], "value": [1.0, 2.0]}, "time has 1 entries but value has 2"),
        ({"time": [], "value": 1.0}, "at least 1 item"),
        ({"time": [0.0], "value": [math.nan]}, "finite"),
        ({"time": [0.0], "value": [1.0], "unit": "s"}, "Extra inputs"),
        (math.inf, "finite"),
        (10**400, "valid number"),
        (True, "should be a number, an expression"),
        (None, "should be a number, an expression"),
        ([1.0], "should be a number, an expression"),
    ],
)
def test_bad_functions_are_refused(bad: object, sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        adapter.validate_python(bad)


def test_long_sums_are_fine() -> None:
    assert value("+".join(150 * ["t"]), 1.0) == 150.0


PIECES = [
    *("t", "pi", "e", "1", "2.5", "9e99", "1e-300", "10", "x", "__import__", "'a'", "None", "..."),
    *("sin(", "max(", "ramp(", "(", ")", ",", "+", "-", "*", "**", "/", "//", "%", "^", "@", "~"),
    *(".", "[", "]", "{", "}", ":", ":=", "==", "\\", "#", "f'{t}'", " ", "\n"),
    *(" and ", " not ", " lambda ", " if ", " else ", " for ", " in ", " await ", " yield "),
]

# Trees of allowed operations: deep powers and poles included.
trees = st.recursive(
    st.sampled_from(["t", "pi", "e", "0", "1", "2.5", "9e99", "1e-300", "10"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**"]), inner).map(
            lambda p: f"({p[0]}{p[1]}{p[2]})"
        ),
        st.tuples(
            st.sampled_from(["sin", "tan", "exp", "log", "sqrt", "floor", "step"]), inner
        ).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"ramp({','.join(p)})"),
        inner.map(lambda p: f"-{p}"),
    ),
    max_leaves=20,
)
nonsense = st.one_of(
    st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
)


@given(st.one_of(trees, nonsense), st.floats(allow_nan=False, allow_infinity=False))
def test_any_text_is_refused_or_gives_a_float(text: str, t: float) -> None:
    try:
        function = compile_function(adapter.validate_python(text))
    except (ValidationError, InputError):
        return
    with contextlib.suppress(RunError):
        result = function(t)
        assert type(result) is float
        assert math.isfinite(result)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["time", "value"]), inner),
        max_leaves=10,
    )
)
def test_any_value_is_refused_or_a_function(anything: object) -> None:
    try:
        f = adapter.validate_python(anything)
    except ValidationError:
        return
    assert math.isfinite(compile_function(f)(0.0))


@pytest.mark.parametrize("spin", [[0.0, "0.1*t", 1.0], 2.0, "3*t"])
def test_one_function_or_one_for_each_axis_is_stored_as_given(spin: object) -> None:
    wall = hg.Plane(point=[0, 0, 0], normal=[0, 0, 1], spin=spin)  # type: ignore[arg-type]
    assert hg.Plane.model_validate_json(wall.model_dump_json()) == wall
