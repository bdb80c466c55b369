"""The loop: stop conditions, output, checkpoints, progress, the closing summary."""
