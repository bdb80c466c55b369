"""A study as a project of row (github.com/glotzerlab/row), which submits jobs to schedulers.

row finds the directories of a workspace, reads a value of each from a JSON file, and submits the
action for those that lack its product. So the folders of all points are made, each with its
parameters.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from hardgrain.errors import RunError
from hardgrain.io.json_text import json_text
from hardgrain.show.page import write_whole
from hardgrain.show.toml import value_text
from hardgrain.study.folder import Folder

__all__ = ["write_workflow"]

_WORKFLOW = """# Made by hardgrain sweep --row. In this folder: row show status; row submit
[workspace]
path = "points"
value_file = "point.json"

[[action]]
name = "run"
command = {command}
products = ["summary.json"]

[action.resources]
processes.per_directory = 1
walltime.per_directory = "{walltime}"
"""


def write_workflow(folder: Folder, walltime: str = "01:00:00") -> Path:
    """Write ``workflow.toml`` to the study's folder, and the value of every point to its own."""
    for key, point in folder.points.items():
        try:
            folder.of(key).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{folder.of(key)} cannot be made a folder: {error.strerror}") from None
        value = folder.of(key) / "point.json"
        if not value.is_file():
            write_whole(value, json_text({**point.values, "seed": point.number}) + "\n")
    python, home = (shlex.quote(str(p)) for p in (sys.executable, folder.path.absolute()))
    command = f"{python} -m hardgrain.cli sweep {home} --point {{directory}}"
    path = folder.path / "workflow.toml"
    write_whole(path, _WORKFLOW.format(command=value_text(command), walltime=walltime))
    return path
