"""How long cells were trained, with how many parameters, and at which point of training their number was taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmark.parameters import Metric
from leaderboard.aggregate import Group
from leaderboard.checks.finding import Cell, Explanation, Finding, Severity, Tally, say
from leaderboard.checks.published.conditions import MAXIMUM
from leaderboard.checks.registry import on_store
from leaderboard.checks.stored.evidence import StoreEvidence, cell, digest, named, ranked_metrics
from leaderboard.lexicon.phrases import says


@on_store("DB-INCOMPLETE")
def cut_short(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """Cells that count as finished and were cut short."""
    for _, group in evidence.groups():
        rows = [row for row in evidence.rows_of(group) if row.status == "finished"]
        short = [row for row in rows if row.steps_done < row.steps_planned]
        ends = {row.cell_id: evidence.last_steps().get(row.cell_id, 0) for row in rows}  # 0 without a curve
        latest = max(ends.values(), default=0)
        stopped = [row for row in rows if row not in short and 0 < ends[row.cell_id] < latest]
        tally.ok(len(rows) - len(short) - len(stopped))
        if short or stopped:
            told = [(r.seed, f"{r.steps_done} of {r.steps_planned} steps") for r in short]
            told += [(r.seed, f"curve ends at step {ends[r.cell_id]} of {latest}") for r in stopped]
            yield say(
                f"{named(group)}: {len(told)} of {len(rows)} finished seeds were cut short",
                *(cell(group, text, seed=seed) for seed, text in told), pattern="finished cells that were cut short",
                arithmetic="; ".join(f"seed {seed}: {text}" for seed, text in told),
                could=[Explanation("a rule that stops early", "then say so: the budgets are not equal")],
                basis=digest(sorted(r.finals.items()) for r in group.seeds),
            )  # fmt: skip


@on_store("DB-BUDGET")
def unequal(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """Rivals with unequal budgets."""
    for task, groups in evidence.columns():
        for name, budget in _budgets(evidence, groups).items():
            values = [value for found in budget.values() for value in found if value > 0]
            if len(budget) < 2 or not values:
                continue
            if max(values) <= evidence.threshold * min(values):
                tally.ok()
            else:
                yield _unequal(task.name, name, budget)


def _budgets(evidence: StoreEvidence, groups: list[Group]) -> dict[str, dict[str, set[int]]]:
    """Quantity → initialiser → the values its cells have."""
    found: dict[str, dict[str, set[int]]] = {"steps": {}, "batch size": {}, "parameters": {}}
    for group in groups:
        for row in evidence.rows_of(group):
            budget = ((row.resolved.get("task") or {}).get("parameters") or {}).get("budget") or {}
            sizes = {"steps": row.steps_planned, "batch size": budget.get("batch_size"), "parameters": row.parameters}
            for name, size in sizes.items():
                if size:
                    found[name].setdefault(group.initializer, set()).add(size)
    return found


def _unequal(task: str, name: str, budget: Mapping[str, set[int]]) -> Finding:
    low, high = min(map(min, budget.values())), max(map(max, budget.values()))
    shown = {who: " and ".join(map(str, sorted(found))) for who, found in budget.items()}
    return say(
        f"{task}: {name} from {low} to {high} among initialisers that are compared",
        *(Cell(size, task, who, name, f"{who} · {task}") for who, size in shown.items()), pattern=f"unequal {name}",
        arithmetic=f"{high} / {low} = {high / low:.3f}",
        could=[Explanation("a method that brings its own parameters", "a fact to state", name == "parameters")],
    )  # fmt: skip


@on_store("DB-TESTSEL")
def chosen_on_test(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """The checkpoint was chosen on the test split."""
    for task, groups in evidence.columns():
        for metric in ranked_metrics(task):
            severity = declared(metric)
            seen = [group for group in groups if _is_best(evidence, group, metric)]
            if severity is not None and groups:
                ranks = task.primary is not None and task.primary.name == metric.name
                grave = severity if ranks else Severity.INFO
                yield _chosen(task.name, metric, grave, "declared as the best over training", groups)
            elif seen:
                yield _chosen(task.name, metric, Severity.WARNING, "the best point of each curve, not the last", seen)
            else:
                tally.ok()


def declared(metric: Metric) -> Severity | None:
    """How grave the selection is that a metric declares; None without one."""
    text = f"{metric.name.replace('_', ' ')}. {metric.title}. {metric.description}".casefold()
    parts = (metric.name.replace("_", " ").casefold(), metric.title.casefold(), metric.description.casefold())
    if not any(says("best-of-training", part) for part in parts) or says("held-out", text):
        return None
    return Severity.ERROR if says("test-split", text) else Severity.WARNING


def _is_best(evidence: StoreEvidence, group: Group, metric: Metric) -> bool:
    values, best = group.values(metric.name), evidence.best_of_curve()
    cells = [result.cell_id for result in group.seeds if result.seed in values]
    return len(cells) > 2 and all(best.get((id, metric.name)) == metric.direction for id in cells)


def _chosen(task: str, metric: Metric, severity: Severity, how: str, groups: list[Group]) -> Finding:
    n = sum(len(group.values(metric.name)) for group in groups)
    return say(
        f"{task}: {metric.name} is {how} ({n} values)",
        *(cell(group, f"{len(group.values(metric.name))} seeds", metric.name) for group in groups[:4]),
        arithmetic=MAXIMUM, pattern=f"{metric.name} chosen on test", severity=severity,
        could=[Explanation("chosen on examples held out of training and test", metric.description[:80])],
        note="Rank by the last evaluation, or say in the metric's description which held-out examples decide.",
        basis=digest(sorted(group.values(metric.name).items()) for group in groups),
    )  # fmt: skip
