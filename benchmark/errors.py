"""Every error a user can meet, and the exit code each one ends the program with."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of `bench`, stable across versions."""

    COMPLETE = 0
    INTERNAL = 1
    USAGE = 2
    INCOMPLETE = 3
    FOUND = 4
    INTERRUPTED = 130


class BenchError(Exception):
    """Something the user can mend; the message says what was expected, what was found and what to do."""

    exit_code: ExitCode = ExitCode.USAGE


class UsageError(BenchError):
    """The command was called with arguments that do not fit together."""


class SpecError(BenchError):
    """A spec file cannot be used; the message lists every problem with file, line and column."""


class PluginError(BenchError):
    """A task family or initialiser could not be loaded or registered."""


class DataError(BenchError):
    """A data set is missing, damaged or not what its manifest says."""


class DataWriteError(DataError):
    """A data set cannot be put in place: a full disk, missing rights ...; the command itself is right."""

    exit_code = ExitCode.INTERNAL


class StoreError(BenchError):
    """The result store cannot be read or written."""


class StoreWriteError(StoreError):
    """Results cannot be written: a full disk, missing rights ...; the command itself is right."""

    exit_code = ExitCode.INTERNAL
