"""A process that runs points of a study, one after the other, as it is told.

    python -m hardgrain.study.worker FOLDER [--retry]

reads the keys of points from its standard input, a line each, and writes a line of JSON for all
that happens: how far the present run is, and what became of it. It ends when its input does: a
parent that is killed leaves no workers behind.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from functools import partial
from typing import Any

__all__ = ["main"]


def main(path: str, retry: bool) -> None:
    told: queue.Queue[str] = queue.Queue()
    out = sys.stdout
    sys.stdout = sys.stderr  # nothing else may come between the lines

    def say(share: float = 0.0, **facts: Any) -> None:
        try:
            print(json.dumps({"share": share, **facts}), file=out, flush=True)
        except OSError:  # nobody listens any more
            os._exit(1)

    def listen() -> None:
        for line in sys.stdin:
            told.put(line.strip())
        os._exit(0)

    from hardgrain.study.folder import Folder
    from hardgrain.study.work import work

    folder = Folder.opened(path)
    points = folder.points
    threading.Thread(target=listen, daemon=True).start()
    say(state="ready")
    while True:
        key = told.get()
        tell = partial(say, point=key, state="running")
        outcome = work(folder, points[key], retry=retry, tell=tell)
        say(point=key, state=outcome.state, seconds=outcome.seconds, why=outcome.why)


if __name__ == "__main__":
    main(sys.argv[1], "--retry" in sys.argv[2:])
