"""YAML with bounds: no aliases, no deep nesting, plain values only."""

from __future__ import annotations

import io
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

from benchmark.errors import DataError
from leaderboard.claims.importers.bounds import MAX_DEPTH


def load_yaml(text: str, source: str) -> Any:
    """Plain values of a YAML text; raises DataError with line and column when it is no YAML or beyond the bounds."""
    try:
        _check(text, source)
        return YAML(typ="safe", pure=True).load(io.StringIO(text))
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark is not None else source
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise DataError(f"{place}: expected YAML: {problem}") from error
    except (ValueError, TypeError, OverflowError, RecursionError, AttributeError, KeyError, IndexError) as error:
        raise DataError(f"{source}: expected YAML: {type(error).__name__}: {error}") from error


def _check(text: str, source: str) -> None:
    depth = 0
    for event in YAML(typ="safe", pure=True).parse(io.StringIO(text)):
        if isinstance(event, AliasEvent):
            raise DataError(
                f"{source}:{event.start_mark.line + 1}: expected plain values, found the alias *{event.anchor}"
            )
        if isinstance(event, CollectionStartEvent):
            depth += 1
        elif isinstance(event, CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise DataError(f"{source}:{event.start_mark.line + 1}: nested more than {MAX_DEPTH} deep")
