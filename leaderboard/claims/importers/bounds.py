"""Hard limits on what an importer reads; a file beyond them is refused with a message instead of being read slowly."""

from __future__ import annotations

from pathlib import Path

from benchmark.errors import DataError

MAX_BYTES = 4 * 2**20
"""Size of a source file."""
MAX_TOKENS = 600_000
"""Tokens of a LaTeX source, about ten times a long paper's."""
MAX_TABLES = 500
MAX_ROWS = 20_000
"""Rows of one table."""
MAX_COLUMNS = 400
MAX_CELLS = 200_000
"""Cells of all tables of one file, merged cells counted at their full size."""
MAX_DEPTH = 40
"""Nesting of groups, environments, tags or YAML collections inside one table."""
MAX_CELL_CHARACTERS = 4_000
MAX_MACRO_DEPTH = 20
MAX_EXPANSION = 400_000
"""Tokens that all macro expansions of one file may produce."""


class Budget:
    """Counts the cells of one file against `MAX_CELLS`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.cells = 0

    def spend(self, rows: int, columns: int, line: int) -> None:
        """Take a rows × columns table off the budget; raises DataError when the table or the file is too large."""
        if rows > MAX_ROWS or columns > MAX_COLUMNS:
            raise DataError(
                f"{self.path}:{line}: expected a table of at most {MAX_ROWS} rows and {MAX_COLUMNS} columns, "
                f"found {rows} × {columns}; split the file or import the numbers as Parquet"
            )
        self.cells += rows * columns
        if self.cells > MAX_CELLS:
            raise DataError(
                f"{self.path}:{line}: expected at most {MAX_CELLS} table cells in one file, merged cells counted in "
                "full; split the file"
            )


def read_text(path: Path, limit: int = MAX_BYTES) -> str:
    """The file as text with `\\n` line ends; raises DataError when it is absent, too large, or not UTF-8."""
    data = read_bytes(path, limit)
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}:{line}: expected UTF-8 text, found the byte 0x{data[error.start]:02x}; "
            "convert the file, for example with `iconv -f latin1 -t utf-8`"
        ) from error


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The file's bytes; raises DataError when it is absent, no regular file, or larger than `limit` bytes."""
    try:
        if not path.is_file():
            raise DataError(
                f"{path}: expected a file, found {'a folder' if path.is_dir() else 'nothing'}; check the path"
            )
        size = path.stat().st_size
        if size > limit:
            raise DataError(
                f"{path}: expected at most {limit // 2**20} MiB, found {size / 2**20:.1f} MiB; split the file"
            )
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
