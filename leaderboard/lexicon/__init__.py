"""Labels of tables to meanings, by data files that a user may extend."""

from leaderboard.lexicon.meaning import Kind, Meaning, Way
from leaderboard.lexicon.read import Lexicon, default, read, use

__all__ = ["Kind", "Lexicon", "Meaning", "Way", "default", "read", "use"]
