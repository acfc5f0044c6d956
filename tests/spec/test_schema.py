"""The shipped JSON Schemas and the page about keys are those of the models."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from benchmark.spec.schema import generated, schema
from benchmark.spec.source import read_file

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", generated(), ids=lambda path: path.name)
def test_generated_files_have_not_drifted(path):
    assert path.read_text(encoding="utf-8") == generated()[path], "run: python -m benchmark.spec.schema"


@pytest.mark.parametrize(
    ("kind", "folder"), [("task", "tasks"), ("initializer", "initializers"), ("experiment", "specs")]
)
def test_every_shipped_spec_satisfies_its_schema(kind, folder):
    validator = jsonschema.Draft202012Validator(schema(kind))
    validator.check_schema(schema(kind))
    for path in (ROOT / folder).glob("*.yaml"):
        tree, problems = read_file(path)
        assert problems == []
        assert [error.message for error in validator.iter_errors(tree.plain())] == [], path.name


def test_the_schema_allows_short_forms_and_refuses_unknown_keys():
    validator = jsonschema.Draft202012Validator(schema("experiment"))
    short = {"experiment": "x", "tasks": "a", "initializers": ["b", {"name": "c", "as": "d"}], "exclude": {"task": "a"}}
    assert validator.is_valid(short)
    assert not validator.is_valid({**short, "sedes": 3})
