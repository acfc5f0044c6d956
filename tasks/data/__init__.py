"""Data sets: the small embedded ones, the manifests of the real ones, and the loaders both go through."""
