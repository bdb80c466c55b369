"""Packages that an installation may lack, since only some commands need them.

The core runs and draws with what `pip install hardgrain` brings. What needs more asks for it here;
if it is missing, one sentence says which command installs it.
"""

from __future__ import annotations

import importlib
from typing import Any

from hardgrain.errors import InputError

__all__ = ["EXTRAS", "later", "needed"]

# package: what it is needed for, and the extra of pyproject.toml that brings it
EXTRAS = {
    "clarabel": ("finding forces in balance", "forces"),
    "distributed": ("clusters of Dask", "dask"),
    "gsd": ("reading and writing .gsd files", "formats"),
    "h5netcdf": ("writing NetCDF files", "measure"),
    "highspy": ("bounds of contact forces", "forces"),
    "imageio_ffmpeg": ("an .mp4 film", "movie"),
    "meshio": ("reading meshes of grains that deform", "formats"),
    "trimesh": ("reading meshes", "formats"),
    "viser": ("the viewer", "view"),
    "xarray": ("labelled measurements", "measure"),
}


def needed(module: str) -> Any:
    """The module, or an error that says how to install it."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        what, extra = EXTRAS[package]
        raise InputError(
            f"the package {package.replace('_', '-')} is needed for {what} and cannot be imported"
            f" ({error}); install it with: pip install 'hardgrain[{extra}]'"
        ) from None


class later:
    """Stands for a module that is imported when it is first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(needed(self._module), name)
