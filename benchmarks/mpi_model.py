"""What a step costs that many processes share: a model of it, fitted to `benchmarks.mpi`.

``python -m benchmarks.mpi_model benchmarks/results/mpi.json [--latency s] [--bandwidth byte/s]
[--picture FILE] [--page docs/many-processes.md]`` prints what was fitted, how well it describes the
runs, and a table of what it foretells of more processes. The derivation is in
docs/many-processes.md; names here are those there. A network between machines has a latency and a
bandwidth of its own, which can be given; without them messages are as fast as those measured.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BEGIN, END = "<!-- written by benchmarks/mpi_model.py -->", "<!-- end of what it wrote -->"
WEAK, STRONG = 62_500, 10**8  # grains of each process, and of all
NUMBERS = 16, 64, 256, 1000, 10_000
Told = dict[str, Any]


@dataclass(frozen=True)
class Network:
    """How long messages take; see the functions of `Model`."""

    latency: float  # α of a message [s]
    bandwidth: float  # β [byte/s]
    meeting: float  # a, of a collective call, times log₂ N [s]
    sharing: float  # b, bytes that all processes add up a second, times log₂ N [byte/s]
    trade: float  # δ, of a call in which each could tell each, times N [s]

    @classmethod
    def fitted(cls, messages: Told) -> Network:
        """Least squares of relative errors, since times span orders of magnitude."""
        pairs, many = messages["pairs"], messages["allreduce"]
        latency, slope = _fitted([(1.0, m["bytes"]) for m in pairs], [m["seconds"] for m in pairs])
        logs = [math.log2(m["processes"]) for m in many]
        meeting, share = _fitted(
            [(x, x * m["bytes"]) for x, m in zip(logs, many, strict=True)],
            [m["seconds"] for m in many],
        )
        (trade,) = _fitted(
            [(m["processes"],) for m in messages["trade"]],
            [m["seconds"] for m in messages["trade"]],
        )
        # two calls, see `benchmarks.mpi_program.messages`
        return cls(latency, 1.0 / slope, meeting, 1.0 / share, 0.5 * trade)


@dataclass(frozen=True)
class Run:
    """The figures of one shared run, of the process that has most to do."""

    number: int  # N processes
    grains: int  # n of all
    contacts: int  # M of all
    uneven: float  # λ, contacts of the busiest process relative to the mean
    bytes: float  # B that a process sends in a sweep
    messages: float  # k that it sends in a sweep
    stages: int  # calls of kernels in a sweep
    tiles: int
    sweeps: int
    collectives: float  # calls in a step
    trades: float
    added: float  # bytes of arrays that all add up in a step, a few numbers for each tile
    working: float = 0.0  # measured: time of a step outside of MPI [s]
    seconds: float = 0.0  # measured: of a step [s]

    @classmethod
    def of(cls, told: Told) -> Run:
        each = told["processes"]
        contacts = [one["contacts"] for one in each]
        most = {name: max(one[name] for one in each) for name in each[0]}
        return cls(
            told["number"], told["grains"], told["contacts"],
            max(contacts) * len(contacts) / sum(contacts), most["sweep_bytes"],
            most["sweep_messages"], 2 * 2 ** told["axes"], told["tiles"], told["sweeps"],
            most["collectives"], most["trades"], most["added_bytes"],
            most["working"], most["seconds"],
        )  # fmt: skip

    def larger(self, number: int, grains: float) -> Run:
        """As it would be with other numbers of processes and grains, on the same floor.

        Processes have patches of the floor, whose edge grows as the root of their grains.
        """
        share = (grains / number) / (self.grains / self.number)
        size = grains / self.grains
        return replace(
            self, number=number, grains=int(grains), contacts=int(size * self.contacts),
            bytes=self.bytes * math.sqrt(share), tiles=int(size * self.tiles),
            added=size * self.added,
        )  # fmt: skip


@dataclass(frozen=True)
class Parts:
    """What a step is made of [s]."""

    work: float
    stages: float
    messages: float
    collectives: float
    trades: float
    waiting: float

    @property
    def total(self) -> float:
        return sum(vars(self).values())


@dataclass(frozen=True)
class Model:
    """Work, messages and memory of a step."""

    work: dict[int, float]  # w of a contact in a step, by the number of busy cores [s]
    stage: float  # h of a call of a kernel, however few contacts it has [s]
    wait: float  # ω that a process waits for its neighbours in each colour of each sweep [s]
    network: Network
    base: Run  # the run with most processes, of which others are scaled
    memory: tuple[float, float, float]  # of a process: of each own grain, tile, grain of all [byte]

    @classmethod
    def fitted(cls, told: Told) -> Model:
        runs = told["runs"].values()
        work = {
            one["number"]: _mean([p["seconds"] for p in one["processes"]]) / one["contacts"]
            for one in sorted(runs, key=lambda one: -one["grains"])
            if one["kind"] == "copies"
        }
        kept = [one for one in runs if one["kind"] == "shared"]
        if not kept or not work or not told["messages"]:
            raise SystemExit("the file lacks runs: it needs those of weak scaling, and messages")
        shared = [Run.of(one) for one in kept]
        base = max(shared, key=lambda run: (run.number, run.grains))
        bare = cls(work, 0.0, 0.0, Network.fitted(told["messages"]), base, _memory(kept))
        left = [max(run.working - bare.parts(run).work, 0.0) for run in shared]
        (stage,) = _fitted([(float(run.stages * run.sweeps),) for run in shared], left, plain=True)
        some = replace(bare, stage=stage)
        left = [max(run.seconds - some.parts(run).total, 0.0) for run in shared]
        (wait,) = _fitted([(0.5 * run.stages * run.sweeps,) for run in shared], left, plain=True)
        return replace(some, wait=wait)

    def seconds_of_contact(self, number: int) -> float:
        """w where so many cores of a machine are busy; of more, as of all."""
        return self.work[max((n for n in self.work if n <= number), default=min(self.work))]

    def parts(self, run: Run) -> Parts:
        """The time of a step, by what it goes into."""
        net, log = self.network, math.log2(run.number)
        share = run.uneven * run.contacts / run.number
        return Parts(
            work=self.seconds_of_contact(run.number) * share,
            stages=self.stage * run.stages * run.sweeps,
            messages=run.sweeps * (run.messages * net.latency + run.bytes / net.bandwidth),
            collectives=log * (run.collectives * net.meeting + run.added / net.sharing),
            trades=run.trades * net.trade * run.number,
            waiting=self.wait * 0.5 * run.stages * run.sweeps,
        )

    def efficiency(self, run: Run) -> float:
        """Speed relative to as many processes that share nothing, and are as busy."""
        ideal = self.seconds_of_contact(run.number) * run.contacts / run.number
        return ideal / self.parts(run).total

    def bytes(self, run: Run) -> tuple[float, float]:
        """Memory of the first process, and of each other one, besides code [byte]."""
        own, tile, every = self.memory
        other = own * run.grains / run.number + tile * run.tiles
        return other + every * run.grains, other


def _memory(kept: Sequence[Told]) -> tuple[float, float, float]:
    """Bytes of each own grain, of each tile, and in the first process of each grain of all.

    Tables of tiles are counted, since they are small in runs of some 10⁶ grains: neighbours of 4
    bytes each, and ten numbers of 8 bytes.
    """
    last = max(kept, key=lambda one: (one["number"], one["grains"]))
    tile = 4.0 * 3 ** last["axes"] + 80.0
    grown = [one["memory"] - one["memory_before"] for one in last["processes"]]
    own = max(one["own_grains"] for one in last["processes"])
    other = max(max(grown[1:]) - tile * last["tiles"], 0.0) / own
    first = max(grown[0] - max(grown[1:]), 0.0) / last["grains"]
    return other, tile, first


def _fitted(
    columns: Sequence[Sequence[float]], values: Sequence[float], plain: bool = False
) -> NDArray[np.float64]:
    """Coefficients of least squares, none negative; unless plain, of relative errors."""
    from scipy.optimize import nnls

    a, b = np.array(columns, np.float64), np.array(values, np.float64)
    if not plain:
        a, b = a / b[:, None], np.ones_like(b)
    scale = np.abs(a).max(axis=0)
    found = nnls(a / scale, b)[0] / scale
    return np.where(found > 0.0, found, np.finfo(np.float64).tiny) if not plain else found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


# ---------------------------------------------------------------------- what is told
def told_of(model: Model, runs: Sequence[Run]) -> str:
    """What was fitted, how it describes the runs, and what it foretells, as Markdown."""
    net, base = model.network, model.base
    lines = [
        f"Fitted: α = {1e6 * net.latency:.3g} µs, β = {net.bandwidth / 1e9:.3g} GB/s,"
        f" a = {1e6 * net.meeting:.3g} µs, b = {net.sharing / 1e9:.3g} GB/s,"
        f" δ = {1e6 * net.trade:.3g} µs, h = {1e6 * model.stage:.3g} µs,"
        f" ω = {1e6 * model.wait:.3g} µs;"
        f" w = {1e9 * model.seconds_of_contact(1) / base.sweeps:.3g} ns of a contact and sweep on"
        f" one busy core, {1e9 * model.seconds_of_contact(base.number) / base.sweeps:.3g} on"
        f" {base.number}; λ = {base.uneven:.3g}.",
        "",
        "| processes | grains | a step, measured [s] | by the model [s] | work | stages |"
        " messages | collectives | waiting |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for run in sorted(runs, key=lambda run: (run.number, run.grains)):
        p = model.parts(run)
        rest = p.collectives + p.trades
        lines.append(
            f"| {run.number} | {run.grains} | {run.seconds:.3g} | {p.total:.3g} | {p.work:.3g} |"
            f" {p.stages:.3g} | {p.messages:.2g} | {rest:.2g} | {p.waiting:.2g} |"
        )
    lines += [
        "",
        "| processes | grains | a step [s] | efficiency | messages, collectives, trades [s] |"
        " a process [GB] | the first one [GB] |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for run in foretold(base):
        p, (first, other) = model.parts(run), model.bytes(run)
        lines.append(
            f"| {run.number} | {run.grains:.3g} | {p.total:.3g} | {model.efficiency(run):.2f} |"
            f" {p.messages:.2g}, {p.collectives:.2g}, {p.trades:.2g} | {other / 1e9:.2g} |"
            f" {first / 1e9:.3g} |"
        )
    return "\n".join(lines)


def foretold(base: Run) -> list[Run]:
    """Runs with as many grains in each process, and with as many in all."""
    weak = [base.larger(number, number * WEAK) for number in NUMBERS]
    return weak + [
        base.larger(number, STRONG) for number in NUMBERS if STRONG / number >= WEAK / 10
    ]


def draw(model: Model, runs: Sequence[Run], path: Path) -> None:
    """Efficiency against the number of processes: what was measured, and what is foretold."""
    from hardgrain.show.style import COLOURS, new_figure, save, style

    with style():
        figure, axes = new_figure()
        many = np.unique(np.geomspace(2, 10_000, 60).astype(int))
        for k, (name, size) in enumerate((("of each", None), ("of all", STRONG))):
            at = [n for n in many if size is None or size / n >= WEAK / 10]
            line = [model.efficiency(model.base.larger(n, size or n * WEAK)) for n in at]
            axes.plot(at, line, color=COLOURS[1 + k], label=f"{size or WEAK:.3g} grains {name}")
        for run in runs:
            ideal = model.seconds_of_contact(run.number) * run.contacts / run.number
            axes.plot(run.number, ideal / run.seconds, "o", color=COLOURS[0])
        axes.set(xscale="log", xlabel="processes", ylabel="efficiency", ylim=(0.0, 1.05))
        axes.legend(frameon=False, loc="lower left")
        save(figure, path)


def written(text: str, page: Path) -> None:
    """Put a text into a page, between two marks."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{page} lacks the lines {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mpi_model")
    parser.add_argument("file", type=Path, help="mpi.json, as `python -m benchmarks mpi` writes it")
    parser.add_argument("--latency", type=float, help="of a message in another network [s]")
    parser.add_argument("--bandwidth", type=float, help="of another network [byte/s]")
    parser.add_argument("--picture", type=Path, help="where to draw the efficiency")
    parser.add_argument("--page", type=Path, help="a page with the two marks, to write tables into")
    options = parser.parse_args(given)
    told = json.loads(options.file.read_text())
    model = Model.fitted(told)
    runs = [Run.of(one) for one in told["runs"].values() if one["kind"] == "shared"]
    text = told_of(model, runs)
    slower = in_network(model, options.latency, options.bandwidth)
    if slower != model:
        text += "\n\nIn the other network:\n\n" + told_of(slower, ()).split("\n\n")[-1]
    print(text)
    if options.page is not None:
        written(text, options.page)
    if options.picture is not None:
        draw(slower, runs, options.picture)
    return 0


def in_network(model: Model, latency: float | None, bandwidth: float | None) -> Model:
    """The same model with messages through another network, which adds its latency to ours."""
    net = model.network
    if latency is not None:
        more = {"latency": net.latency + latency, "meeting": net.meeting + latency}
        net = replace(net, **more, trade=net.trade + latency)
    if bandwidth is not None:
        slow = min(net.bandwidth, bandwidth), min(net.sharing, bandwidth)
        net = replace(net, bandwidth=slow[0], sharing=slow[1])
    return replace(model, network=net)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
