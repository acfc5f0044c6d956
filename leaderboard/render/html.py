"""One HTML file: tables that sort at a click, nothing from the network."""

from __future__ import annotations

from html import escape

from leaderboard.digest import stamped
from leaderboard.render.words import Words, decimals, entry_words, heading, legend, result
from leaderboard.tables import Entry, Leaderboard, Table

STYLE = """
:root { color-scheme: light dark; --line: #8884; --faint: #8882; --dim: light-dark(#555, #aaa); }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:first-child, td:first-child, .text td, .text th { text-align: left; }
thead th { border-bottom: 2px solid var(--line); }
thead button { all: unset; cursor: pointer; } thead button:focus-visible { outline: 2px solid; }
thead button::after { content: " ⇅"; color: var(--dim); }
th[aria-sort=ascending] button::after { content: " ▲"; } th[aria-sort=descending] button::after { content: " ▼"; }
tr.computed td { font-style: italic; background: var(--faint); }
small { color: var(--dim); display: block; } .legend { color: var(--dim); font-size: .85rem; }
code, pre { font-size: .85rem; } pre { overflow-x: auto; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(30rem, 100%), 1fr)); gap: 1rem; }
figure { margin: 0; } svg { max-width: 100%; height: auto; }
"""

SCRIPT = """
for (const button of document.querySelectorAll('table.sortable thead button')) {
  button.addEventListener('click', () => {
    const head = button.closest('th'), table = head.closest('table'), body = table.tBodies[0];
    const index = [...head.parentNode.children].indexOf(head);
    const first = head.dataset.first || 'ascending';
    const other = first === 'ascending' ? 'descending' : 'ascending';
    const order = head.getAttribute('aria-sort') === first ? other : first;
    const sign = order === 'ascending' ? 1 : -1;
    const value = row => { const raw = row.cells[index].dataset.value; return raw === '' ? null : raw; };
    const compare = (a, b) => {
      const x = value(a), y = value(b);
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (isNaN(x) || isNaN(y) ? String(x).localeCompare(y) : x - y);
    };
    for (const row of [...body.rows].sort(compare)) body.append(row);
    for (const each of head.parentNode.children) each.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', order);
  });
}
"""


def render(board: Leaderboard, *, show_values: bool = False) -> str:
    title = f"{board.title or board.experiment} ({board.profile})"
    return page(title, stamped(f"<h1>{escape(title)}</h1>\n{fragment(board, show_values)}", board, ("<!-- ", " -->")))


def fragment(board: Leaderboard, show_values: bool = False) -> str:
    """Tables and legend, to be put into a page."""
    parts = [
        f"<h2>{escape(table.title)}</h2>\n{table_html(table, show_values)}\n<p>{escape(result(table))}</p>"
        for table in board.tables
    ]
    lines = "".join(f"<li>{escape(line)}</li>\n" for line in legend(board))
    return "\n".join([*parts, f'<ul class="legend">\n{lines}</ul>'])


def page(title: str, body: str) -> str:
    """A whole document with the style and the script inside."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n"
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def table_html(table: Table, show_values: bool = False) -> str:
    """One sortable table."""
    heads = "".join(
        _head(*heading(c), "ascending" if c.metric.direction == "min" else "descending") for c in table.columns
    )
    places = [decimals(table, index) for index in range(len(table.columns))]
    lines = []
    for row in table.rows:
        words = [entry_words(*item) for item in zip(row.entries, table.columns, places, strict=True)]
        cells = "".join(_cell(*item, show_values) for item in zip(row.entries, words, strict=True))
        name = escape(row.name)
        lines.append(f'<tr class="{row.kind}"><td data-value="{name}">{name}</td>{cells}</tr>')
    head = f"<thead><tr>{_head('initializer', '', 'ascending')}{heads}</tr></thead>"
    body = "\n".join(lines)
    return f'<div class="scroll"><table class="sortable">\n{head}\n<tbody>\n{body}\n</tbody>\n</table></div>'


def text_table(headings: list[str], rows: list[list[str]]) -> str:
    """A plain table of text."""
    head = "".join(f"<th>{escape(item)}</th>" for item in headings)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(item)}</td>" for item in row) + "</tr>" for row in rows)
    table = f'<table class="text"><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>'
    return f'<div class="scroll">{table}</div>'


def _head(name: str, below: str, first: str) -> str:
    small = f" <small>{escape(below)}</small>" if below else ""
    return f'<th scope="col" data-first="{first}"><button type="button">{escape(name)}</button>{small}</th>'


def _cell(entry: Entry | None, words: Words, show_values: bool) -> str:
    number = escape(words.number + words.mark)
    notes = [f"({words.detail})" if words.detail else "", words.values if show_values else "", *words.published]
    small = "".join(f" <small>{escape(note)}</small>" for note in notes if note)
    value = "" if entry is None or entry.mean is None else repr(entry.mean)
    return f'<td data-value="{value}">{f"<strong>{number}</strong>" if words.bold else number}{small}</td>'
