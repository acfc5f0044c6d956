"""Data sets: the small embedded ones, the manifests of the real ones, and the loaders both go through.

Importing this package imports neither torch nor numpy, pyarrow or Pillow.
"""

from tasks.data.arrays import Images, Tokens, load_images, load_text, load_tokenizer, load_tokens
from tasks.data.content import content_digests
from tasks.data.manifest import DatasetInfo, dataset, names
from tasks.data.places import Missing, data_root, is_available

__all__ = [
    "DatasetInfo",
    "Images",
    "Missing",
    "Tokens",
    "content_digests",
    "data_root",
    "dataset",
    "is_available",
    "load_images",
    "load_text",
    "load_tokenizer",
    "load_tokens",
    "names",
]
