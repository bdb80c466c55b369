"""What an executor tells while it has points of a study run."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Event"]


@dataclass(frozen=True)
class Event:
    """Something that happened to a point."""

    key: str
    # running: begun, or some way further; done; failed; busy: another sweep has it; lost: its
    # worker died, it will be resumed; given up: too many of them did
    state: str
    share: float = 0.0  # of the run that is done, from 0 to 1
    seconds: float = 0.0  # that it took, once it is done or failed
    why: str = ""  # it failed or was given up
    pid: int = 0  # of the process that has it, on this machine
