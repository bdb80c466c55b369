"""What can go wrong, in two kinds: the input is bad, or the run failed."""

from __future__ import annotations

__all__ = ["HardgrainError", "InputError", "RunError"]


class HardgrainError(Exception):
    """Base of all errors raised on purpose; the message is one sentence for the user."""

    exit_code = 1


class InputError(HardgrainError, ValueError):
    """Bad input. The message names the field, the value given and what would be valid."""

    exit_code = 2


class RunError(HardgrainError):
    """The run could not go on: disk full, not a number, sweeps exhausted."""
