"""Published tables to claims: LaTeX, markdown, HTML, CSV and TSV tables, and files in the claims layout."""

from leaderboard.claims.formats import FORMATS
from leaderboard.claims.importers.files import format_of, import_file, import_text
from leaderboard.claims.importers.mapping import Mapping, TableMapping, load_mapping
from leaderboard.claims.importers.result import ImportResult, Place, TableSummary, Unread

__all__ = [
    "FORMATS",
    "ImportResult",
    "Mapping",
    "Place",
    "TableMapping",
    "TableSummary",
    "Unread",
    "format_of",
    "import_file",
    "import_text",
    "load_mapping",
]
