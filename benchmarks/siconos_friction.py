"""Time one of Siconos' friction solvers on a problem file; run by `rigid` with Debian's Python.

Prints one line of JSON, CPU seconds of the solve from zero, and saves the impulses.
"""

import json
import sys
import time

import numpy as np
import siconos.numerics as sn

MOST = 10_000_000  # iterations: the time limit is the caller's


def main(path: str, name: str, tolerance: float, answer: str) -> None:
    problem = sn.frictionContact_new_from_filename(path)
    size = 3 * problem.numberOfContacts
    reaction, velocity = np.zeros(size), np.zeros(size)
    options = sn.SolverOptions(getattr(sn, f"SICONOS_FRICTION_3D_{name}"))
    options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = MOST
    options.dparam[sn.SICONOS_DPARAM_TOL] = tolerance
    start = time.process_time()
    info = sn.fc3d_driver(problem, reaction, velocity, options)
    spent = time.process_time() - start
    np.save(answer, reaction)
    print(json.dumps({"seconds": spent, "info": int(info)}))


main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4])
