"""The viewer: a run file in the browser, after a run or while it goes on.

`live_run` reads frames. `fields`, `picture`, `shapes`, `pick` and `series` make plain arrays and
numbers of a frame and know nothing of a browser. `canvas`, `page` and `serve` show these through
viser.
"""

from hardgrain.show.view.serve import Viewer

__all__ = ["Viewer"]
