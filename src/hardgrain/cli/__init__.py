"""The command line. Each command imports what it needs when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hardgrain.cli.terminal import Terminal

__all__ = ["main"]


def main() -> None:
    """Run the command ``hardgrain``; every error that we foresee ends in one sentence."""
    import sys

    from hardgrain.cli.terminal import Terminal

    terminal = Terminal()
    code = _call(terminal)
    try:
        sys.stdout.flush()  # a full disk is noticed here at the latest
    except OSError as error:
        sys.stdout = None  # otherwise Python tries again at exit, with a traceback
        code = code or _say(f"the output: {error.strerror}", 1)
    terminal.close()
    sys.exit(code)


def _call(terminal: Terminal) -> int:
    """Run the command, print what there is to say, and return its exit code."""
    from hardgrain.cli.app import app
    from hardgrain.errors import HardgrainError
    from hardgrain.processes import end_all

    try:
        app(prog_name="hardgrain")
    except SystemExit as end:
        # code 0 is that of a command, such as the viewer, which Ctrl-C ends
        if terminal.interrupted and end.code:
            return _say("interrupted", 130, "")
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        end_all(code, lambda: None)
        return code
    except BaseException as error:
        if terminal.interrupted:  # the interruption may have become any other error on its way
            return _say("interrupted", 130, "")
        if isinstance(error, HardgrainError):
            return _say(str(error).rstrip("."), error.exit_code)
        if isinstance(error, MemoryError):
            return _say("the memory of this machine is not enough for this scene", 1)
        # such as a name too long, a full disk, or a missing permission
        if isinstance(error, OSError):
            name = str(error.filename or "the output")
            name = name if len(name) <= 60 else f"{name[:57]}..."
            return _say(f"{name}: {error.strerror or error}", 2 if error.filename else 1)
        raise
    return 0


def _say(text: str, code: int, kind: str = "error: ") -> int:
    import contextlib
    import sys

    from hardgrain.processes import end_all

    def say() -> None:
        with contextlib.suppress(OSError):
            print(f"{kind}{text}", file=sys.stderr)

    end_all(code, say)
    return code
