"""What a study file says: a scenario, the parameters that change in it, and how many seeds."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from hardgrain.errors import InputError
from hardgrain.run.scenario import Scenario, change, parse, read_tables
from hardgrain.scene._base import Count, FileName, Finite, Flag, Name, Spec, Whole
from hardgrain.scene.explain import explain

__all__ = ["Parameter", "Plan", "read_plan"]

# Names of the table that a study becomes, which a parameter must not take.
TAKEN = ("point", "runs", "seed")
# [1] Most values of a list that are tried before the study begins; a worker tells of the others.
TRIED = 1000
# [1] More points than this are a slip of the pen: their list alone would fill the memory.
MOST = 10_000_000


class Parameter(Spec):
    """One parameter of a study: which field of the scenario it is, and what values it takes.

    Give either ``values``, or ``min`` and ``max``. A grid then needs the ``count`` of values from
    one to the other; random points and Latin hypercubes take any value in between.
    """

    # field of the scenario, such as scene.contacts.0.friction, or several that change together;
    # default: the name of the parameter
    field: Name | Annotated[list[Name], Field(min_length=1)] = ""
    values: list[Any] | None = None  # the values, one by one: numbers, words, lists or tables
    min: Finite | None = None  # least value [that of the field]
    max: Finite | None = None  # greatest value [that of the field]
    count: Count | None = None  # how many values from min to max a grid has [1]
    # whether values are spread evenly or by equal factors
    scale: Literal["linear", "log"] = "linear"
    whole: Flag = False  # whether values are rounded to whole numbers

    @model_validator(mode="after")
    def _check(self) -> Parameter:
        if self.values is not None:
            if not self.values:
                raise ValueError("values is an empty list; give at least one value")
            if (self.min, self.max, self.count) != (None, None, None):
                raise ValueError("values is given beside min, max or count; give one or the other")
            return self
        if self.min is None or self.max is None:
            raise ValueError("there are no values; give values, or min and max")
        if self.min > self.max:
            raise ValueError(f"min is {self.min:g}, above max, {self.max:g}: the range is empty")
        if self.scale == "log" and self.min <= 0.0:
            raise ValueError(f"min is {self.min:g}; with scale 'log' give a number greater than 0")
        return self

    @property
    def fields(self) -> list[str]:
        """Fields of the scenario that it sets."""
        return [self.field] if isinstance(self.field, str) else list(self.field)

    def at(self, share: float) -> Any:
        """The value at a share of the way from the first one to the last, from 0 to 1."""
        if self.values is not None:
            return self.values[min(int(share * len(self.values)), len(self.values) - 1)]
        assert self.min is not None
        assert self.max is not None
        if self.whole:  # each whole number has an equal share of the way
            low, high = math.ceil(self.min), math.floor(self.max)
            if self.scale == "linear":
                return min(low + int(share * (high - low + 1)), high)
        if self.scale == "log":
            value = self.min * (self.max / self.min) ** share
        else:
            value = self.min + share * (self.max - self.min)
        value = min(max(value, self.min), self.max)
        return round(value) if self.whole else value

    def steps(self) -> list[Any]:
        """All its values in a grid."""
        if self.values is not None:
            return list(self.values)
        assert self.count is not None
        assert self.min is not None
        assert self.max is not None
        if self.count == 1:
            return [round(self.min) if self.whole else self.min]
        shares = [k / (self.count - 1) for k in range(self.count)]
        if self.scale == "linear":
            # 0.05 + 11/11 (0.6 − 0.05) has digits that no one has asked for
            found = [float(f"{self.min + s * (self.max - self.min):.12g}") for s in shares]
        else:
            found = [float(f"{self.min * (self.max / self.min) ** s:.12g}") for s in shares]
        return [round(value) for value in found] if self.whole else found


class Plan(Spec):
    """A study: one scenario, run for all values of some parameters, each with several seeds."""

    title: str = ""  # what the study is called; default: the title of the scenario
    # scenario file, looked for beside the study file, or the scenario itself as a table
    scenario: FileName | dict[str, Any]
    set: dict[str, Any] = {}  # fields of the scenario that the study changes in all of its runs
    # parameters by name: a table each, or just a list of values of the field that the name is
    parameters: dict[Name, Parameter] = {}
    # which points: all combinations, so many at random, or a Latin hypercube, which spreads them
    design: Literal["grid", "random", "latin-hypercube"] = "grid"
    points: Count | None = None  # how many points random and latin-hypercube have [1]
    seeds: Count = 1  # how many runs each point has, which differ in their seed only [1]
    # number that decides everything random, the points drawn and the seeds of all runs [1]
    seed: Annotated[Whole, Field(ge=0, lt=2**63)] = 0
    # what is collected and reported unless other names are given: measurements, or single
    # variables of them such as stress.pressure, or summary
    measure: list[Name] = ["summary"]

    @field_validator("parameters", mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """Complete parameters given as a list of values, or without a field of their own."""
        if not isinstance(given, dict):
            return given
        found = {}
        for name, one in given.items():
            if isinstance(one, list | tuple):
                one = {"values": list(one)}
            if isinstance(one, dict) and "field" not in one:
                one = {**one, "field": name}
            found[name] = one
        return found

    @model_validator(mode="after")
    def _check(self) -> Plan:
        drawn = self.design != "grid"
        if drawn and self.points is None:
            raise ValueError(
                f"points is missing; give the number of points of design {self.design!r}"
            )
        if not drawn and self.points is not None:
            raise ValueError(
                f"points is {self.points}, but design 'grid' has all combinations; leave it out, or"
                " give design = 'random' or 'latin-hypercube'"
            )
        if drawn and not self.parameters:
            raise ValueError(f"parameters is empty; design {self.design!r} needs at least one")
        total = self.points or 1
        seen: dict[str, str] = {}
        for name, one in self.parameters.items():
            at = f"parameters.{name}"
            if name in TAKEN or "/" in name:
                raise ValueError(f"{at} cannot have this name, which the table of results needs")
            if drawn and one.count is not None:
                raise ValueError(
                    f"{at}.count is {one.count}, but only a grid has a count; leave it out"
                )
            if not drawn and one.values is None and one.count is None:
                raise ValueError(
                    f"{at}.count is missing; give the number of values from min to max"
                )
            total *= 1 if drawn else len(one.values or ()) or one.count or 1
            if total * self.seeds > MOST:
                raise ValueError(
                    f"the study has more than {MOST} points; give fewer values or seeds"
                )
            if not drawn:
                steps = one.steps()
                twice = [v for k, v in enumerate(steps) if v in steps[:k]]
                if twice:
                    raise ValueError(f"{at} takes the value {twice[0]!r} twice; give it once")
            for field in one.fields:
                if field in seen:
                    raise ValueError(f"{at} and parameters.{seen[field]} both change {field}")
                seen[field] = name
        if "seed" in seen and self.seeds > 1:
            raise ValueError(
                f"seeds is {self.seeds}, but parameters.{seen['seed']} gives the seeds itself;"
                " leave out one of them"
            )
        if not self.parameters and self.seeds == 1:
            raise ValueError("parameters is empty and seeds is 1: a single run, for hardgrain run")
        return self

    def tables(self, values: Mapping[str, Any], at: Path) -> dict[str, Any]:
        """The tables of the scenario with these values of the parameters, by name.

        Files that it reads are looked for in the folder ``at``, wherever it is run.
        """
        assert isinstance(self.scenario, dict)  # `read_plan` has put it there
        tables = _copy(self.scenario)
        for name, value in values.items():
            for field in self.parameters[name].fields:
                change(tables, field, _copy(value))
        _find_files(tables, at)
        found: dict[str, Any] = tables
        return found


def read_plan(given: str | Path | dict[str, Any] | Plan, at: Path | None = None) -> Plan:
    """Read and check a study, given as a file or as tables, with its scenario read into it.

    ``at`` is the folder in which scenarios and the files that they name are looked for, by default
    that of the study file. Every value of a list, and the ends of every range, are tried once, each
    with the first values of the others, so that a slip is found before any run begins.
    """
    if isinstance(given, str | Path):
        at = at or Path(given).parent
        given = read_tables(given, "a study file")
    at = (at or Path()).absolute()
    if isinstance(given, dict):
        if "parameters" not in given and "scene" in given:
            raise InputError(
                "this is a scenario, not a study: it has no parameters; run it with hardgrain run,"
                " or name it in a study file (scenario = …)"
            )
        try:
            given = Plan.model_validate(_plain(given))
        except ValidationError as error:
            raise explain(error, Plan, given) from None
    tables = given.scenario
    if isinstance(tables, str):
        tables = read_tables(at / tables, "a scenario file")
    tables = _copy(tables)
    for field, value in given.set.items():
        change(tables, field, value)
    plan = given.model_copy(update={"scenario": tables, "set": {}})
    _try(plan, at)
    return plan


def _plain(given: dict[str, Any]) -> dict[str, Any]:
    """A scenario that was made in Python as tables."""
    scenario = given.get("scenario")
    if isinstance(scenario, Scenario):
        text = scenario.model_dump_json(exclude_none=True)
        if '"python:' in text:
            raise InputError(
                "scenario holds a function that was given in Python, which workers cannot read;"
                " write it as an expression of t"
            )
        given = {**given, "scenario": json.loads(text)}
    elif isinstance(scenario, Path):
        given = {**given, "scenario": str(scenario)}
    return given


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(one) for name, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list | tuple) else value


def _find_files(value: Any, at: Path) -> None:
    """Make the names of files that a scenario reads absolute: points are run anywhere."""
    if isinstance(value, dict):
        for name, one in value.items():
            if name == "file" and isinstance(one, str) and (at / one).is_file():
                value[name] = str(at / one)
            elif name != "output":
                _find_files(one, at)
    elif isinstance(value, list):
        for one in value:
            _find_files(one, at)


def _try(plan: Plan, at: Path) -> None:
    """Refuse a value that the scenario does not take, or a field that it does not have."""
    firsts = {name: one.at(0.0) for name, one in plan.parameters.items()}
    _tried(plan, firsts, "", at)
    for name, one in plan.parameters.items():
        values = one.values or [one.at(0.0), one.at(0.5), one.at(1.0)]
        for value in values[:: -(-len(values) // TRIED)]:
            _tried(plan, firsts | {name: value}, name, at)


def _tried(plan: Plan, values: dict[str, Any], name: str, at: Path) -> None:
    try:
        parse(plan.tables(values, at))
    except InputError as error:
        where = f"parameters.{name}: " if name else ""
        raise InputError(f"{where}{error}") from None
