"""Tables of a LaTeX source, read without TeX: a linear tokenizer, bounded macro expansion, and the table environments."""

from leaderboard.claims.importers.latex.tables import read_latex

__all__ = ["read_latex"]
