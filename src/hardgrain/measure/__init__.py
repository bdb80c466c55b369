"""Quantities of a state or a run."""
