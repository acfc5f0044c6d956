"""Rules about what is asked of a plugin before anything is trained."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmark.conformance.context import Context
from benchmark.conformance.rules import NotChecked, rule, told
from benchmark.conformance.subject import Pair
from benchmark.execution.process import Place
from benchmark.identity import parameters_of
from benchmark.plan import rebuild
from benchmark.spec.marks import Source
from benchmark.spec.problems import validated
from benchmark.spec.source import parse
from benchmark.wording import shown_path

LIGHT_SECONDS = 60


@rule
def torch_import(context: Context) -> Iterator[str]:
    """In a process of its own, which stops at the first import of torch."""
    subject = context.subject
    try:
        request = json.dumps(subject.to_json())
    except (TypeError, ValueError):
        raise NotChecked("its parameters cannot travel to another process (see parameters)") from None
    place = Place(None, 1).environment()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "benchmark.conformance.light"],
        input=request, capture_output=True, text=True, env=place, timeout=LIGHT_SECONDS,
    )  # fmt: skip
    if done.returncode:
        raise NotChecked(f"a process of its own cannot load it: {(done.stderr.strip().splitlines() or [''])[-1]}")
    found = json.loads(done.stdout.strip().splitlines()[-1])
    if found["file"]:
        yield f"{shown_path(Path(found['file']))}:{found['line']} imports torch while {found['during']}"


@rule
def parameters(context: Context) -> Iterator[str]:
    """The object, its parameters as JSON and as YAML, and back."""
    family = context.subject.family
    dumped = parameters_of(family)
    resolved = {"family": family.family, "version": family.version, "parameters": dumped}
    tree, _ = parse(Source("parameters", json.dumps(dumped)))
    assert tree is not None
    read, problems = validated(type(family), tree, "the parameters")
    for way, back in (("JSON", rebuild(type(family), resolved)), ("YAML", read)):
        if back is None:
            yield f"{way} gives parameters that are refused: {problems[0].message}"
        elif (again := parameters_of(back)) != dumped or back != family:
            names = [name for name in dumped if again.get(name) != dumped[name]] or [
                "an object that does not compare equal"
            ]
            name = names[0]
            yield f"{way} changes {name} from {dumped.get(name)!r} to {again.get(name)!r}"


@rule
def unsupported(context: Context) -> Iterator[str]:
    """On the task of the subject and on one of every other family it says it can start."""
    for pair in (context.subject.pair, *context.subject.others):
        answers = [pair.initializer.unsupported(pair.task) for _ in range(2)]
        for answer in answers:
            if answer is not None and (not isinstance(answer, str) or not answer.strip()):
                yield f"on task {pair.task_name} it returns {answer!r}, which is neither None nor a reason"
        if answers[0] != answers[1]:
            yield f"on task {pair.task_name} it returns {answers[0]!r}, and asked again {answers[1]!r}"
    yield from (
        sentence for pair in context.subject.others if (sentence := cannot_start(pair, context.subject.profile))
    )


def cannot_start(pair: Pair, profile: str) -> str | None:
    """What happens to a pair that `unsupported` let pass; None when the model is there."""
    from benchmark.cell import Cell
    from benchmark.train.build import build

    try:
        build(Cell("other", pair.task_name, pair.initializer.family, 0, profile, pair.task, pair.initializer))
    except Exception as error:
        return f"it returns None for task {pair.task_name}, which then fails: {told(error)}"
    return None


@rule
def declared_metrics(context: Context) -> Iterator[str]:
    """What `metrics` says of itself."""
    metrics = context.task.metrics()
    if not metrics:
        yield "`metrics()` is empty"
        return
    for name, count in Counter(metric.name for metric in metrics).items():
        if count > 1:
            yield f"metric {name} is declared {count} times"
    if metrics[0].direction == "none":
        yield f"the first metric, {metrics[0].name}, ranks initialisers and has direction none"
    for metric in metrics:
        if metric.lower is not None and metric.upper is not None and metric.lower >= metric.upper:
            yield f"metric {metric.name} has lower bound {metric.lower:g} and upper bound {metric.upper:g}"
    if context.task.metrics() != metrics:
        yield "`metrics()` returns something else when asked again"


@rule
def geometry(context: Context) -> Iterator[str]:
    """Against the `benchmark.nn.attention.Attention` modules of the model; a model without them is not looked at."""
    from benchmark.nn.attention import attentions

    found = attentions(context.started.model)
    said = context.task.geometry()
    if not found:
        raise NotChecked("the model has no benchmark.nn.attention.Attention")
    first = found[0]
    facts: list[tuple[str, Any, Any]] = [
        ("layers", said.layers, len(found)),
        ("heads", said.heads, first.heads),
        ("tokens + extra_tokens", said.tokens + said.extra_tokens, first.tokens),
        ("head_dim", said.head_dim or first.head_dim, first.head_dim),
        ("dim", said.dim or first.query.in_features, first.query.in_features),
        ("causal", said.causal, first.future is not None),
    ]
    for name, told_, real in facts:
        if told_ != real:
            yield f"{name} is {told_} in geometry() and {real} in the model"
