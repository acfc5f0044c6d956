"""Tables of a LaTeX source, read without TeX: linear tokenizer, bounded macro expansion, table environments."""

from leaderboard.claims.importers.latex.tables import read

__all__ = ["read"]
