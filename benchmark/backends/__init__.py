"""Who hands stacks to workers: threads here, Dask, Ray, SLURM, or a third party's class."""
