"""What can go wrong: the input is bad, the run failed; or, as warnings, it turns soft or wrong."""

from __future__ import annotations

__all__ = [
    "HardgrainError",
    "ImplausibleRunWarning",
    "InputError",
    "RunError",
    "SoftRunWarning",
]

INTACT = "; the last frame written is intact"  # how the message of a run that failed ends


class HardgrainError(Exception):
    """Base of all errors raised on purpose; the message is one sentence for the user."""

    exit_code = 1


class InputError(HardgrainError, ValueError):
    """Bad input. The message names the field, the value given and what would be valid."""

    exit_code = 2


class RunError(HardgrainError):
    """The run could not go on: disk full, not a number, sweeps exhausted."""


class ImplausibleRunWarning(UserWarning):
    """What the run did cannot have happened: its state is not to be believed."""


class SoftRunWarning(UserWarning):
    """Too few sweeps a step: rigid grains behave as elastic ones."""
