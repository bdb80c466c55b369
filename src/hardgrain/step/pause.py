"""When an engine that makes many steps at a time hands over to Python.

Between two looks of Python all is compiled. What ends such a march is known before it begins: a
number of steps (the next frame, the end of the run), work that keeps the user waiting, grains that
have come to rest, or a look at the contact network that is due. Python judges each of these itself,
after the step at which the march paused; a march that pauses too early costs a little time, and one
that pauses too late would miss the moment.
"""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["MOST_STEPS", "ONE_STEP", "NextLook", "Pause", "look_due"]

# [contact updates] Work after which a march pauses in any case, some hundredths of a second, so
# that Ctrl-C is heard and the progress line lives. If it is smaller, small steps cost more.
WORK = 1e6
# [1] A march has no more steps than this, which bounds the memory of their reports.
MOST_STEPS = 1000


class NextLook(NamedTuple):
    """When it is time to look at the contact network again; work is in contact updates."""

    since: float  # work since the last look
    before: float  # work before it
    known: float  # what the last look cost
    step: float  # work of a step besides its contact updates
    overhead: float  # what a hasty look costs
    candidate: float  # and costs for each contact that could close
    bearing: float  # what a look costs besides for each contact that bears a force
    share: float  # of all work that looks may cost [1]


class Pause(NamedTuple):
    """What ends a march after a step."""

    steps: int = 1  # number of steps at most
    rest_speed: float = -1.0  # speed below which the grains count as at rest
    rest_steps: int = 0  # how many steps in a row must be that slow
    rested: int = 0  # how many in a row were that slow before
    look: NextLook = NextLook(0.0, 0.0, math.inf, 0.0, math.inf, 0.0, 0.0, 1.0)
    work: float = WORK  # contact updates
    strict: bool = False  # whether a step that misses the solver's criterion ends it


ONE_STEP = Pause()


def look_due(look: NextLook, since: float, candidates: float, loaded: float) -> bool:
    """Whether so much work since the last look pays for another one."""
    hasty = look.overhead + look.candidate * candidates
    cost = max(look.known, hasty + look.bearing * loaded)
    return since >= min(cost, max(hasty, 3.0 * look.share * look.before)) / look.share
