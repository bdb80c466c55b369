"""Which forces are possible in a packing of rigid grains (McNamara and Herrmann 2004)."""
