"""What a verb prints: a stream that may be lost, and what then becomes of the verb."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast

import click


class OutputLostError(Exception):
    """The standard output takes no more words, of a verb that is there for them."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"the output cannot be written: {error.strerror or error}")
        self.reader_left = error.errno == errno.EPIPE
        """Nothing is wrong: whoever read it (`| head`, a pager) has had enough."""


class Output:
    """A text stream that is lost once and then leads nowhere: closed, full, or without a reader."""

    def __init__(self, stream: TextIO | None, number: int, *, work_goes_on: bool = False) -> None:
        self._number, self._lost = number, None if stream else OSError(errno.EBADF, "it is closed")
        self._stream = stream or cast(TextIO, Path(os.devnull).open("w"))  # noqa: SIM115 (as long as the process)
        self._work_goes_on = work_goes_on
        if isinstance(stream, io.TextIOWrapper):  # what cannot be printed is no reason to end
            stream.reconfigure(encoding="utf-8" if stream.encoding == "ascii" else None, errors="replace")

    def write(self, text: str) -> int:
        """As of any text stream. Raises OutputLostError, unless the work goes on."""
        if not isinstance(text, str):  # click asks for it, to tell text from bytes
            raise TypeError(f"expected text, found {type(text).__name__}")
        if self._lost is None:
            self._try(lambda: self._stream.write(text))
        elif not self._work_goes_on:
            raise OutputLostError(self._lost)
        return len(text)

    def flush(self) -> None:
        """As of any text stream. Raises OutputLostError, unless the work goes on."""
        if self._lost is None:
            self._try(self._stream.flush)

    def let_work_go_on(self) -> None:
        """From here on the work matters more than the words about it: a lost output is told once and ends nothing."""
        self._work_goes_on = True
        if self._lost:
            click.echo(f"Note: {OutputLostError(self._lost)}; the work goes on without it.", err=True)

    def _try(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            self._lost = error
            with suppress(OSError):  # what is still in buffers, the interpreter's last flush, and all to come
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._number)
            if not self._work_goes_on:
                raise OutputLostError(error) from error
            if self is sys.stdout:
                self.let_work_go_on()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def careful_streams() -> Iterator[None]:
    """Within, the standard output and error are `Output`; descriptors that the caller closed lead nowhere.

    Otherwise the next file opened would get the number of the closed one, and the words of some library with it.
    """
    before = sys.stdout, sys.stderr
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one
    sys.stdout = cast(TextIO, Output(sys.stdout, 1))
    sys.stderr = cast(TextIO, Output(sys.stderr, 2, work_goes_on=True))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
