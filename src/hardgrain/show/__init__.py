"""Pictures of a run. Matplotlib is imported when the first one is drawn."""
