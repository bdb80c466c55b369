"""Settings of all tests: kernels compiled once per checkout, the same examples each time."""

import os
import signal
from pathlib import Path

from hypothesis import settings

os.environ.setdefault("HARDGRAIN_CACHE", str(Path(__file__).parents[1] / ".cache"))
os.environ.setdefault("MPLBACKEND", "Agg")

# A shell script that puts the tests into the background lets them ignore Ctrl-C, and with them all
# processes that they start; tests of Ctrl-C need it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: the first example may compile a kernel.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
