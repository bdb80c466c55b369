"""A scenario: everything a run needs, as written in a TOML file or in Python."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError

from hardgrain.errors import InputError
from hardgrain.run.stop import Stop
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import Positive, Spec
from hardgrain.solve.gauss_seidel import GaussSeidel, Jacobi

__all__ = ["Output", "Scenario", "Start", "explain", "load", "parse"]

Solver = Annotated[GaussSeidel | Jacobi, Field(discriminator="kind")]


class Output(Spec):
    """What is written, and how often."""

    file: str | None = None  # default: the scenario's name with .h5
    every: Annotated[int, Field(ge=1)] = 100  # steps between frames
    contacts_every: Annotated[int, Field(ge=1)] = 1  # frames between frames that hold contacts


class Start(Spec):
    """Grains taken from a frame of an earlier run, in place of fresh ones.

    The scene must describe as many sets of grains; if it has the same number of walls too, they
    start where they were, and contacts start from the forces they had.
    """

    file: str
    frame: int = -1


class Scenario(Spec):
    """One run: the scene, the step, the solver, when to stop and what to write."""

    title: str = ""
    units: str = ""  # in words, for readers of the file; any consistent units will do
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    dt: Positive
    scene: Scene
    solver: Solver = GaussSeidel()
    start: Start | None = None
    stop: Stop | None = None
    output: Output = Output()


def load(path: str | Path) -> Scenario:
    """Read a scenario from a TOML file."""
    path = Path(path)
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; give a scenario file (TOML)") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; give a scenario file (TOML)") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file; give a scenario file (TOML)") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from None
    return parse(data)


def parse(data: dict[str, Any]) -> Scenario:
    """Check a scenario given as nested tables; the first error is explained in one sentence."""
    for name, table in (("stop", data.get("stop")), ("solver", data.get("solver"))):
        if table is not None and not isinstance(table, dict):
            raise InputError(f"{name} is {table!r}; it must be a table")
    solver = data.get("solver")
    if isinstance(solver, dict):
        data = {**data, "solver": {"kind": "gauss-seidel", **solver}}
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        raise explain(error, Scenario) from None
    except RecursionError:
        raise InputError("the scenario is nested too deeply") from None
    if scenario.stop is None:
        raise InputError("stop is missing; give a [stop] table with steps, time or at_rest")
    return scenario


# ---------------------------------------------------------------------- explaining errors
def explain(error: ValidationError, model: type[BaseModel]) -> InputError:
    """The most telling of pydantic's complaints as one sentence: field, value, what is valid."""
    problems = error.errors(include_url=False)
    # a misspelt key explains more than what is missing because of it
    problems.sort(key=lambda p: p["type"] != "extra_forbidden")
    first = problems[0]
    where = _path(first["loc"], model)
    value = first.get("input")
    kind = first["type"]
    if kind == "extra_forbidden":
        known = _known_keys(first["loc"][:-1], model)
        key = str(first["loc"][-1])
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys are {', '.join(known)}"
        return InputError(f"{where} is not a known key; {hint}")
    if kind == "missing":
        return InputError(f"{where} is missing; it is required")
    message = first["msg"].removeprefix("Value error, ")
    if kind == "value_error" and not isinstance(value, str | int | float):
        return InputError(f"{where}: {message}" if where else message)
    return InputError(f"{where} is {_short(value)}; {message[:1].lower()}{message[1:]}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _path(loc: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """scene.grains[0].count from a pydantic location, without the names of union members."""
    text = ""
    known: set[str] | None = None
    here: Any = model
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
            here = _items(here)
            continue
        models = _models(here)
        known = {name for m in models for name in m.model_fields}
        if known and part not in known and part != loc[-1]:
            chosen = [m for m in models if _tag(m) == part or m.__name__ == part]
            here = chosen[0] if chosen else here
            continue
        if known and part not in known and _is_tag(part, models):
            continue
        text += f".{part}" if text else part
        here = _field(here, part)
    return text


def _known_keys(loc: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    here: Any = model
    for part in loc:
        if isinstance(part, int):
            here = _items(here)
            continue
        models = _models(here)
        chosen = [m for m in models if _tag(m) == part or m.__name__ == part]
        here = chosen[0] if chosen else _field(here, part)
    return sorted({name for m in _models(here) for name in m.model_fields})


def _unwrap(annotation: Any) -> list[Any]:
    """All plain types within Annotated, unions and optionals."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _unwrap(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [t for a in get_args(annotation) for t in _unwrap(a)]
    return [annotation]


def _models(annotation: Any) -> list[type[BaseModel]]:
    return [t for t in _unwrap(annotation) if isinstance(t, type) and issubclass(t, BaseModel)]


def _field(annotation: Any, name: str) -> Any:
    for m in _models(annotation):
        if name in m.model_fields:
            return m.model_fields[name].annotation
    for t in _unwrap(annotation):  # dict[str, X]
        if get_origin(t) is dict:
            return get_args(t)[1]
    return Any


def _items(annotation: Any) -> Any:
    for t in _unwrap(annotation):
        if get_origin(t) in (list, tuple):
            return get_args(t)[0]
    return Any


def _tag(model: type[BaseModel]) -> str:
    kind = model.model_fields.get("kind")
    return str(kind.default) if kind is not None else ""


def _is_tag(part: str, models: list[type[BaseModel]]) -> bool:
    return any(part in (_tag(m), m.__name__) for m in models)
