"""What a run is made of, as plain arrays: bodies, their state, contact points, walls and laws."""
