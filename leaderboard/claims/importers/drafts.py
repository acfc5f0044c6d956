"""The last step: numbers with their facts, completed by what holds for the whole table, become claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from leaderboard.claims.importers import captions
from leaderboard.claims.importers.facts import Facts, of_metric, relative_cost
from leaderboard.claims.importers.grid import Cell, Grid
from leaderboard.claims.importers.mapping import TableMapping
from leaderboard.claims.importers.mentions import directions_in, metric_named
from leaderboard.claims.importers.numbers import Number
from leaderboard.claims.model import Claim, Delta, Direction, Rule, Scope, Spread, SpreadKind, Where
from leaderboard.lexicon import Meaning, default

SCOPE_FIELDS = frozenset(Scope.model_fields)


@dataclass(frozen=True, slots=True)
class Spot:
    """Place in the grid; `block` counts the headers above, `difference` is the axis whose heading says it is one."""

    row: int
    column: int
    block: int
    difference: Literal["", "row", "column"] = ""
    role: Literal["row", "column"] = "column"
    """The axis whose heading gives the role; numbers along the other one belong together."""


@dataclass
class Draft:
    """A number on its way to a claim; its unit needs the whole table."""

    number: Number
    facts: Facts
    where: Where
    cell: Cell
    spot: Spot
    deltas: list[Delta] = field(default_factory=list)
    """Differences printed elsewhere in the table."""
    spread_kind: SpreadKind | None = None
    values: tuple[str, ...] = ()
    """Single runs that stand in columns beside it."""
    weight: int | None = None
    """How many things the number is a mean of, where the headings of its group say so."""


@dataclass(frozen=True)
class Context:
    """What holds for every number of the table."""

    facts: Facts
    n: int | None
    spread: SpreadKind
    baseline: str | None
    relative: bool
    rule: Rule | None = None
    """How the caption says that the baseline of each difference is chosen."""
    items: int | None = None
    directions: Mapping[str, Direction] = field(default_factory=dict)
    """Metric, lower case → which way is better, as the caption says."""


def context_of(grid: Grid, entry: TableMapping, drafts: list[Draft]) -> Context:
    """What the mapping and the caption say for the whole table."""
    facts = Facts({key: value for key, value in entry.scope.model_dump().items() if value is not None})
    if isinstance(entry.metric, str):
        facts = Facts({**facts.fields, "metric": entry.metric}, default().metric(entry.metric))
    elif "metric" not in facts.fields and (said := metric_named(grid.caption)) is not None:
        facts = facts.over(of_metric(said.found))
    facts = replace(facts, percent=captions.says_percent(grid.caption), direction=captions.direction_in(grid.caption))
    task = captions.dataset_in(grid.caption)
    if task is not None and not any("task" in draft.facts.fields for draft in drafts):
        facts = facts.over(Facts({"task": task}))
    facts = facts.over(_conditions(grid.caption, drafts))
    told = {"split": captions.split_in(grid.caption), "aggregation": captions.aggregation_in(grid.caption)}
    facts = facts.over(Facts({key: value for key, value in told.items() if value is not None}))
    n = entry.n if entry.n is not None else captions.runs_in(grid.caption)
    spread = entry.spread or captions.spread_in(grid.caption) or "unknown"
    return Context(
        facts, n, spread, entry.baseline or _baseline(grid.caption, drafts),
        entry.relative or captions.is_relative_in(grid.caption), captions.rule_in(grid.caption),
        entry.items if entry.items is not None else _items(grid.caption, drafts), directions_in(grid.caption),
    )  # fmt: skip


def _conditions(caption: str, drafts: list[Draft]) -> Facts:
    """The budget, model and setting that the caption states."""
    labels = dict.fromkeys(text for draft in drafts for text in (draft.where.row, draft.where.column))
    found = {
        "budget": captions.budget_in(caption),
        "model": captions.model_in(caption, list(labels)),
        "setting": captions.setting_in(caption),
    }
    return Facts({name: value for name, value in found.items() if value is not None})


def _items(caption: str, drafts: list[Draft]) -> int | None:
    """The number of test items in the caption, where all numbers of the table are about one data set."""
    tasks = {draft.facts.fields.get("task") for draft in drafts}
    splits = {draft.facts.fields.get("split") for draft in drafts}
    return captions.items_in(caption) if len(tasks) == len(splits) == 1 else None


def _baseline(caption: str, drafts: list[Draft]) -> str | None:
    """The one method that the caption says differences are taken to, as in `gains over Default`."""
    if not any(draft.number.delta is not None for draft in drafts):
        return None
    return captions.baseline_named(caption, [draft.facts.fields.get("method", "") for draft in drafts])


def finish(drafts: list[Draft], context: Context, entry: TableMapping) -> list[Claim]:
    """One claim per draft, in order."""
    for draft in drafts:
        if draft.number.percent and draft.facts.metric is not None and draft.facts.metric.is_cost:
            draft.facts = relative_cost(draft.facts)
        draft.facts = _complete(draft.facts, context.facts)
    shares = _share_units(drafts)
    styled = any(draft.number.style.bold or draft.number.style.underline for draft in drafts)
    return [_claim(draft, context, entry, shares, styled) for draft in drafts]


def _complete(facts: Facts, table: Facts) -> Facts:
    """Add what holds for the table. Its metric, unit and direction do not reach numbers with a metric of their own."""
    if "metric" in facts.fields and facts.fields["metric"] != table.fields.get("metric"):
        share = facts.metric is not None and facts.metric.is_share
        fields = {key: value for key, value in table.fields.items() if key not in ("metric", "aggregation", "split")}
        table = Facts(fields, percent=table.percent and share)
    return facts.over(table)


def _share_units(drafts: list[Draft]) -> dict[str, str]:
    """Metric → percent or fraction, for shares of items.

    Percent when any of the table's numbers is above 1, but not where one stands alone, and hardly above 1, among
    fractions of a metric that is higher where a system is better.
    """
    sizes: dict[str, list[Decimal]] = defaultdict(list)
    better: dict[str, str] = {}
    for draft in drafts:
        metric = draft.facts.metric
        if metric is not None and metric.is_share and draft.number.finite:
            name = draft.facts.fields.get("metric", "")
            sizes[name].append(abs(Decimal(draft.number.printed)))
            better[name] = metric.better
    units = {}
    for name, values in sizes.items():
        above = [value for value in values if value > 1]
        slipped = (
            better[name] == "max" and max(values) < 2 and 2 * len(above) < len([value for value in values if value])
        )
        units[name] = "percent" if above and not slipped else "fraction"
    return units


def _claim(draft: Draft, context: Context, entry: TableMapping, shares: dict[str, str], styled: bool) -> Claim:
    number, facts = draft.number, draft.facts
    optional: dict[str, Any] = {"n": number.n or context.n, "items": context.items, "role": facts.role}
    if facts.role is not None:
        line = draft.where.column if draft.spot.role == "row" else draft.where.row
        optional["group"] = f"{draft.where.table}/{line}"
    if number.spread is not None:
        optional["spread"] = Spread(printed=number.spread, kind=draft.spread_kind or context.spread, ddof=entry.ddof)
    if deltas := _deltas(draft, context):
        optional |= {"delta": deltas[0], "deltas": tuple(deltas[1:])}
    if number.interval is not None:
        optional["interval"] = number.interval
    if facts.metric is not None and facts.metric.power:
        optional["power"] = facts.metric.power
    if draft.values:
        optional |= {"values": draft.values, "n": number.n or len(draft.values)}
    if draft.weight is not None:
        optional["weight"] = str(draft.weight)
    if styled:
        optional |= {"bold": number.style.bold, "underline": number.style.underline}
    return Claim(
        printed=number.printed,
        scope=Scope(**_scope(draft)),
        where=draft.where,
        unit=entry.unit or _unit(draft, shares),
        rounding=entry.rounding,
        direction=_direction(facts, entry, context),
        **{key: value for key, value in optional.items() if value is not None},
    )


def _deltas(draft: Draft, context: Context) -> list[Delta]:
    """The difference in the number's own cell, then those printed elsewhere."""
    number = draft.number
    if number.delta is None:
        return draft.deltas
    rule = None if context.baseline else context.rule
    relative = context.relative or number.delta_percent
    own = Delta(printed=number.delta, baseline=context.baseline, to=rule, relative=relative)
    more = [own.model_copy(update={"printed": text, "relative": percent}) for text, percent in number.more]
    return [own, *more, *draft.deltas]


def _scope(draft: Draft) -> dict[str, str]:
    """Scope fields; unit letters belong to the metric, a footnote mark sets a number apart from unmarked ones."""
    fields = {key: value for key, value in draft.facts.fields.items() if key in SCOPE_FIELDS}
    if draft.number.suffix:
        fields["metric"] = f"{fields.get('metric', '')} ({draft.number.suffix})".strip()
    if draft.number.marks:
        fields["subset"] = "; ".join(part for part in (fields.get("subset"), f"marked {draft.number.marks}") if part)
    return fields


def _direction(facts: Facts, entry: TableMapping, context: Context) -> Direction:
    """Which way is better, only where an arrow, the caption or the mapping says it; the checks know common metrics."""
    if facts.role == "delta":
        return "unknown"
    metric = facts.fields.get("metric", "")
    if facts.direction != "unknown" and metric not in entry.directions:
        return facts.direction
    return entry.directions.get(metric) or context.directions.get(metric.lower(), "unknown")


def _unit(draft: Draft, shares: dict[str, str]) -> Any:
    metric = draft.facts.metric
    if draft.number.percent or draft.facts.percent:
        return "percent"
    if metric is None:
        return "raw"
    return shares.get(draft.facts.fields.get("metric", ""), "raw") if metric.is_share else _raw_unit(metric)


def _raw_unit(metric: Meaning) -> Any:
    return "perplexity" if "perplexity" in metric.flags else "raw"
