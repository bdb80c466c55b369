"""The iterative solver of contact dynamics: nonlinear Gauss–Seidel on body velocities.

Every contact in turn is given the impulse that its law asks for while all other impulses are held
fixed, and the velocities of its two bodies change at once (review, "Many contacts"). No matrix is
assembled, and an update costs the same however many contacts there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hardgrain.scene._base import Count
from hardgrain.solve.iterative import IterativeSolver, relax, relax_in_tiles, sweeping
from hardgrain.solve.problem import Ints, Problem, Solution
from hardgrain.theory import chain

if TYPE_CHECKING:
    from hardgrain.point.sweeping import Sweeping
    from hardgrain.solve.matrices import GlobalForm, LocalForm, MatrixSolution

__all__ = ["GaussSeidel"]


class GaussSeidel(IterativeSolver):
    """Updates contact after contact, in one of several orders.

    The order is random, drawn, sequential, symmetric, coloured or tiles. By default a run has
    ``random``, and ``tiles`` if it has 50 000 grains or more or is made on a GPU. ``random``
    visits each contact once a sweep, ``drawn`` draws every visit anew (`point.order`). ``coloured``
    and ``tiles`` run on ``threads`` cores (default: all) and give the same bits for any number of
    them. ``tiles`` cuts space into tiles, visits these and the contacts in each in an order drawn
    anew for each sweep, and shares all of the step among the cores: the fastest choice for large
    scenes, even on one core (`point.tiles`). Problems given as matrices know no space; there it
    means ``coloured``.
    """

    kind: Literal["gauss-seidel"] = "gauss-seidel"
    # in which order contacts are visited; default: tiles if grains are many, see above
    order: Literal["random", "drawn", "sequential", "symmetric", "coloured", "tiles"] = "random"
    threads: Count | None = None  # cores for the coloured order and for tiles [1]; default: all

    @property
    def q(self) -> float:
        # A symmetric sweep begins with the contacts that the last one ended with. In a chain that
        # does not matter. In packings, where neighbours in the list need not be neighbours in
        # space, it costs two fifths: 0.55 to 0.64 was measured (and 0.75 to 0.78 in random, 0.96 to
        # 0.98 in sequential order).
        return 0.6 if self.order == "symmetric" else chain.Q[self.order]

    def sweeping(self, dt: float, seed: int) -> Sweeping | None:
        own = type(self)._solve is GaussSeidel._solve and type(self).solve is IterativeSolver.solve
        if self.order in ("coloured", "tiles") or self.unbalanced is not None or not own:
            return None
        return sweeping(self, self.order, seed, dt)

    def _solve(
        self, problem: Problem | GlobalForm | LocalForm, seed: int, step: int
    ) -> Solution | MatrixSolution:
        if self.order not in ("coloured", "tiles"):
            return relax(self, problem, seed, step, scheme=self.order)
        with self.cores():
            if isinstance(problem, Problem) and self.order == "tiles":
                return relax_in_tiles(self, problem, seed, step)
            order, starts = _colours(problem)
            return relax(self, problem, seed, step, stored=order, starts=starts)


def _colours(problem: Problem | GlobalForm | LocalForm) -> tuple[Ints, Ints]:
    """Contacts sorted by colour, and where each colour starts."""
    if isinstance(problem, Problem):
        from hardgrain.cpu.order import colour

        movable = problem.inv_mass.max(axis=1) + problem.inv_inertia.max(axis=1)
        return colour(problem.first, problem.second, movable)
    from hardgrain.solve.blocks import by_colour

    return by_colour(problem.local())
