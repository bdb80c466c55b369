"""Points of a study run by processes on this machine, one for each core unless told otherwise.

A worker that dies is replaced, and the point that it had goes to the next one, which resumes it. A
point that takes its worker with it again and again, as one that needs more memory than there is,
is given up for this time.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any

from hardgrain.errors import RunError
from hardgrain.parallel import cores
from hardgrain.study.event import Event
from hardgrain.study.folder import Folder

__all__ = ["run_locally"]

# [1] So many workers may die with a point in hand. A point that happens to be hit by kills of other
# causes comes through; one that is itself the cause costs no more than this.
LOSSES = 10
# [1] Workers that die before they have said a word: the installation itself is broken.
STILLBORN = 3


def run_locally(
    folder: Folder, keys: Sequence[str], workers: int | None = None, retry: bool = False
) -> Iterator[Event]:
    """Run points, and tell what happens to each as it happens."""
    count = max(1, min(workers or cores(), len(keys)))
    crew = _Crew(folder, max(1, cores() // count), retry)
    left, lost = deque(keys), Counter[str]()
    try:
        for _ in range(count):
            crew.hire()
        while crew.hands:
            hand, line = crew.news.get()
            if line is None:  # the worker is no more
                crew.dismiss(hand)
                if hand.key is not None:
                    lost[hand.key] += 1
                    again = lost[hand.key] < LOSSES
                    if again:
                        left.appendleft(hand.key)
                    why = f"{LOSSES} workers died with it ({hand.end()})"
                    yield Event(hand.key, "lost" if again else "given up", why=why, pid=hand.pid)
                elif not hand.ready:
                    crew.stillborn += 1
                    if crew.stillborn >= STILLBORN:
                        raise RunError(f"workers end before they begin: {hand.words()}")
                if left:
                    crew.hire()
                continue
            facts = json.loads(line)
            if facts["state"] != "ready":
                yield Event(
                    facts["point"], facts["state"], facts.get("share", 0.0),
                    facts.get("seconds", 0.0), facts.get("why", ""), hand.pid,
                )  # fmt: skip
            if facts["state"] != "running":
                hand.ready, hand.key = True, None
                if left:
                    hand.give(left.popleft())
                    if hand.key is not None:
                        yield Event(hand.key, "running", pid=hand.pid)
                else:
                    hand.let_go()
    finally:
        crew.end()


class _Hand:
    """A worker process, and the point that it has in hand."""

    def __init__(self, folder: Folder, threads: int, retry: bool) -> None:
        environment = os.environ | dict.fromkeys(
            ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"
        )
        environment["NUMBA_NUM_THREADS"] = str(threads)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hardgrain.study.worker", str(folder.path.absolute())]
            + ["--retry"] * retry,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment, encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for us; we end the workers
        )  # fmt: skip
        self.pid = self.process.pid
        self.key: str | None = None
        self.ready = False
        self.said: deque[str] = deque(maxlen=20)  # the last lines that it wrote as errors

    def give(self, key: str) -> None:
        assert self.process.stdin is not None
        self.key = key
        # if it has just died, the news of that will come
        with contextlib.suppress(OSError):
            print(key, file=self.process.stdin, flush=True)

    def let_go(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def words(self) -> str:
        return next((line for line in reversed(self.said) if line.strip()), self.end())

    def end(self) -> str:
        code = self.process.poll()
        if code is not None and code < 0:
            return f"ended by signal {-code}{', as for want of memory' if code == -9 else ''}"
        return f"ended with exit code {code}"


class _Crew:
    """All workers, and what they say, line by line."""

    def __init__(self, folder: Folder, threads: int, retry: bool) -> None:
        self._how: tuple[Any, ...] = (folder, threads, retry)
        self.hands: list[_Hand] = []
        self.news: queue.Queue[tuple[_Hand, str | None]] = queue.Queue()
        self.stillborn = 0

    def hire(self) -> None:
        hand = _Hand(*self._how)
        self.hands.append(hand)
        for listen in (self._hear, self._overhear):
            threading.Thread(target=listen, args=(hand,), daemon=True).start()

    def _hear(self, hand: _Hand) -> None:
        assert hand.process.stdout is not None
        for line in hand.process.stdout:
            if line.endswith("\n"):  # or else its writer was killed within it
                self.news.put((hand, line))
        hand.process.wait()
        self.news.put((hand, None))

    def _overhear(self, hand: _Hand) -> None:
        assert hand.process.stderr is not None
        for line in hand.process.stderr:
            hand.said.append(line.rstrip())

    def dismiss(self, hand: _Hand) -> None:
        self.hands.remove(hand)
        hand.let_go()

    def end(self) -> None:
        """End all that still run: as safe for their files as a kill, and at once."""
        for hand in self.hands:
            hand.process.kill()
        for hand in self.hands:
            hand.process.wait()
