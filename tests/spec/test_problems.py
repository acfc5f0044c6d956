"""Did-you-mean, listings of known names, and how an excerpt looks."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, field_validator

from benchmark.errors import DataError, PluginError
from benchmark.spec.marks import Mark, Problem, Source, describe, excerpt, in_order
from benchmark.spec.problems import validated
from benchmark.spec.source import Node
from benchmark.wording import hint


def test_a_near_name_is_suggested_in_any_case():
    assert hint("Learning_Rat", ["learning_rate", "betas"]) == "; did you mean 'learning_rate'?"


def test_few_names_are_listed_and_many_are_not():
    assert hint("zzz", ["b", "a"]) == "; known: a, b"
    assert hint("zzz", [f"name{n}" for n in range(40)]) == ""
    assert hint("zzz", []) == ""


def test_the_caret_stands_under_the_place_even_after_tabs():
    source = Source("x.yaml", "a:\tb")
    assert excerpt(Mark(source, 1, 4)) == ["    a:\tb", "      \t^"]


def test_a_long_line_is_cut_around_the_place():
    source = Source("x.yaml", "x" * 500 + "Y" + "x" * 500)
    shown, caret = excerpt(Mark(source, 1, 501))
    assert len(shown) < 200
    assert shown[len(caret) - 1] == "Y"


def test_control_characters_never_reach_the_terminal():
    assert "\x1b" not in "".join(excerpt(Mark(Source("x.yaml", "a: \x1b[2J"), 1, 4)))


def test_problems_are_shown_once_in_order_of_file_and_line():
    source, other = Source("b.yaml", "1\n2\n"), Source("a.yaml", "1\n")
    late, early, elsewhere = (Problem(Mark(s, n, 1), "m") for s, n in ((source, 2), (source, 1), (other, 1)))
    assert in_order([late, early, elsewhere, late]) == (early, late, elsewhere)
    assert describe((late,)).startswith("1 problem in the spec:\nb.yaml:2:1: m\n")


class Picky(BaseModel):
    data: str

    @field_validator("data")
    @classmethod
    def _known(cls, name: str) -> str:
        raise DataError(f"no data set '{name}'")


def of_module(name: str) -> type[BaseModel]:
    return type("Other", (Picky,), {"__module__": name})


def test_what_a_family_of_ours_refuses_is_the_user_s_mistake_and_no_broken_plugin():
    mark = Mark(Source("x.yaml", "data: cifar999"), 1, 1)
    node = Node(mark, {"data": Node(mark, "cifar999")})
    made, problems = validated(of_module("tasks.vision"), node, "the parameters")
    assert made is None
    assert problems == [Problem(mark, "the parameters: no data set 'cifar999'")]
    with pytest.raises(PluginError, match="the check of the parameters failed with DataError"):
        validated(of_module("bench_plugin_0"), node, "the parameters")
