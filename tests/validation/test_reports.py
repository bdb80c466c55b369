"""Every claim of every paper, in the quick version of ``hardgrain reproduce``."""

import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hardgrain import parallel
from hardgrain.papers import PAPERS
from hardgrain.papers.record import disagreements, read
from hardgrain.papers.reproduce import reproduce

pytestmark = pytest.mark.rounding

RECORDS = Path(__file__).parents[2] / "docs" / "reproductions"  # full runs, kept with the project

EXPERIMENTS = {
    "unger2002": [
        "fig4", "dispersion", "relaxation", "pulse", "elasticity", "adaptive", "piston", "piston3d",
        "performance", "pitfalls", "rigid",
    ],
    "unger2003": ["shock", "parallel", "criteria", "errors", "cost", "lengths"],
    "radjai1997": [
        "evolution", "modes", "inertia", "opening", "indeterminate", "statics", "coefficients",
        "methods", "regularised",
    ],
    "mcnamara2004": [
        "wedge", "dimension", "edges", "indeterminacy", "chains", "sampling", "memory", "spheres",
        "friction", "loading",
    ],
    "cegeo2012": ["isotropic", "shear"],
    "shaebani2008": ["statics", "flow"],
    "dacruz2005": ["rheology"],
    "ohern2003": ["frictionless", "friction"],
    "rothenburg1989": ["anisotropy"],
}  # fmt: skip

Records = dict[str, Any]
Report = Callable[[str, str], tuple[Path, Records]]


every_experiment = pytest.mark.parametrize(
    ("paper", "name"), [(paper, name) for paper, names in EXPERIMENTS.items() for name in names]
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Report]:
    """The folder of an experiment's report and what is in its claims.json, made when asked for.

    Where the tests are spread over the cores, so are the experiments: each on one core.
    """

    @cache
    def made(paper: str, name: str) -> tuple[Path, Records]:
        folder = tmp_path_factory.mktemp(paper)
        reproduce(paper, folder, quick=True, only=[name])
        found = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
        return folder, {r["name"]: r for r in found["experiments"]}

    with pytest.MonkeyPatch.context() as patch:
        if "PYTEST_XDIST_WORKER" in os.environ:
            patch.setattr(parallel, "cores", lambda: 1)
        yield made


def test_no_paper_is_missing() -> None:
    assert list(EXPERIMENTS) == list(PAPERS)


@every_experiment
def test_claims(paper: str, name: str, report: Report) -> None:
    """Theory holds, the paper differs where it is known to, and quick runs agree with full ones."""
    record = report(paper, name)[1][name]
    assert record["done"]
    claims = record["claims"]
    assert claims
    texts = [c["text"] for c in claims]
    assert len(set(texts)) == len(texts)
    surprises = [c["surprise"] for c in claims if c["surprise"]]
    assert not surprises, "\n".join(surprises)
    full = read(RECORDS / paper)[name]
    assert not full["quick"]
    assert not [c["surprise"] for c in full["claims"] if c["surprise"]]
    shared, apart = disagreements(claims, full["claims"])
    assert not apart, "\n".join(apart)
    # a claim that nothing could contradict says nothing
    idle = [c["text"] for c in claims if not any(c["verdict"].values()) and c["text"] not in shared]
    assert not idle, "\n".join(idle)


@every_experiment
def test_the_report(paper: str, name: str, report: Report) -> None:
    folder, records = report(paper, name)
    names = EXPERIMENTS[paper]
    assert list(records) == names
    assert [n for n, r in records.items() if r["done"]] == [name]
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert f"1 of {len(names)} experiments done" in page
    for each in names:
        assert f'id="{each}"' in page
    record = records[name]
    assert record["figures"]
    assert record["tables"]
    for path in (*record["figures"], *record["tables"]):
        assert path in page
        assert (folder / path).stat().st_size > 0
