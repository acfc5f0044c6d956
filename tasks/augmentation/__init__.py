"""Augmentation of image batches on the device: torch only, no image library, drawn from a cell's own generator."""
