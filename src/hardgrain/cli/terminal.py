"""Care for the terminal: letters that it can show, and Ctrl-C."""

from __future__ import annotations

import codecs
import io
import logging
import os
import signal
import sys
import threading
import unicodedata
from types import FrameType

__all__ = ["Terminal", "tell_of_decisions"]

# Replacements of signs that a terminal cannot show, where Unicode has no simpler form of them.
_PLAIN = {
    "−": "-", "–": "-", "—": "-", "×": "x", "·": "*", "µ": "mu", "μ": "mu", "√": "sqrt", "≤": "<=",
    "≥": ">=", "≪": "<<", "≫": ">>", "≈": "~", "∝": "~", "→": "->", "°": " degrees", "⁄": "/",
    "━": "=", "╌": "-", "τ": "tau", "ω": "omega", "κ": "kappa", "γ": "gamma", "δ": "delta",
    "Δ": "Delta", "‘": "'", "’": "'", "“": '"', "”": '"',
}  # fmt: skip


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """Replace letters that a stream cannot encode by plain ones: −1·10⁻⁶ becomes -1*10-6."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = unicodedata.normalize("NFKD", error.object[error.start : error.end])
    plain = "".join(_PLAIN.get(sign, sign) for sign in text)
    return plain.encode("ascii", "ignore").decode() or "?", error.end


class _Lines(logging.Handler):
    """Writes what is logged to the error stream of the moment, beside a progress line."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr)


def tell_of_decisions(verbose: int) -> None:
    """Show what the package logs: nothing, what a user may want to know, or all of it."""
    log = logging.getLogger("hardgrain")
    log.setLevel((logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)])
    for old in [handler for handler in log.handlers if isinstance(handler, _Lines)]:
        log.removeHandler(old)
    if verbose:
        lines = _Lines()
        lines.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        log.addHandler(lines)


class Terminal:
    """Lets both streams of a command show any text, and Ctrl-C be obeyed to the very end.

    The first Ctrl-C raises KeyboardInterrupt. A second one ends the process at once, since an
    exception might meet compiled code or the end of the program. During a run, the run listens
    itself (`run.interrupt`).
    """

    def __init__(self) -> None:
        self.interrupted = False
        codecs.register_error("plainly", _plainly)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="plainly")
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._interrupt)

    def close(self) -> None:
        """Stop listening to Ctrl-C, since nothing is left to interrupt."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            os.write(2, b"interrupted\n")
            os._exit(130)
        self.interrupted = True
        raise KeyboardInterrupt
