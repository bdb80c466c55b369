"""Settings of all tests: kernels compiled once per checkout, the same examples each time.

The tests are spread over the cores (pytest-xdist). A file goes to one worker as a whole, since its
tests share what they have set up; files whose tests share nothing are spread test by test.
"""

import gc
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("HARDGRAIN_CACHE", str(Path(__file__).parents[1] / ".cache"))
os.environ.setdefault("MPLBACKEND", "Agg")
if "PYTEST_XDIST_WORKER" in os.environ:  # the other cores have workers of their own
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell script that puts the tests into the background lets them ignore Ctrl-C, and with them all
# processes that they start; tests of Ctrl-C need it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: the first example may compile a kernel.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


# ---------------------------------------------------------------------- workers
MEMORY = 2 * 1024**3  # [byte] that a worker may need, with what it starts


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One for each core that has the memory; none for a single file, which would wait for them."""
    from hardgrain.parallel import cores

    if any(arg.partition("::")[0].endswith(".py") for arg in config.args):
        return 0
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if os.name == "posix" else 0
    count = min(cores(), max(1, memory // MEMORY))
    return count if count > 1 else 0


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before there are workers: kernels compiled once, or each would compile the same."""
    config = session.config
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        from .warm import warmed

        warmed()


REPORTS = "tests/validation/test_reports.py"
# These experiments share packings, which the first of them makes.
TOGETHER = {f"mcnamara2004-{name}" for name in (
    "dimension", "indeterminacy", "chains", "sampling", "memory",
)}  # fmt: skip
# Begun first, the longest first of all, or they would be waited for at the end.
LONG = (
    "tests/examples/test_examples.py",
    "tests/determinism/test_resume.py",
    "tests/determinism/test_study.py",
    "tests/browser/test_view.py",
    "tests/unit/test_tiles.py",
    "tests/determinism/test_processes.py",
    "tests/verification/test_soft_shapes.py",
    *(f"{REPORTS}[{name}]" for name in (
        "mcnamara2004", "unger2003-cost", "unger2002-piston", "unger2003-criteria",
        "unger2002-piston3d", "unger2002-dispersion", "radjai1997-modes", "radjai1997-evolution",
        "unger2002-adaptive", "unger2002-elasticity", "radjai1997-methods",
        "radjai1997-coefficients", "unger2002-performance", "mcnamara2004-friction",
        "dacruz2005-rheology", "ohern2003-frictionless", "ohern2003-friction",
        "rothenburg1989-anisotropy", "shaebani2008-flow", "cegeo2012-shear",
        "radjai1997-indeterminate", "radjai1997-statics", "cegeo2012-isotropic",
        "unger2003-parallel", "unger2002-fig4",
    )),
    "tests/verification/test_matrices.py",
    "tests/verification/test_rigid.py",
)  # fmt: skip
# The tests of these share nothing that would be made twice.
APART: tuple[str, ...] = ()


def portion(nodeid: str) -> str:
    """What one worker gets as a whole: an experiment of a paper, a file, or a single test."""
    path, _, test = nodeid.partition("::")
    if path == REPORTS:
        experiment = test.partition("[")[2].removesuffix("]")
        return f"{path}[{'mcnamara2004' if experiment in TOGETHER else experiment}]"
    return nodeid if path in APART else path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class LongestFirst(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return portion(nodeid)

    config.option.loadscopereorder = False  # by the number of tests, which says little
    return LongestFirst(config, log)


def pytest_collection_finish(session: pytest.Session) -> None:
    """All that is there now stays: the garbage collector need not look through it again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a worker: the order in which portions are handed out."""
    if hasattr(config, "workerinput"):
        rank = {name: k for k, name in enumerate(LONG)}
        known = {item: rank.get(portion(item.nodeid), len(LONG)) for item in items}
        items.sort(key=lambda item: (known[item], not item.nodeid.startswith(REPORTS)))
