"""The command line. Each command imports what it needs when it is called."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command ``hardgrain``; every error that we foresee ends in one sentence."""
    import sys

    from hardgrain.cli.app import app
    from hardgrain.errors import HardgrainError

    try:
        app(prog_name="hardgrain")
    except HardgrainError as error:
        print(f"error: {str(error).rstrip('.')}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except MemoryError:
        print("error: the memory of this machine is not enough for this scene", file=sys.stderr)
        sys.exit(1)
