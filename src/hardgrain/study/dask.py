"""Points of a study run by the workers of a Dask cluster, one that there is or a new one here.

Dask knows who is free and notices who has died; which points are done is known to the folder alone,
which all workers must see under the same path. A point whose worker died is handed out again.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from hardgrain.errors import InputError, RunError
from hardgrain.extras import needed
from hardgrain.parallel import as_worker, cores, shared_out
from hardgrain.study.event import Event
from hardgrain.study.folder import Folder
from hardgrain.study.local import LOSSES

__all__ = ["LOCAL", "connected", "pmap_on_dask", "run_on_dask", "run_with"]

LOCAL = "local"  # in place of an address: a cluster of processes on this machine
# [1] Points handed out for each worker. One would leave it idle while the answer is on its way.
AHEAD = 2
TIMEOUT = "10s"  # in which a scheduler must answer


def run_on_dask(
    folder: Folder,
    keys: Sequence[str],
    address: str = LOCAL,
    workers: int | None = None,
    retry: bool = False,
) -> Iterator[Event]:
    """Run points, and tell what happens to each."""
    needed("distributed")  # it says how to install it
    with connected(address, workers, len(keys)) as client:
        yield from run_with(client, folder, keys, retry)


def run_with(client: Any, folder: Folder, keys: Sequence[str], retry: bool) -> Iterator[Event]:
    """The same, by the workers of a client."""
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    path, left, lost = str(folder.path.absolute()), deque(keys), Counter[str]()
    running: dict[Any, str] = {}
    done = as_completed(raise_errors=False)

    def hand_out() -> Iterator[Event]:
        room = AHEAD * max(1, sum(client.nthreads().values()))
        while left and len(running) < room:
            key = left.popleft()
            future = client.submit(_work, path, key, retry, pure=False, key=f"{key}-{lost[key]}")
            running[future] = key
            done.add(future)
            yield Event(key, "running")

    yield from hand_out()
    while running:
        future = next(done)
        key = running.pop(future)
        if future.status == "finished":
            state, seconds, why = future.result()
            yield Event(key, state, seconds=seconds, why=why)
        else:
            error = future.exception() if future.status == "error" else None
            if error is not None and not isinstance(error, KilledWorker):
                raise RunError(f"a Dask worker cannot run {folder.path}: {error}")
            lost[key] += 1
            again = lost[key] < LOSSES
            if again:
                left.append(key)
            words = f"{LOSSES} times too many of its workers died"
            yield Event(key, "lost" if again else "given up", why=words)
        future.release()
        yield from hand_out()


@contextmanager
def pmap_on_dask(address: str) -> Iterator[None]:
    """Let the workers of a cluster do what `hardgrain.parallel.pmap` asks for within."""
    needed("distributed")
    from distributed.scheduler import KilledWorker

    with connected(address, None, cores()) as client:

        def by(f: Any, items: list[Any]) -> list[Any]:
            try:
                futures = client.map(partial(as_worker, f), items, pure=False)
                found: list[Any] = client.gather(futures)
            except KilledWorker as error:
                raise RunError(f"workers of Dask died with the same item: {error}") from None
            return found

        with shared_out(by):
            yield


@contextmanager
def connected(address: str, workers: int | None, points: int) -> Iterator[Any]:
    """A client of the scheduler at an address, or of a new cluster here that ends with it."""
    import dask
    from distributed import Client, LocalCluster

    settings = {
        "distributed.scheduler.allowed-failures": LOSSES,
        # set in the workers alone: what is set before they start stays set in this process too
        "distributed.nanny.environ.NUMBA_NUM_THREADS": 1,
        "distributed.comm.timeouts.connect": TIMEOUT,
    }
    with ExitStack() as stack:
        if address == LOCAL:
            stack.enter_context(dask.config.set(settings))
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=max(1, min(workers or cores(), points)),
                    threads_per_worker=1,
                    dashboard_address=None,
                    silence_logs=50,
                )
            )
            yield stack.enter_context(Client(cluster))
            return
        try:
            client = stack.enter_context(Client(address, timeout=TIMEOUT))
        except (OSError, ValueError, ImportError) as error:
            raise InputError(
                f"no Dask scheduler answers at {address}; start one with 'dask scheduler' and give"
                f" the address that it prints, or --dask {LOCAL} ({_first_line(error)})"
            ) from None
        yield client


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:100].rstrip(".")


_known: dict[str, Folder] = {}  # of this worker


def _work(path: str, key: str, retry: bool) -> tuple[str, float, str]:
    """Run a point in a worker; simple things go back, which any version of Dask can send."""
    from hardgrain.study.work import work

    if path not in _known or key not in _known[path].points:  # points may have been added
        _known[path] = Folder.opened(path)
    outcome = work(_known[path], _known[path].points[key], retry=retry)
    return outcome.state, outcome.seconds, outcome.why
