"""Random tables written in every format and read back: every printed string, spread, difference and style returns."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from leaderboard.claims.importers import Mapping, import_text, load_mapping

DOCS = Path(__file__).parents[3] / "docs" / "importing.md"
METHODS = ["Default", "Mimetic", "Impulse", "w/o mask", "Mask (ours)", "vit_base_patch16", "ViT-S/16"]
TASKS = ["CIFAR-10", "SVHN", "ImageNet-1k", "WikiText-2", "STL-10"]


def random_table(seed):
    """Method → task → (printed, spread, delta, bold), None for a missing cell."""
    random_ = random.Random(seed)
    decimals = random_.choice((0, 1, 2, 3))
    methods = random_.sample(METHODS, random_.randint(2, len(METHODS)))
    tasks = random_.sample(TASKS, random_.randint(2, len(TASKS)))
    spread, delta = random_.random() < 0.5, random_.random() < 0.3
    return {method: {task: random_cell(random_, decimals, spread, delta) for task in tasks} for method in methods}


def random_cell(random_, decimals, spread, delta):
    if random_.random() < 0.05:
        return None
    printed = f"{random_.uniform(0, 100):.{decimals}f}"
    return (
        printed,
        f"{random_.uniform(0, 2):.{decimals}f}" if spread else None,
        f"{random_.uniform(-5, 5):+.{decimals}f}" if delta else None,
        random_.random() < 0.3,
    )


def latex(table, transposed):
    def cell(value):
        if value is None:
            return "--"
        printed, spread, delta, bold = value
        text = f"\\textbf{{{printed}}}" if bold else printed
        text += f" $\\pm$ {spread}" if spread else ""
        return text + (f" {{\\scriptsize({delta})}}" if delta else "")

    def escape(text):
        return text.replace("_", "\\_")

    head, rows = grid(table, transposed, "Method", "Dataset")
    lines = [" & ".join(map(escape, head)) + " \\\\ \\midrule"]
    lines += [" & ".join([escape(label), *map(cell, values)]) + " \\\\" for label, values in rows]
    body = "\n".join(lines)
    start = "\\begin{table}\\caption{Accuracy}\\begin{tabular}{l*{9}{c}}\\toprule\n"
    return f"{start}{body}\n\\bottomrule\\end{{tabular}}\\end{{table}}"


def markdown(table, transposed):
    def cell(value):
        if value is None:
            return "-"
        printed, spread, delta, bold = value
        text = f"**{printed}**" if bold else printed
        return text + (f" ± {spread}" if spread else "") + (f" ({delta})" if delta else "")

    head, rows = grid(table, transposed, "Method", "Dataset")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    return "# Accuracy\n\n" + "\n".join(
        lines + [f"| {' | '.join([label, *map(cell, values)])} |" for label, values in rows]
    )


def html(table, transposed):
    def cell(value):
        if value is None:
            return "<td>&mdash;</td>"
        printed, spread, delta, bold = value
        text = f"<b>{printed}</b>" if bold else printed
        return (
            f"<td>{text}{f' &plusmn; {spread}' if spread else ''}{f' <small>({delta})</small>' if delta else ''}</td>"
        )

    head, rows = grid(table, transposed, "Method", "Dataset")
    top = "<tr>" + "".join(f"<th>{label}</th>" for label in head) + "</tr>"
    body = "".join(f"<tr><th>{label}</th>{''.join(map(cell, values))}</tr>" for label, values in rows)
    return f"<table><caption>Accuracy</caption>{top}{body}</table>"


def csv(table, transposed):
    def cell(value):
        if value is None:
            return ""
        printed, spread, delta, _ = value
        return f'"{printed}{f" ± {spread}" if spread else ""}{f" ({delta})" if delta else ""}"'

    head, rows = grid(table, transposed, "Method", "Dataset")
    return "\n".join([",".join(head), *(",".join([f'"{label}"', *map(cell, values)]) for label, values in rows)])


def grid(table, transposed, method, task):
    methods, tasks = list(table), list(next(iter(table.values())))
    if transposed:
        return [task, *methods], [(name, [table[row][name] for row in methods]) for name in tasks]
    return [method, *tasks], [(row, [table[row][name] for name in tasks]) for row in methods]


def wanted(table, styled):
    return {
        (method, task): (value[0], value[1], value[2], value[3] if styled else None)
        for method, row in table.items() for task, value in row.items() if value is not None
    }  # fmt: skip


def found(result):
    return {
        (claim.scope.method, claim.scope.task): (
            claim.printed, claim.spread and claim.spread.printed, claim.delta and claim.delta.printed, claim.bold,
        )
        for claim in result.claims
    }  # fmt: skip


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("write", [latex, markdown, html, csv])
def test_random_tables_come_back(write, transposed):
    for seed in range(60):
        table = random_table(seed)
        result = import_text(write(table, transposed), write.__name__)
        any_bold = any(value is not None and value[3] for row in table.values() for value in row.values())
        assert found(result) == wanted(table, any_bold and write is not csv), f"seed {seed}"
        assert result.unread == ()
        assert result.tables[0].missing == sum(value is None for row in table.values() for value in row.values())


def test_the_mapping_in_the_documentation_is_valid(tmp_path):
    block = re.search(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "map.yaml").write_text(block.group(1), encoding="utf-8")
    mapping = load_mapping(tmp_path / "map.yaml")
    assert isinstance(mapping, Mapping)
    assert set(mapping.tables[0].model_fields_set) == set(type(mapping.tables[0]).model_fields)
