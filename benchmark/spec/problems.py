"""What pydantic found wrong, told in the words and at the place of the spec file."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from benchmark.errors import BenchError, PluginError
from benchmark.registry import FOLDERS
from benchmark.spec.marks import Mark, Problem
from benchmark.spec.source import Node, core_schema, kind_of
from benchmark.wording import hint, suggestion

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[int | str, ...]


def validated(model: type[Model], node: Node, subject: str) -> tuple[Model | None, list[Problem]]:
    """The model made of a tree, or every problem at its place. `subject` names the whole in messages.

    Pydantic's conversions are welcome where a list fills a tuple or 3 a float; a quoted number or `true` for a number,
    or `yes` for `true`, is refused.

    Raises:
        PluginError: a check of the model's own raised something else than pydantic expects; in a family of the
            project's own, a BenchError is a problem of what is written, like any other.
    """
    try:
        made = model.model_validate(node.plain())
        dumped = made.model_dump(by_alias=True)
    except ValidationError as error:
        return None, problems_of(model, node, subject, error.errors(include_url=False))
    except BenchError as error:
        if model.__module__.partition(".")[0] not in {folder.partition("/")[0] for folder in FOLDERS.values()}:
            raise broken_check(subject, error) from error
        return None, [Problem(node.mark, f"{subject}: {error}")]
    except Exception as error:  # a third party's validator may raise anything
        raise broken_check(subject, error) from error
    converted = conversions(node, dumped, "")
    return (None, converted) if converted else (made, [])


def broken_check(subject: str, error: Exception) -> PluginError:
    """A family's own check raised what it should not."""
    return PluginError(f"the check of {subject} failed with {type(error).__name__}: {error}")


def conversions(node: Node, made: Any, path: str) -> list[Problem]:
    """Scalars that pydantic silently read as another kind of scalar."""
    if isinstance(node.value, dict) and isinstance(made, Mapping):
        inner = [(child, made[key], f"{path}.{key}") for key, child in node.value.items() if key in made]
    elif isinstance(node.value, list) and isinstance(made, list | tuple) and len(made) == len(node.value):
        inner = [(child, made[n], f"{path}[{n}]") for n, child in enumerate(node.value)]
    else:
        wanted = "true or false" if isinstance(made, bool) else "a number"
        message = f"'{path.lstrip('.')}' should be {wanted}, found {kind_of(node.value)}"
        return [Problem(node.mark, message)] if is_converted(node.value, made) else []
    return [problem for item in inner for problem in conversions(*item)]


def is_converted(written: Any, made: Any) -> bool:
    """Whether a scalar changed its kind by pydantic's own rules (not by a validator that reads, say, `5M`)."""
    if isinstance(made, bool):
        return not isinstance(written, bool) and str(written).lower() in PYDANTIC_BOOLEANS
    if isinstance(made, int | float):
        numeral = isinstance(written, str) and isinstance(core_schema(written.strip()), int | float)
        return numeral or isinstance(written, bool)
    return False


PYDANTIC_BOOLEANS = {"0", "1", "y", "n", "t", "f", "yes", "no", "on", "off", "true", "false"}


def problems_of(
    model: type[BaseModel], root: Node, subject: str, details: Sequence[Mapping[str, Any]]
) -> list[Problem]:
    """Pydantic's errors as problems; of a union's branches only those that come nearest to what is written."""
    branches: dict[Location, dict[int | str, list[Mapping[str, Any]]]] = {}
    problems = []
    for detail in grouped(details):
        location = detail["loc"]
        if detail["type"] == "too_short" and Place(root, location).node.elements() != []:
            continue  # pydantic does not count elements that have problems of their own
        at = Place(root, location[:-1] if detail["type"] in {"missing", "extra_forbidden"} else location).unknown
        if at is None:
            problems.append(problem(model, root, subject, detail))
        else:
            branches.setdefault(location[:at], {}).setdefault(location[at], []).append(detail)
    for location, found in branches.items():
        problems += nearest(model, root, subject, location, list(found.values()))
    return list(dict.fromkeys(problems))


def grouped(details: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The errors, with all keys missing at one place in one error, quoted and listed."""
    missing: dict[Location, list[str]] = {}
    for detail in details:
        if detail["type"] == "missing":
            missing.setdefault(detail["loc"][:-1], []).append(str(detail["loc"][-1]))
    others = [detail for detail in details if detail["type"] != "missing"]
    return others + [
        {"type": "missing", "loc": (*at, ", ".join(f"'{k}'" for k in keys))} for at, keys in missing.items()
    ]


def nearest(
    model: type[BaseModel],
    root: Node,
    subject: str,
    location: Location,
    branches: Sequence[Sequence[Mapping[str, Any]]],
) -> list[Problem]:
    """Problems of the union branches that fit best: of the right kind, with fewest errors."""
    fitting = [branch for branch in branches if not wrong_kind(branch, location)]
    if not fitting:
        place = Place(root, location)
        wanted = list(dict.fromkeys(expected_kind(branch[0]) for branch in branches))
        message = f"'{place.path or subject}' should be {' or '.join(wanted)}, found {kind_of(place.node.value)}"
        return [Problem(place.mark, message)]
    fewest = min(map(len, fitting))
    best = [detail for branch in fitting if len(branch) == fewest for detail in branch]
    telling = [detail for detail in best if detail["type"] != "missing"]
    return [problem(model, root, subject, detail) for detail in telling or best]


def wrong_kind(branch: Sequence[Mapping[str, Any]], location: Location) -> bool:
    """Whether a branch expects another kind of value altogether, a list where there is a mapping."""
    return (
        len(branch) == 1
        and branch[0]["type"].endswith(("_type", "_parsing"))
        and len(branch[0]["loc"]) == len(location) + 1
    )


def expected_kind(detail: Mapping[str, Any]) -> str:
    """What a branch of a union wants: `a list`."""
    return worded(detail).removeprefix("should be ")


def problem(model: type[BaseModel], root: Node, subject: str, detail: Mapping[str, Any]) -> Problem:
    """One pydantic error as a problem."""
    place = Place(root, detail["loc"])
    kind, where = detail["type"], place.path or subject
    if kind == "extra_forbidden":
        key, known = str(detail["loc"][-1]), keys_at(model, detail["loc"][:-1])
        return Problem(place.key, f"unknown key '{key}' in {place.parent or subject}{hint(key, known)}")
    if kind == "missing":
        keys = str(detail["loc"][-1])
        return Problem(place.key, f"missing {'keys' if ',' in keys else 'key'} {keys} in {where}")
    if kind in {"value_error", "assertion_error"}:
        return Problem(place.mark, f"{where}: {detail['ctx']['error']}")
    return Problem(place.mark, expectation(detail, where, place.node))


def expectation(detail: Mapping[str, Any], where: str, node: Node) -> str:
    """`'seeds' should be ..., found ...` from pydantic's own sentence."""
    text = worded(detail)
    sentence = f"'{where}' {text}" if text.startswith("should") else f"'{where}': {text}"
    near = ""
    if detail["type"] in {"literal_error", "enum"} and isinstance(node.value, str):
        near = suggestion(node.value, quoted(str(detail["ctx"]["expected"])))
    return f"{sentence}, found {kind_of(node.value)}{near}"


def worded(detail: Mapping[str, Any]) -> str:
    """Pydantic's sentence in the words of a spec file."""
    text = str(detail["msg"])
    for detour in (", unable to parse string", ", got a number with a fractional part", ", unable to interpret input"):
        text = text.partition(detour)[0]
    for pattern, ours in WORDING.items():
        text = text.replace(pattern, ours)
    return text


WORDING = {
    "Input should be a valid dictionary or instance of Selected": "should be a name or a mapping with 'name'",
    "Input should be an object": "should be a mapping",
    "Input should be a valid array": "should be a list",
    "Input should be a valid tuple": "should be a list",
    "Input should be a valid dictionary": "should be a mapping",
    "Input should be a valid string": "should be text",
    "Input should be a valid integer": "should be a whole number",
    "Input should be a valid number": "should be a number",
    "Input should be a valid boolean": "should be true or false",
    "String should match pattern '^[A-Za-z0-9][A-Za-z0-9_.+-]*$'": "should be a name of letters, digits and _ . + -",
    "Input should": "should",
    "String should": "should",
    "Tuple should": "should",
    "Value should": "should",
}


def quoted(text: str) -> list[str]:
    """The words between single quotes."""
    return text.split("'")[1::2]


class Place:
    """Where pydantic's location lies in the file; segments that are no keys there (union tags) are skipped."""

    def __init__(self, root: Node, location: Sequence[int | str]) -> None:
        self.node = root
        self.key: Mark = root.mark
        """Where the key of the value is written, or of the nearest value around it."""
        self.unknown: int | None = None
        """Number of the first segment that is not in the file."""
        names: list[str] = []
        for number, segment in enumerate(location):
            value = self.node.value
            if isinstance(value, dict) and segment in value:
                self.key, self.node = self.node.key_mark(str(segment)), value[str(segment)]
                names.append(f".{segment}")
            elif isinstance(value, list) and isinstance(segment, int) and segment < len(value):
                self.node = value[segment]
                self.key = self.node.mark
                names.append(f"[{segment}]")
            elif segment == 0 and not isinstance(value, dict):
                continue  # a single value that counts as a list of one
            elif self.unknown is None:
                self.unknown = number
        self.path = "".join(names).lstrip(".")
        self.parent = "".join(names[:-1]).lstrip(".")

    @property
    def mark(self) -> Mark:
        """Where the value is written."""
        return self.node.mark


def keys_at(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """Keys that may stand at a place of a model."""
    candidates: list[Any] = [model]
    for segment in location:
        below = [inner for candidate in candidates for inner in step(candidate, segment)]
        candidates = below or candidates
    return list(dict.fromkeys(key for candidate in candidates for key in fields_of(candidate)))


def step(annotation: Any, segment: int | str) -> list[Any]:
    """Annotations one location segment below; none when the segment is a tag of a union."""
    found: list[Any] = []
    for model in models_in(annotation):
        found += [f.annotation for name, f in model.model_fields.items() if segment in (name, f.alias)]
    return found


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """Models an annotation mentions, inside unions, lists and mappings."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for inner in typing.get_args(annotation) for model in models_in(inner)]


def fields_of(annotation: Any) -> list[str]:
    """Keys of the models an annotation mentions, as written in files."""
    return [field.alias or name for model in models_in(annotation) for name, field in model.model_fields.items()]
