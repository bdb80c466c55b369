"""What is counted on the way of an array to its steady state."""

import numpy as np
import pytest

from hardgrain.papers.radjai1997.array import evolve
from hardgrain.papers.radjai1997.starts import FIG3, StartPath, follow, path, start

pytestmark = pytest.mark.rounding


@pytest.mark.parametrize("seed", [0, 2, 12])
def test_memory_is_the_rank_of_the_map_from_start_to_end(seed: int) -> None:
    omega, v = start(seed)
    history = evolve(*FIG3, omega, v)
    late = history.time[-1] + 1.0

    def end(y: np.ndarray) -> np.ndarray:
        h = evolve(*FIG3, y[:-1], y[-1])
        wait = late - h.time[-1]
        return np.append(
            h.omega[-1] + wait * h.steady.angular_acceleration,
            h.velocity[-1] + wait * h.steady.acceleration,
        )

    y, step = np.append(omega, v), 1e-6
    jacobian = np.stack(
        [(end(y + step * e) - end(y - step * e)) / (2.0 * step) for e in np.eye(y.size)], axis=1
    )
    values = np.linalg.svd(jacobian, compute_uv=False)
    rank = path(history).remembered[-1]
    assert (values[:rank] > 1e-3).all()
    assert (values[rank:] < 1e-6).all()


def test_energy_is_accounted_for_with_contacts_kept_closed() -> None:
    found = follow(9)
    assert found is not None
    assert found.lost
    assert found.imbalance < 1e-12


def test_stays_and_reversals_of_a_history_by_hand() -> None:
    # first: sticks, slides, sticks for good; second: never sticks, but turns; third: S, NS, S
    states = np.array([[0, 1, 1], [1, -1, 0], [0, -1, 1], [0, 1, 1]], dtype=np.int8)
    none = np.zeros(4)
    p = StartPath(
        np.arange(4.0), none, states, (1, 0, 0), [], False, none.astype(int), none.astype(int), 0.0
    )  # fmt: skip
    assert sorted(zip(p.stays.begun, p.stays.ended)) == [(1, 2), (2, -1)]
    assert list(p.reversals) == [1, 3]
