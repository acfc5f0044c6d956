"""YAML 1.2 with positions: scalars by the core schema, places of keys and values, bounds."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.spec.marks import InvalidSpecError, Source
from benchmark.spec.source import MAX_BYTES, core_schema, decode, load_source, merged, parse


def tree(text):
    root, problems = parse(Source("x.yaml", text))
    assert problems == []
    return root


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3), ("1e3", 1e3), ("1.0e3", 1e3), (".5", 0.5), ("1.", 1.0), ("-0.0", -0.0), ("+1", 1),
        ("010", 10), ("0o10", 8), ("0x1F", 31), ("08", 8), ("no", "no"), ("on", "on"), ("yes", "yes"), ("NO", "NO"),
        ("12:30", "12:30"), ("2026-08-22", "2026-08-22"), ("1_000", "1_000"), ("true", True), ("False", False),
        ("~", None), ("null", None), ("", None), ("1e", "1e"), ("2parity", "2parity"), ("0b1", "0b1"), ("=", "="),
        ('"1"', "1"), ("'true'", "true"), ("|\n  1", "1"),
    ],
)  # fmt: skip
def test_scalars_follow_the_core_schema_of_yaml_1_2(text, value):
    found = tree(f"a: {text}").child("a").value
    assert found == value
    assert type(found) is type(value)


def test_a_version_directive_does_not_bring_back_yaml_1_1():
    assert tree("%YAML 1.1\n---\na: no\nb: 010\n").plain() == {"a": "no", "b": 10}


def test_every_key_and_value_knows_its_place():
    root = tree("a: 1\nb:\n  - x\n  - {c: é, d: 2}\n")
    inner = root.child("b").value[1]
    assert str(root.key_mark("b")) == "x.yaml:2:1"
    assert str(root.child("b").value[0].mark) == "x.yaml:3:5"
    assert str(inner.key_mark("d")) == "x.yaml:4:12"
    assert str(inner.child("d").mark) == "x.yaml:4:15"


def test_windows_line_ends_and_a_byte_order_mark_change_nothing():
    text = decode("\ufefftask: x\r\nfamily: y\r\n".encode(), "x.yaml")
    root = tree(text)
    assert root.plain() == {"task": "x", "family": "y"}
    assert str(root.key_mark("family")) == "x.yaml:2:1"


def test_an_alias_stands_for_the_same_value_at_the_anchor_s_place():
    root = tree("a: &x {k: 1}\nb: *x\n")
    assert root.plain() == {"a": {"k": 1}, "b": {"k": 1}}
    assert root.child("b").child("k").mark.line == 1


def test_merging_keeps_each_value_s_place_and_replaces_lists_whole():
    base, over = tree("a: {x: 1, y: [1, 2]}\nb: 1\n"), tree("\n\na: {y: [3], z: null}\n")
    both = merged(base, over)
    assert both.plain() == {"a": {"x": 1, "y": [3], "z": None}, "b": 1}
    assert both.child("a").child("x").mark.line == 1
    assert both.child("a").key_mark("y").line == 3


def test_merging_with_nothing_gives_the_other():
    one = tree("a: 1")
    assert merged(one, None) is one
    assert merged(None, one) is one
    assert merged(None, None) is None


def test_a_file_too_large_is_refused_without_being_parsed(tmp_path):
    path = tmp_path / "large.yaml"
    path.write_text("# " + "x" * MAX_BYTES)
    with pytest.raises(InvalidSpecError, match="larger than 1,000,000 bytes"):
        load_source(path)


def test_a_folder_or_missing_file_is_an_error_with_its_name(tmp_path):
    for path in (tmp_path, tmp_path / "none.yaml"):
        with pytest.raises(InvalidSpecError, match=f"{path}:1:1: cannot be read"):
            load_source(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(min_size=1, max_size=8), json_values, min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_json_written_as_yaml_reads_back_unchanged(value):
    text = json.dumps(value)  # ASCII JSON is YAML
    root, problems = parse(Source("x.yaml", text))
    assert problems == []
    assert root.plain() == value


@given(st.text(max_size=60) | st.text(alphabet="ab:-[]{}&*!|>'\"%@#,? \n\t", max_size=40))
@settings(max_examples=500, deadline=None)
def test_any_text_ends_in_a_tree_or_in_problems(text):
    problems = problems_of(text)
    for problem in problems:
        assert str(problem).startswith("x.yaml:")


def problems_of(text):
    try:
        source = Source("x.yaml", decode(text.encode("utf-8", errors="surrogatepass"), "x.yaml"))
    except InvalidSpecError as error:
        return error.problems
    root, problems = parse(source)
    assert root is not None or problems
    return problems


def test_half_a_surrogate_pair_is_a_problem():
    assert "half a character" in str(parse(Source("x.yaml", 'a: "\\ud800"'))[1][0])


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_written_by_python_is_read_back(value):
    assert core_schema(repr(value)) == value
