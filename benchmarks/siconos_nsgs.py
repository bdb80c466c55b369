"""Time Siconos' NSGS on a problem file; run by `against_siconos` with Debian's Python.

Prints one line of JSON: CPU seconds per sweep for every one-contact solver, and the sum of the
normal impulses that each ends with.
"""

import json
import sys
import time

import numpy as np
import siconos.numerics as sn

SOLVERS = {
    "projection": sn.SICONOS_FRICTION_3D_ONECONTACT_ProjectionOnCone,
    "projection, iterated": sn.SICONOS_FRICTION_3D_ONECONTACT_ProjectionOnConeWithLocalIteration,
    "projection, diagonal": sn.SICONOS_FRICTION_3D_ONECONTACT_ProjectionOnConeWithDiagonalization,
    "Newton": sn.SICONOS_FRICTION_3D_ONECONTACT_NSN,
    "Newton, damped": sn.SICONOS_FRICTION_3D_ONECONTACT_NSN_GP,
    "Newton, hybrid (default)": sn.SICONOS_FRICTION_3D_ONECONTACT_NSN_GP_HYBRID,
}  # the quartic one gives NaN on packings
SHORT = 10  # sweeps of the solve that is subtracted


def solve(problem, solver: int, sweeps: int) -> tuple[float, np.ndarray]:
    """CPU time of a solve of exactly that many sweeps, from zero [s], and the impulses."""
    size = 3 * problem.numberOfContacts
    reaction, velocity = np.zeros(size), np.zeros(size)
    options = sn.SolverOptions(sn.SICONOS_FRICTION_3D_NSGS)
    sn.solver_options_update_internal(options, 0, solver)
    options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = sweeps
    options.iparam[sn.SICONOS_FRICTION_3D_IPARAM_ERROR_EVALUATION] = (
        sn.SICONOS_FRICTION_3D_NSGS_ERROR_EVALUATION_LIGHT
    )
    options.dparam[sn.SICONOS_DPARAM_TOL] = 1e-300  # never met
    start = time.process_time()
    sn.fc3d_nsgs(problem, reaction, velocity, options)
    spent = time.process_time() - start
    done = options.iparam[sn.SICONOS_IPARAM_ITER_DONE]
    if done != sweeps:
        raise RuntimeError(f"{done} sweeps in place of {sweeps}")
    return spent, reaction


def main(path: str, sweeps: int, repeat: int) -> None:
    problem = sn.frictionContact_new_from_filename(path)
    seconds, sums = {}, {}
    for name, solver in SOLVERS.items():
        try:
            long = min(solve(problem, solver, sweeps + SHORT)[0] for _ in range(repeat))
            short = min(solve(problem, solver, SHORT)[0] for _ in range(repeat))
            sums[name] = solve(problem, solver, sweeps)[1][::3].sum()
            seconds[name] = (long - short) / sweeps
        except RuntimeError as error:
            print(name, error, file=sys.stderr)
    print(json.dumps({"seconds": seconds, "impulse": sums}))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
