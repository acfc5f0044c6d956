"""What makes two cells the same, and nothing else does."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.identity import (
    canonical_json,
    cell_id,
    hash_resolved,
    hashed_by_seed,
    parameters_of,
    resolved_cell,
    stream,
)
from benchmark.parameters import Parameters

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(), v, max_size=4), max_leaves=15
)


class Inner(Parameters):
    rate: float = 0.0
    name: str | None = None


class Stub(Parameters):
    count: int = 1
    ratio: float = 1.0
    inner: Inner = Inner()
    many: tuple[Inner, ...] = ()


Stub.family, Stub.version = "stub", 1


def ident(task=None, initializer=None, profile="compact", seed=0):
    return cell_id(task or Stub(), initializer or Stub(), profile, seed)


def shuffled(value, random):
    if isinstance(value, dict):
        keys = list(value)
        random.shuffle(keys)
        return {key: shuffled(value[key], random) for key in keys}
    return [shuffled(item, random) for item in value] if isinstance(value, list) else value


@given(values, st.randoms())
def test_the_order_of_keys_never_matters(value, random):
    assert canonical_json(value) == canonical_json(shuffled(value, random))


@given(values)
def test_canonical_json_reads_back_and_is_stable(value):
    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


def exact(value):
    """`value` with types kept apart and −0.0 as 0.0, by another road than the one under test."""
    if isinstance(value, dict):
        return ("dict", tuple(sorted((key, exact(item)) for key, item in value.items())))
    if isinstance(value, list):
        return ("list", tuple(map(exact, value)))
    return (type(value).__name__, value if value != 0 or isinstance(value, bool) else abs(value))


@given(values, values)
def test_texts_are_equal_only_for_equal_values(one, other):
    assert (canonical_json(one) == canonical_json(other)) == (repr(exact(one)) == repr(exact(other)))


def test_integers_and_floats_stay_apart_and_minus_zero_is_zero():
    assert canonical_json([1, 1.0, -0.0, True]) == "[1,1.0,0.0,true]"
    assert canonical_json({"b": 1e-3, "a": "é"}) == '{"a":"\\u00e9","b":0.001}'


@pytest.mark.parametrize("value", [math.nan, math.inf, {1: 2}, {1, 2}, object(), b"x"])
def test_what_has_no_one_text_is_refused(value):
    with pytest.raises((ValueError, TypeError)):
        canonical_json({"a": [value]})


def test_the_id_is_the_hash_of_the_resolved_cell():
    resolved = resolved_cell(Stub(), Stub(count=2), "paper", 3)
    assert resolved["initializer"] == {
        "family": "stub", "version": 1,
        "parameters": {"count": 2, "ratio": 1.0, "inner": {"rate": 0.0, "name": None}, "many": []},
    }  # fmt: skip
    text = json.dumps(resolved, sort_keys=True, separators=(",", ":"))
    assert hash_resolved(resolved) == hashlib.sha256(text.encode()).hexdigest()


def test_an_id_once_given_never_changes():
    assert ident() == "8d89247fc8a1c4809b8245879f22a1c0c6502825f31e71f8378c1f0665f9ee27"


changes = st.sampled_from([
    {"count": 2}, {"ratio": 1.0000000000000002}, {"inner": Inner(rate=5e-324)}, {"inner": Inner(name="")},
    {"inner": Inner(name="null")}, {"many": (Inner(),)}, {"many": (Inner(), Inner(rate=1))},
    {"many": (Inner(rate=1), Inner())},
])  # fmt: skip


@given(changes, st.booleans())
def test_any_changed_parameter_changes_the_id(change, of_task):
    changed = Stub(**change)
    assert ident(task=changed if of_task else None, initializer=None if of_task else changed) != ident()


@given(st.integers(0, 2**63 - 1), st.text(min_size=1))
def test_profile_and_seed_are_part_of_the_id(seed, profile):
    assert (ident(profile=profile, seed=seed) == ident()) == ((profile, seed) == ("compact", 0))


def test_task_and_initializer_do_not_change_places():
    assert ident(task=Stub(count=2)) != ident(initializer=Stub(count=2))


def test_the_version_of_a_family_is_part_of_the_id():
    class Newer(Stub):
        pass

    Newer.version = 2
    assert ident(task=Newer()) != ident()


def test_equal_numbers_written_differently_are_one_cell():
    assert ident(task=Stub(ratio=1)) == ident(task=Stub(ratio=1.0)) == ident()
    assert ident(task=Stub(inner=Inner(rate=-0.0))) == ident()


def test_a_set_is_refused_because_its_order_differs_between_processes():
    class WithSet(Parameters):
        names: frozenset[str] = frozenset({"a"})

    with pytest.raises(TypeError, match=r"WithSet\.names is a set"):
        parameters_of(WithSet())


def test_streams_differ_by_seed_and_by_name_and_fit_64_bits():
    starts = {stream(seed, name) for seed in range(200) for name in ("model", "initializer", "batches", "augment")}
    assert len(starts) == 800
    assert all(0 <= start < 2**64 for start in starts)
    assert stream(0, "model") == int(hashlib.sha256(b"0:model").hexdigest()[:16], 16)


def test_ids_do_not_depend_on_the_process():
    code = "from benchmark.identity import canonical_json; print(canonical_json({'b': {'y': 1, 'x': 0.1}, 'a': 'é'}))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True
        ).stdout
        for seed in ("0", "1")
    }
    assert texts == {'{"a":"\\u00e9","b":{"x":0.1,"y":1}}\n'}


@given(st.dictionaries(st.text(max_size=6), st.one_of(st.integers(), st.text(max_size=3)), max_size=5), st.integers())
def test_a_seed_put_into_a_text_written_once_gives_the_same_id(resolved, seed):
    assert hashed_by_seed({**resolved, "seed": 0})(seed) == hash_resolved({**resolved, "seed": seed})
