"""Asking the rules: in this process, or in a training process of its own that a plugin may take down with it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmark.conformance import learning, numbers, planning, starting  # noqa: F401 - they declare the rules
from benchmark.conformance.context import Context
from benchmark.conformance.report import NonconformingError, Report
from benchmark.conformance.rules import RULES, Result, Rule, ask
from benchmark.conformance.subject import Finder, Pair, Subject, files_of
from benchmark.conformance.untouched import Untouched
from benchmark.initializer import Initializer
from benchmark.registry import Kind
from benchmark.task import Task
from benchmark.wording import reason_of


def rules_for(kind: Kind, only: Collection[str] | None = None) -> list[Rule]:
    """Rules for a kind, in their order."""
    return [rule for rule in RULES.values() if kind in rule.kinds and (only is None or rule.id in only)]


def check_task(
    task: str | Task,
    *,
    profile: str = "compact",
    plugins: Iterable[str | Path] = (),
    rules: Collection[str] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Report:
    """Hold a task, by name or as an object, to the rules (all that concern tasks, or those named).

    Raises:
        NonconformingError: a rule does not hold; the message says which, and the way out.
        BenchError: the task cannot be found or used.
    """
    if isinstance(task, Task):
        subject = Subject("task", task.family, profile, Pair(task.family, task, Untouched()), (), files_of(type(task)))
    else:
        subject = Finder(plugins, profile).named("task", task, parameters)
    return held(examine(subject, rules))


def check_initializer(
    initializer: str | Initializer,
    *,
    task: str | Task = "",
    profile: str = "compact",
    plugins: Iterable[str | Path] = (),
    rules: Collection[str] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Report:
    """Hold an initialiser, by name or as an object, to the rules, on `task` or on the cheapest task it can start.

    Raises:
        NonconformingError: a rule does not hold; the message says which, and the way out.
        BenchError: the initialiser or the task cannot be found or used.
    """
    finder = Finder(plugins, profile)
    if isinstance(initializer, Initializer):
        subject = finder.of(initializer, initializer.family, task)
    elif isinstance(task, Task):
        made = finder.registry.initializer(initializer)(**(parameters or {}))
        subject = finder.of(made, initializer, task)
    else:
        subject = finder.named("initializer", initializer, parameters, task)
    return held(examine(subject, rules))


def examine(subject: Subject, only: Collection[str] | None = None) -> Report:
    """The report of a subject, made in this process."""
    context = Context(subject)
    return report(subject, (ask(rule, context) for rule in rules_for(subject.kind, only)))


def report(subject: Subject, results: Iterable[Result]) -> Report:
    """Results as a report."""
    return Report(subject.kind, subject.name, subject.pair.task_name, subject.profile, tuple(results))


def held(found: Report) -> Report:
    """The report, when every rule holds."""
    if found.findings:
        raise NonconformingError(f"\n{found}")
    return found


# --- in a process of its own -----------------------------------------------------------------------------------


def examine_apart(
    subject: Subject, threads: int, seconds: float, only: Collection[str] | None = None
) -> Iterator[Result]:
    """Results as they are made, in a training process: a plugin that ends it, or hangs, ends the examination."""
    from benchmark.execution.process import DeathError, TimeLimitError, TrainingProcess

    rules = rules_for(subject.kind, only)
    try:
        subject.to_json()
    except (TypeError, ValueError) as error:
        yield Result("parameters", "found", (str(error),))
        return
    process = TrainingProcess(subject.place(threads))
    for number, rule in enumerate(rules):
        try:
            reply = process.ask(subject.question(rule.id, threads), seconds=seconds)
        except (DeathError, TimeLimitError) as error:
            late = f"it did not come to an end within {seconds:g} s"
            how = late + error.place if isinstance(error, TimeLimitError) else str(error).splitlines()[0]
            yield Result(rule.id, "found", (f"while this was checked: {how}",))
            left = rules[number + 1 :]
            yield from (Result(one.id, "not checked", reason=f"the process ended in {rule.id}") for one in left)
            return
        if reply.answer:
            yield Result.from_json(reply.answer["result"])
        else:
            yield Result(rule.id, "found", (reason_of(reply.raised or reply.refused),))
    process.close()


_contexts: dict[str, Context] = {}
"""In a training process: what was made for earlier rules of a subject."""


def respond(question: Mapping[str, Any]) -> dict[str, Any]:
    """A training process's answer to the question of a request of kind `conform`."""
    key = json.dumps(question["subject"], sort_keys=True)
    if key not in _contexts:
        _contexts[key] = Context(Subject.from_json(question["subject"]))
    context = _contexts[key]
    if question["rule"] == "numbers":
        return {"numbers": context.train([context.cell()])[0].to_json()}
    return {"result": vars(ask(RULES[question["rule"]], context))}
