"""Studies: one scenario run for many parameters and seeds, by as many workers as there are.

`spec` is what a study file says, `points` which runs that means, `folder` where they lie and which
are done, `work` how one of them is run; `local`, `dask`, `slurm` and `row` hand points to workers,
`collect` turns all of it into one table, `plot` and `report` show it. `study.Study` is the whole.
"""
