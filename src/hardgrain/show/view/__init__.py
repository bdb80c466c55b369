"""The viewer: a run file in the browser, after a run or while it goes on.

`film` reads frames; `fields`, `picture`, `shapes`, `pick` and `series` turn one into plain arrays
and numbers and know nothing of a browser; `canvas`, `page` and `serve` show them through viser.
"""

from hardgrain.show.view.serve import Viewer

__all__ = ["Viewer"]
