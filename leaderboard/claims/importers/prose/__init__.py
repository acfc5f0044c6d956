"""What the sentences around the tables of a source say about them."""

from leaderboard.claims.importers.prose.read import read_prose

__all__ = ["read_prose"]
