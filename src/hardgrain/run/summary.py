"""The closing summary of a run: what it did, and how far it can be trusted."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from textwrap import fill
from typing import Any

from hardgrain.core.brief import html_table
from hardgrain.measure.rigidity import CONVERGED, Rigidity
from hardgrain.run.exchange import Flow
from hardgrain.run.unique import Uniqueness
from hardgrain.step.report import Pace, Softness, StepReport

__all__ = ["CONVERGED", "OVERLAP", "Summary", "Totals"]

# [smaller diameter] A larger overlap is worth a warning. If it is smaller, nearly all runs of
# coarse steps are warned of; if it is larger, visible overlaps are passed over.
OVERLAP = 0.01
# [1] Strain beyond which what linear elasticity leaves out, its square, is more than a tenth of it.
SMALL = 0.1

WIDTH = 100  # [characters] length of a printed line


@dataclass
class Totals(Flow):
    """Sums over all steps of a run; kept in every frame so that a resumed run goes on with them."""

    kinetic_start: float = 0.0
    elastic_start: float = 0.0
    work_external: float = 0.0
    work_driven: float = 0.0
    dissipated: float = 0.0
    created: float = 0.0
    steps: float = 0.0  # number of steps with contacts
    sweeps: float = 0.0
    capped: float = 0.0  # steps that missed the solver's criterion
    unsettled: float = 0.0  # steps that did not find the geometry at their end
    loose: float = 0.0  # steps that ended with a residual above CONVERGED
    worst_overlap: float = 0.0  # [length]
    worst_residual: float = 0.0
    fastest: float = 0.0
    deepest: float = 0.0  # worst overlap relative to the smaller grain's diameter
    # These judge whether a run is plausible, see run.plausible.
    overlap_start: float = 0.0  # overlap of the first state [smaller diameter]
    pace: float = 0.0  # speed at the start and sum of what loads added to it
    driven: float = 0.0  # largest prescribed speed
    kicked: float = 0.0  # energy that loads would have given in each step without contacts

    def add(self, report: StepReport, pace: Pace, mass: float, pushes: float) -> None:
        """Add a step of grains with the given total mass, some of which were pushed apart."""
        self.work_external += report.work_external
        self.work_driven += report.work_driven
        self.dissipated += report.dissipated
        self.created += report.created
        self.steps += report.sweeps > 0
        self.sweeps += report.sweeps
        self.capped += not report.converged
        self.unsettled += not report.settled
        self.loose += report.residual > CONVERGED
        self.worst_overlap = max(self.worst_overlap, report.worst_overlap)
        self.worst_residual = max(self.worst_residual, report.residual)
        self.fastest = max(self.fastest, report.fastest)
        self.deepest = max(self.deepest, report.deepest)
        self.pace += pace.loads
        self.kicked += 0.5 * mass * pace.loads**2
        self.pace += pushes
        self.driven = max(self.driven, pace.driven)


@dataclass(frozen=True)
class Summary:
    """All the figures of the closing summary; ``str()`` of it is what the command line prints."""

    ended: str  # why the run ended
    finished: bool  # a stop condition was met
    steps: int
    time: float
    grains: int
    contacts: int  # number of contacts that bear a force at the end
    criterion: str
    residual: float  # residual of the last step
    worst_residual: float
    capped: int
    unsettled: int
    loose: int  # steps with a residual above CONVERGED
    rigidity: Rigidity | None  # None for soft particles
    implausible: str | None  # what cannot have happened, see run.plausible; None: nothing
    worst_overlap: float  # over the run and at its end, relative to the smaller grain's diameter
    mean_overlap: float  # mean overlap of the last step [mean diameter]
    kinetic_start: float
    elastic_start: float
    kinetic: float
    elastic: float
    work_external: float
    work_driven: float
    dissipated: float
    created: float
    seconds: dict[str, float] = field(default_factory=dict)
    compile_seconds: float = 0.0
    updates: float = 0.0  # work that this process made, see ``counts``
    computed_on: str = ""  # what made the steps of this process: cores, or the name of a GPU
    output: str | None = None
    softness: Softness | None = None  # None for rigid grains
    counts: str = "contact updates"  # what ``updates`` are
    strain: float | None = None  # largest of deformable grains at the end [1]; None: there are none
    unique: Uniqueness | None = None  # None if the run is not at rest or has no contacts
    warnings: tuple[str, ...] = ()
    flow: Flow = field(
        default_factory=Flow
    )  # grains that came and went, with what they brought and took
    waiting: int = 0  # grains that were due at the end, but had found no room
    removed_by: dict[str, int] = field(default_factory=dict)  # grains that each removal took out

    @property
    def balance_error(self) -> float:
        """Energy that the ledger cannot account for: rounding, or the error of explicit steps."""
        return (
            self.kinetic
            + self.elastic
            - self.kinetic_start
            - self.elastic_start
            - self.work_external
            - self.work_driven
            + self.dissipated
            - self.flow.kinetic_inserted
            + self.flow.kinetic_removed
            + self.flow.elastic_removed
        )

    @property
    def rigid(self) -> bool:
        """Whether grains were rigid, in a run that is plausible at all."""
        return self.rigidity is not None and self.rigidity.rigid and self.implausible is None

    @property
    def updates_per_second(self) -> float:
        """Work as it is counted (``counts``) per second of solver time."""
        solve = self.seconds.get("solve", 0.0)
        return self.updates / solve if solve > 0.0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return {
            **asdict(self),
            "balance_error": self.balance_error,
            "updates_per_second": self.updates_per_second,
            "rigid": self.rigid,
            "plausible": self.implausible is None,
            "sound_speed": None if self.rigidity is None else self.rigidity.sound_speed,
            "unique": self.unique and _counted(self.unique),
        }

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The lines of the summary, by name."""
        r = self.rigidity
        missed = "reached the cap on sweeps" if r is None or not r.at_once else "missed it"
        cap = f"; {self.capped} steps {missed}" if self.capped else ""
        if self.unsettled:
            cap += f"; {self.unsettled} steps did not find the geometry at their end"
        converged = "yes" if self.loose == 0 else f"NO in {self.loose} of {self.steps} steps"
        if self.loose == 0 and r is not None and not r.rigid and r.length > 0.0:
            converged = "yes at every contact, but NOT in the longest wave (see rigid?)"
        rigid = "" if r is None else f"{'yes' if r.rigid else 'NO, soft'}: {r.why}"
        plausible = "yes: overlaps, speeds and energy are such as loads and laws allow"
        if self.implausible is not None:
            plausible = f"NO: {self.implausible}"
            converged = "in doubt, see plausible?"
            rigid = "in doubt, see plausible?"
        elif self.worst_overlap > OVERLAP:
            plausible = (
                f"yes, but for overlaps: up to {self.worst_overlap:.2g} of the smaller grain's"
                " diameter"
            )
        trust = (
            f"{converged}: {self.criterion}, residual {self.residual:.2g} in the last step,"
            f" {self.worst_residual:.2g} at worst (converged: {CONVERGED:g}){cap}"
        )
        elastic_start, elastic, bearing = "", "", "contacts that bear a force"
        if (soft := self.softness) is not None:
            trust = f"nothing to iterate: {soft.word}"
            rigid = (
                f"no, soft by choice: stiffness {soft.stiffness:g}, mean overlap"
                f" {self.mean_overlap:.2g} mean diameters"
            )
            elastic_start = f" + {self.elastic_start:.6g} elastic"
            elastic = f" kinetic + {self.elastic:.3g} elastic"
        if self.counts == "collisions":
            trust = "nothing to iterate: each collision has a closed form"
            rigid = "yes: grains touch in collisions alone, which take no time"
            bearing = "collisions in the last step"
        if self.strain is not None:
            wide = "" if self.strain <= SMALL else ", too large for linear elasticity"
            rigid = f"no, elastic by choice: largest strain {self.strain:.2g} at the end{wide}"
            elastic_start = f" + {self.elastic_start:.6g} elastic"
            elastic = f" kinetic + {self.elastic:.3g} elastic"
        came, went = self.flow.kinetic_inserted, self.flow.kinetic_removed
        went += self.flow.elastic_removed
        carried = f" + {came:.6g} brought in − {went:.6g} taken out by grains"
        if self.flow.inserted == self.flow.removed == 0.0:
            carried = ""
        total = sum(self.seconds.values())
        phases = ", ".join(f"{name} {t:.3g} s" for name, t in self.seconds.items())
        on = f" on {self.computed_on}" if self.computed_on else ""
        lines = [
            ("ended", f"{self.ended} after {self.steps} steps, time {self.time:.6g}"),
            ("grains", f"{self.grains}, with {self.contacts} {bearing}"),
            ("converged?", trust),
            ("rigid?", rigid),
            ("plausible?", plausible),
            (
                "overlap",
                f"worst {self.worst_overlap:.2g} of the smaller grain's diameter, mean"
                f" {self.mean_overlap:.2g} mean diameters",
            ),
            (
                "energy",
                f"{self.kinetic_start:.6g} kinetic{elastic_start} at the start +"
                f" {self.work_external:.6g} external work + {self.work_driven:.6g} by driven bodies"
                f" − {self.dissipated:.6g} dissipated{carried} ="
                f" {self.kinetic:.3g}{elastic} at the end (error {self.balance_error:.1g})",
            ),
        ]
        if self.seconds:  # the times of a run that is only read are not known
            lines.append(
                (
                    "time spent",
                    f"{total:.3g} s ({phases}); {self.updates_per_second / 1e6:.3g} million"
                    f" {self.counts} a second{on}; compiling {self.compile_seconds:.3g} s",
                )
            )
        if self.unique is not None:
            how = f"; see hardgrain forces {self.output}" if self.output else ""
            how = "" if self.unique.verdict == "yes" or self.unique.unknown else how
            lines.insert(4, ("unique?", f"{self.unique}{how}"))
        if r is not None and not (r.rigid or r.at_once) and self.implausible is None:
            lines.insert(4, ("softness", r.sound))
        if self.removed_by or self.waiting or self.flow.inserted or self.flow.removed:
            lines.insert(2, ("came, went", self._traffic()))
        if self.output:
            lines.append(("written", self.output))
        lines.extend(("warning", text) for text in self.warnings)
        return lines

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table("Summary", self.lines)

    def _traffic(self) -> str:
        """Words on the grains that came in and went out."""
        f = self.flow
        late = f", of which {f.waited:.0f} had waited for room" if f.waited else ""
        still = f"; {self.waiting} more wait for room" if self.waiting else ""
        by = ", ".join(f"{count} by {name!r}" for name, count in self.removed_by.items())
        return (
            f"{f.inserted:.0f} came in with the mass {f.mass_inserted:.6g}{late}{still};"
            f" {f.removed:.0f} were taken out with {f.mass_removed:.6g}{f' ({by})' if by else ''}"
        )

    def __str__(self) -> str:
        return "\n".join(
            fill(
                text, WIDTH, initial_indent=f"{name + ':':<12} ", subsequent_indent=" " * 13,
                break_long_words=False, break_on_hyphens=False,
            )
            for name, text in self.lines
        )  # fmt: skip


def _counted(unique: Uniqueness) -> dict[str, Any]:
    """Figures and answers of a count of forces."""
    answers = {"verdict": unique.verdict, "resultants": unique.resultants}
    return asdict(unique) | answers
