"""Time Siconos' solvers on linear complementarity problems; run by `array` with Debian's Python.

Prints one line of JSON: for every problem and solver the CPU seconds, and how well w = M z + q ≥ 0,
z ≥ 0 and z·w = 0 hold.
"""

import json
import sys
import time

import numpy as np
import siconos.numerics as sn

SOLVERS = {
    "Lemke": sn.SICONOS_LCP_LEMKE,
    "path search": sn.SICONOS_LCP_PATHSEARCH,
    "Newton, Fischer–Burmeister": sn.SICONOS_LCP_NEWTON_FB_FBLSA,
    "Newton, min": sn.SICONOS_LCP_NEWTON_MIN_FBLSA,
}  # the others (Bard, Murty, pivots, LU updates) solve none of these, and some abort


def main(path: str, repeat: int) -> None:
    problems = np.load(path)
    answers: dict[str, dict[str, tuple[float, float]]] = {}
    for name in sorted({key.split("_")[1] for key in problems.files}):
        m, q = problems[f"m_{name}"], problems[f"q_{name}"]
        answers[name] = {}
        for solver, number in SOLVERS.items():
            seconds, z = float("inf"), np.zeros(q.size)
            for _ in range(repeat):
                problem, options = sn.LCP(m.copy(), q.copy()), sn.SolverOptions(number)
                z, w = np.zeros(q.size), np.zeros(q.size)
                start = time.process_time()
                sn.linearComplementarity_driver(problem, z, w, options)
                seconds = min(seconds, time.process_time() - start)
            w = m @ z + q
            error = max(-z.min(), -w.min(), np.abs(z * w).max())
            answers[name][solver] = (seconds, float(error) if np.isfinite(error) else 1e300)
    print(json.dumps(answers))


main(sys.argv[1], int(sys.argv[2]))
