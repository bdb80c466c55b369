"""Malformed scenarios and files: each is built or refused in one sentence, and soon."""

import random

import pytest

import hardgrain as hg
from hardgrain.cli import starter

from ..fuzz.scenarios import BASES, JUNK, attempt, malformed

CASES, EACH = 10, 25  # the whole: python tests/fuzz/scenarios.py 100000


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    for base in BASES:
        assert attempt(base) == "ran"


@pytest.mark.parametrize("case", range(CASES))
def test_malformed_scenarios(case):
    for seed in range(case * EACH, (case + 1) * EACH):
        try:
            attempt(malformed(seed))
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


def test_junk_tables():
    rng = random.Random(1)
    words = ["dt", "scene", "solver", "stop", "gravity", "walls", "grains", "", "é", "\0"]
    for _ in range(100):
        data = {rng.choice(words): rng.choice(JUNK) for _ in range(rng.randint(0, 4))}
        attempt(data)
        attempt({**BASES[0], **data})
        attempt({**BASES[0], "scene": {**BASES[0]["scene"], **data}})


def test_junk_files(tmp_path):
    rng = random.Random(2)
    path = tmp_path / "a.toml"
    for _ in range(200):
        text = rng.choice([starter.text("silo"), "dt = 1\n"]).encode()
        cut = rng.randint(0, 400)
        path.write_bytes(text[:cut] + rng.randbytes(rng.randint(0, 20)) + text[cut + 5 :])
        said = ""
        try:
            hg.load(path)
        except hg.InputError as error:
            said = str(error)
        assert "\n" not in said
