"""`import hardgrain` is light: a shell completion or a `--help` must not wait for a compiler."""

import json
import subprocess
import sys

LIMIT = 0.3  # [s]
HEAVY = {"h5py", "llvmlite", "matplotlib", "numba", "scipy"}

SCRIPT = """
import json, sys, time
start = time.perf_counter()
import hardgrain
print(json.dumps([time.perf_counter() - start, sorted(sys.modules)]))
"""


def import_once() -> tuple[float, set[str]]:
    """Seconds that the import takes in a fresh process, and the modules then loaded."""
    out = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    ).stdout
    seconds, modules = json.loads(out)
    return seconds, set(modules)


def test_import_is_light() -> None:
    assert not import_once()[1] & HEAVY


def test_import_is_fast() -> None:
    assert min(import_once()[0] for _ in range(3)) < LIMIT
