"""Solvers of the contact problem: one per file, all with one signature.

``solver.solve(problem, seed=..., step=...) -> Solution``. A `Problem` holds one step's contact
candidates, free velocities and laws; a `Solution` holds velocities, impulses and how it went.
"""
