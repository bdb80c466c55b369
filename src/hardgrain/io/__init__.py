"""Files: the HDF5 run file, which is also the checkpoint of a run."""
