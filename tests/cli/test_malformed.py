"""Hundreds of malformed scenarios: each is built or refused in one sentence, and soon."""

import copy
import time
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hardgrain as hg
from hardgrain.cli import starter
from hardgrain.run.scenario import parse

SLOWEST = 60.0  # [s] of the processor, a thousand times what a scenario takes once compiled
BASES = [
    tomllib.loads((Path(__file__).parent / "scenario.toml").read_text()),
    *(tomllib.loads(starter.text(name)) for name in ("biaxial", "drum", "incline", "silo")),
]

JUNK = st.one_of(
    st.sampled_from(
        [
            0, -1, 1, 2, 3, 10**8, 10**30, -(10**30), 0.0, -0.0, 1e-300, -1e-300, 1e300, -1e300,
            1e-9, 1e9, float("nan"), float("inf"), -float("inf"), True, False, "", "t", "1/t",
            "9**9**9", "__import__('os')", "(" * 300, "x", "é\x00", [], [[]], {}, [1], [1, 2],
            [1, 2, 3], [1.0, -1e300], [float("nan")] * 2, {"kind": "plane"}, {"kind": "grid"},
            {"kind": []}, {"": {}}, {"a": 1},
        ]
    ),
    st.floats(), st.integers(), st.text(max_size=8), st.lists(st.floats(), max_size=4),
)  # fmt: skip


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a nested table."""
    keys = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        yield data, key
        yield from places(data[key])


def delete(container: Any, key: Any, draw: Any) -> None:
    del container[key]


def replace(container: Any, key: Any, draw: Any) -> None:
    container[key] = copy.deepcopy(draw(JUNK))


def scale(container: Any, key: Any, draw: Any) -> None:
    if isinstance(container[key], int | float):
        container[key] *= draw(st.sampled_from([-1, 0, 1e-12, 1e-3, 1e3, 1e12, 1e200]))


def misspell(container: Any, key: Any, draw: Any) -> None:
    if isinstance(container, dict):
        at = draw(st.integers(0, len(key)))
        container[key[:at] + draw(st.sampled_from("aez_ ")) + key[at:]] = container.pop(key)


def change_length(container: Any, key: Any, draw: Any) -> None:
    value = container[key]
    if isinstance(value, list):
        if value and draw(st.booleans()):
            value.pop()
        else:
            value.append(copy.deepcopy(value[-1]) if value else 1.0)


def wrap(container: Any, key: Any, draw: Any) -> None:
    container[key] = [container[key]] if draw(st.booleans()) else {"kind": container[key]}


MUTATIONS = (delete, replace, replace, scale, misspell, change_length, wrap)


@st.composite
def malformed(draw: Any) -> dict[str, Any]:
    """A valid scenario with one to three things wrong."""
    data: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(BASES)))
    for _ in range(draw(st.integers(1, 3))):
        found = list(places(data))
        if found:
            draw(st.sampled_from(MUTATIONS))(*draw(st.sampled_from(found)), draw)
    return data


def try_it(data: dict[str, Any]) -> None:
    """Build what can be built; nothing but our own errors may come out."""
    start, said = time.process_time(), ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            hg.Simulation(parse(data))
        except hg.InputError as error:
            said = str(error)
    assert "\n" not in said
    assert len(said) < 600
    assert time.process_time() - start < SLOWEST


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    for base in BASES:
        hg.Simulation(parse(base))


@settings(max_examples=500, suppress_health_check=list(HealthCheck))
@given(malformed())
def test_malformed_scenarios(data):
    try_it(data)


@settings(max_examples=100)
@given(st.dictionaries(st.text(max_size=5), JUNK, max_size=4))
def test_junk_tables(data):
    try_it(data)
    try_it({**BASES[0], **data})
    try_it({**BASES[0], "scene": {**BASES[0]["scene"], **data}})


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(cut=st.integers(0, 400), junk=st.binary(max_size=20), starter_text=st.booleans())
def test_junk_files(cut, junk, starter_text, tmp_path_factory):
    text = (starter.text("silo") if starter_text else "dt = 1\n").encode()
    path = tmp_path_factory.mktemp("junk") / "a.toml"
    path.write_bytes(text[:cut] + junk + text[cut + 5 :])
    said = ""
    try:
        hg.load(path)
    except hg.InputError as error:
        said = str(error)
    assert "\n" not in said
