"""Training of stacks of cells: one batched program for many seeds and initialisers of one task."""
