"""Every claim of every paper, in the quick version of ``hardgrain reproduce``."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hardgrain.papers import PAPERS
from hardgrain.papers.reproduce import reproduce

pytestmark = pytest.mark.rounding

EXPERIMENTS = {
    "unger2002": [
        "fig4", "dispersion", "relaxation", "pulse", "elasticity", "piston", "piston3d", "cost",
        "criteria", "rigid",
    ],
    "radjai1997": [
        "evolution", "modes", "inertia", "indeterminate", "statics", "coefficients", "methods",
    ],
    "mcnamara2004": [
        "wedge", "dimension", "indeterminacy", "chains", "sampling", "memory", "spheres",
        "friction", "loading",
    ],
}  # fmt: skip

Records = dict[str, Any]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Records]]:
    """The folder of a paper's report and what is in its claims.json, made when first asked for."""

    @cache
    def made(paper: str) -> tuple[Path, Records]:
        folder = tmp_path_factory.mktemp(paper)
        reproduce(paper, folder, quick=True)
        found = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
        return folder, {r["name"]: r for r in found["experiments"]}

    return made


def test_no_paper_is_missing() -> None:
    assert list(EXPERIMENTS) == list(PAPERS)


@pytest.mark.parametrize(
    ("paper", "name"), [(paper, name) for paper, names in EXPERIMENTS.items() for name in names]
)
def test_claims(paper: str, name: str, report: Callable[[str], tuple[Path, Records]]) -> None:
    record = report(paper)[1][name]
    assert record["done"]
    assert record["claims"]
    failed = [c for c in record["claims"] if c["verdict"] == "fails"]
    assert not failed, "\n".join(f"{c['text']}: {c['measured']}, not {c['theory']}" for c in failed)


@pytest.mark.parametrize("paper", EXPERIMENTS)
def test_the_report(paper: str, report: Callable[[str], tuple[Path, Records]]) -> None:
    folder, records = report(paper)
    names = EXPERIMENTS[paper]
    assert list(records) == names
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert f"{len(names)} of {len(names)} experiments done" in page
    for record in records.values():
        assert f'id="{record["name"]}"' in page
        assert record["figures"], record["name"]
        assert record["tables"], record["name"]
        for path in (*record["figures"], *record["tables"]):
            assert path in page
            assert (folder / path).stat().st_size > 0
