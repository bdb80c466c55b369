"""``python -m hardgrain.cli``, where the command is not on the path."""

from hardgrain.cli import main

main()
