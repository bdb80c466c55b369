"""Grains, walls, materials and their preparation: validated, immutable.

A `Scene` is what a user writes (in Python or TOML). `Scene.build` turns it into a `Model`, flat
arrays that never change during a run, and the first `State`, whose arrays do change.
"""
