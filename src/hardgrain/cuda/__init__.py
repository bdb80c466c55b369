"""The CUDA backend: steps of round rigid grains, all of them on a GPU.

The physics of a contact is that of `hardgrain.law` and `hardgrain.point`, compiled once more for
the device. `api` is the only place that imports CUDA. A step is a handful of kernels: `search`
(free motion, reaches, candidates as rows), `tiling` (which tile sweeps which contact, in which
inner order), `sweeping` (packs, sweeps, judges), `ledger` (what is told of the step, and the
move). `pairs` makes the pair list anew. `arrays` holds what lives on the device.

Same bits run to run: whole numbers may be counted by atomic additions, which are exact in any
order; floating-point sums run over a fixed number of chunks, each summed as a fixed tree, and are
combined in order, however many blocks the device runs at a time (`grid`).
"""
