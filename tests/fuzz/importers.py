"""Mutation fuzzer for the table importers: seeded, deterministic, no dependency.

Every input must end in claims or in a BenchError, within the time bound per input, without growing the process.

    python tests/fuzz/importers.py --inputs 100000
"""

from __future__ import annotations

import argparse
import contextlib
import random
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from benchmark.errors import BenchError
from leaderboard.claims.importers import import_file, load_mapping

SECONDS_PER_INPUT = 5.0
"""Processor time after which an input counts as a hang; inputs are at most 200 kB, typical ones take milliseconds."""
TABLES = Path(__file__).parent.parent / "claims" / "importers" / "tables"
SUFFIXES = {"latex": ".tex", "markdown": ".md", "html": ".html", "csv": ".csv", "yaml": ".yaml"}

TOKENS = {
    "latex": [
        "\\\\", "&", "{", "}", "$", "%", "\\multicolumn{9999}{c}{", "\\multirow{-99}{*}{", "\\begin{tabular}{ll}",
        "\\end{tabular}",
        "\\begin{table}", "\\end{table}", "\\hline", "\\midrule", "\\cmidrule(lr){1-", "\\textbf{", "_{", "^{", "\\pm",
        "\\caption{",
        "\\newcommand{\\a}[1]{\\a{#1}\\a{#1}}\\a{x}", "\\def\\b#1{#1#1#1#1}\\b{\\b{\\b{\\b{\\b{1}}}}}",
        "\\num{1e9999}", "\\\\[", "#1", "#",
        "\\", "\\begin{verbatim}", "\\end{verbatim}", "\\verb|&|", "\\makecell{a\\\\b}", "[", "]", "\\diagbox{a}{b}",
        "\\begin{", "\\end{",
        "\\input{x}", "\\color{", "\\SI{1}{\\percent}", "~", "\n\n", "1.5", "(+2.4)", "--", "\\footnote{",
        "\\newcommand{\\", "\\endhead",
    ],
    "markdown": [
        "|", "|---|", "---", "\n", "**", "__", "*", "_", "<b>", "</b>", "<table>", "</table>", "<td colspan=999>", "`",
        "\\|", "$", "[", "](",
        "<sup>", "~~", "|:-:|", "<!--", "![", "&nbsp;", "&#0;", "&#x110000;", "# ", "± 0.3", "(+1.2)", "<", "\\",
    ],
    "html": [
        "<table>", "</table>", "<tr>", "<td>", "<th>", "<td rowspan=99999>", "<td colspan='99999'>", "<thead>",
        "<caption>", "<!--", "-->",
        "<![CDATA[", "<script>", "</script>", "<svg>", "<b>", "</b>", "<sup>", "&", "&#", "&#xFFFFFFFFF;", "<a href='",
        "\"", "'", "<", ">",
        "</", "<?", "<!", "<!DOCTYPE", "<td", "/>", "1.5", "&plusmn;", "<table><tr><td>", "<style>",
    ],
    "csv": [",", ";", "\t", "\"", "\"\"", "\n", "\r", "\r\n", "'", "1,5", "1.5", "|", "#", "printed", "=1+1", "1e400",
    "nan", "-", "\ufeff"],
    "yaml": [
        ":", "- ", "{", "}", "[", "]", "&a ", "*a", "|", ">", "'", "\"", "#", "?", "!!python/object:os.system ",
        "<<: *a", "\n", "  ", "---", "...",
        "claims:", "printed:", "1e400", ".nan", "~", "tables:", "\t", "%YAML 1.1", "@", "`",
    ],
}  # fmt: skip
BOMBS: dict[str, list[Callable[[int], str]]] = {
    "latex": [
        lambda n: "\\begin{tabular}{l}" + "{" * n + "1" + "}" * n + "\\end{tabular}",
        lambda n: "\\begin{tabular}{l}" * n + "1",
        lambda n: "\\begin{tabular}{l}" + "\\textbf{" * n + "1" + "\\end{tabular}",
        lambda n: "\\begin{tabular}{l}" + "\\multicolumn{400}{c}{1} & " * n + "\\end{tabular}",
        lambda n: "\\begin{tabular}{l}" + "\\multirow{9999}{*}{1} & \\\\" * n + "\\end{tabular}",
        lambda n: "".join(f"\\newcommand{{\\{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}}}{{"
                          f"\\{chr(97 + (i + 1) % 26)}{chr(97 + (i + 1) // 26 % 26)}" * 1 + "}" for i in range(min(n,
                              600)))
        + "\\begin{tabular}{l}\\aa\\end{tabular}",
        lambda n: "\\begin{tabular}{l}" + "x_" * n + "\\end{tabular}",
        lambda n: "\\caption{" * n,
        lambda n: "\\begin{table}" + "\\caption{a" * n + "\\begin{tabular}{l}1\\end{tabular}\\end{table}",
        lambda n: "\\begin{tabular}{l}" + "& " * n + "\\end{tabular}",
        lambda n: "\\begin{tabular}{l}" + "1 \\\\\n" * n + "\\end{tabular}",
        lambda n: "[" * n, lambda n: "\\begin{tabular}" + "[" * n + "{l}1\\end{tabular}",
    ],
    "markdown": [
        lambda n: "|a|b|\n|-|-|\n" + "|1|2|\n" * n, lambda n: "|" * n + "\n" + "|-" * n + "|\n" + "|1" * n,
        lambda n: "|a|\n|-|\n|" + "*" * n + "1|", lambda n: "|a|\n|-|\n|" + "[" * n + "1|",
            lambda n: "|a|\n|-|\n|" + "<b>" * n + "1|",
        lambda n: "|a|\n|-|\n|" + "`" * n + "1|", lambda n: "|a|b|\n" * n, lambda n: "-|" * n,
            lambda n: "|a|\n|-|\n|" + "_a" * n + "|",
        lambda n: "<table><tr><td>" * n + "1", lambda n: "|a|\n|-|\n|" + "$" * n + "|",
            lambda n: "\n" * n + "|a|\n|-|\n|1|\n",
    ],
    "html": [
        lambda n: "<table><tr><td>" * n + "1", lambda n: "<table><tr>" + "<td colspan=400 rowspan=20000>1" * n,
            lambda n: "<div>" * n,
        lambda n: "<table><tr><td>" + "<b>" * n + "1", lambda n: "<!--" * n, lambda n: "<" * n, lambda n: "<a " * n,
            lambda n: "</" * n,
        lambda n: "<![" * n, lambda n: "<?" * n, lambda n: "&" * n, lambda n: "&#" * n, lambda n: "<a b='" * n,
            lambda n: "<script>" * n,
        lambda n: "<table>" + "<tr><td>1<td>2" * n, lambda n: "<td x=" * n, lambda n: "<!DOCTYPE" * n,
            lambda n: "<svg><script>" * n,
    ],
    "csv": [
        lambda n: "a," * n, lambda n: "a\n" * n, lambda n: "\"" * n, lambda n: "\"a" * n,
            lambda n: "m,x\n" + "a,1.5\n" * n,
        lambda n: ",".join("abc" for _ in range(n)) + "\n" + ",".join("1" for _ in range(n)),
            lambda n: "a,b\n1," + "9" * n,
        lambda n: "\n".join(";" * (i % 7) for i in range(n)),
    ],
    "yaml": [
        lambda n: "[" * n, lambda n: "{" * n, lambda n: "a: " * n, lambda n: "- " * n + "1",
            lambda n: "a:\n" + "- 1\n" * n,
        lambda n: "&a [" + "*a," * n + "]", lambda n: "\n".join(f"{' ' * i}a{i}:" for i in range(min(n, 400))),
            lambda n: "? " * n,
        lambda n: "a: &a [x]\n" + "\n".join(f"b{i}: [*a, *a]" for i in range(n)), lambda n: "'" * n,
            lambda n: "id: x\nclaims: [" + "{}," * n + "]",
    ],
}  # fmt: skip

YAML_SEED = """id: seed
source: a fuzz seed
shared: {n: 1}
tables:
  - table: Table 1
    columns: task
    header: [CIFAR10, CIFAR100]
    cells:
      Default: [94.20, 74.00]
      Mask: [95.66 (+1.46), 77.95 ± 0.3]
claims:
  - {printed: "85.90", scope: {task: "A", metric: "top-1"}, where: {table: "Table 2", row: "Mask"}, bold: true}
ack:
  - {check: DELTA, reason: looked at, printed: "85.90", table: Table 2, row: Mask}
"""


MAPPING_SEED = """tables:
  - {match: tab:main, name: Table 1, rows: method, columns: [task, metric], metric: [loss, accuracy], brackets: spread}
  - match: 2
    scope: {task: CIFAR-10, split: test}
    labels: {A: {method: Alpha}}
    roles: {All: average, A: part}
    n: 5
    header_rows: 2
macros: {best: bold}
"""


@dataclass
class Outcome:
    """What happened to the inputs."""

    inputs: int = 0
    read: int = 0
    refused: int = 0
    numbers: int = 0
    crashes: list[str] = field(default_factory=list)
    slow: list[tuple[float, str]] = field(default_factory=list)
    slowest: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def corpus() -> dict[str, list[bytes]]:
    """Seeds by format: the fixture tables, and fragments written for the purpose."""
    found: dict[str, list[bytes]] = {name: [] for name in SUFFIXES}
    for path in sorted(TABLES.iterdir()):
        kind = {".tex": "latex", ".md": "markdown", ".html": "html", ".csv": "csv", ".tsv": "csv"}.get(path.suffix)
        if kind is not None:
            data = path.read_bytes()
            found[kind].append(data)
            found[kind] += fragments(data, kind)
    found["yaml"] += [YAML_SEED.encode(), MAPPING_SEED.encode()]
    found["csv"].append(b"printed,task,metric,method,table,spread,delta\n85.90,A,top-1,Mask,Table 1,0.3,+1.2\n")
    return found


def fragments(data: bytes, kind: str) -> list[bytes]:
    """The single tables of a seed, so that most inputs are small and fast."""
    marks = {"latex": b"\\begin{table}", "markdown": b"\n\n", "html": b"<table"}
    if kind not in marks:
        return []
    parts = data.split(marks[kind])
    return [marks[kind] + part for part in parts if len(part) > 40]


def mutate(random_: random.Random, seeds: list[bytes], kind: str) -> bytes:
    """One input: a seed with a few mutations, a splice of two seeds, or a bomb."""
    if random_.random() < 0.01:
        return bomb(random_, kind)
    data = bytearray(random_.choice(seeds))
    for _ in range(random_.choice((1, 1, 2, 3, 5, 8, 20))):
        random_.choice(MUTATIONS)(random_, data, seeds, kind)
    return bytes(data[:200_000])


def bomb(random_: random.Random, kind: str) -> bytes:
    """Deep nesting or long repetition."""
    make = random_.choice(BOMBS[kind])
    return make(random_.choice((10, 50, 300, 1000, 5000)))[:200_000].encode()


def flip(random_: random.Random, data: bytearray, seeds: list[bytes], kind: str) -> None:
    """Mostly in the lower bits, so that most inputs stay UTF-8 and reach the parsers."""
    if data:
        data[random_.randrange(len(data))] ^= 1 << (7 if random_.random() < 0.05 else random_.randrange(7))


def raw_byte(random_: random.Random, data: bytearray, seeds: list[bytes], kind: str) -> None:
    at = random_.randrange(len(data) + 1)
    invalid = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80")
    valid = (
        b"\x00",
        b"\r",
        b"\x1a",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xae",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
        b"\xc2\xb1",
        b"\xe2\x88\x92",
    )
    data[at:at] = random_.choice(invalid if random_.random() < 0.05 else valid)


def insert_token(random_: random.Random, data: bytearray, seeds: list[bytes], kind: str) -> None:
    at = random_.randrange(len(data) + 1)
    data[at:at] = random_.choice(TOKENS[kind]).encode() * random_.choice((1, 1, 1, 2, 30))


def delete(random_: random.Random, data: bytearray, seeds: list[bytes], kind: str) -> None:
    at = random_.randrange(len(data) + 1)
    del data[at : at + random_.choice((1, 1, 3, 10, 100))]


def duplicate(random_: random.Random, data: bytearray, seeds: list[bytes], kind: str) -> None:
    at = random_.randrange(len(data) + 1)
    chunk = bytes(data[at : at + random_.choice((1, 5, 20, 200))])
    data[at:at] = chunk * random_.choice((1, 1, 2, 10))


def splice(random_: random.Random, data: bytearray, seeds: list[bytes], kind: str) -> None:
    other = random_.choice(seeds)
    cut = random_.randrange(len(data) + 1)
    data[cut:] = other[random_.randrange(len(other) + 1) :]


def digit(random_: random.Random, data: bytearray, seeds: list[bytes], kind: str) -> None:
    places = [at for at, byte in enumerate(data[:5000]) if 48 <= byte <= 57]
    if places:
        data[random_.choice(places)] = random_.choice(b"0123456789.,-+eE%")


def swap_lines(random_: random.Random, data: bytearray, seeds: list[bytes], kind: str) -> None:
    lines = bytes(data).split(b"\n")
    first, second = random_.randrange(len(lines)), random_.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    data[:] = b"\n".join(lines)


def foreign(random_: random.Random, data: bytearray, seeds: list[bytes], kind: str) -> None:
    insert_token(random_, data, seeds, random_.choice(sorted(TOKENS)))


MUTATIONS = (flip, raw_byte, insert_token, insert_token, delete, duplicate, splice, digit, swap_lines, foreign)


def inputs(count: int, seed: int) -> Iterator[tuple[int, str, bytes]]:
    """`count` inputs, the formats in turn; input i depends on (seed, i) alone."""
    seeds = corpus()
    kinds = list(SUFFIXES)
    for index in range(count):
        kind = kinds[index % len(kinds)]
        yield index, kind, mutate(random.Random(f"{seed}:{index}"), seeds[kind], kind)


def examine(data: bytes, kind: str, folder: Path) -> int:
    """Import one input; the number of claims. What is returned must hold together; raises what the importer raises."""
    path = folder / f"input{SUFFIXES[kind]}"
    path.write_bytes(data)
    if kind == "yaml":
        with contextlib.suppress(BenchError):
            load_mapping(path)
    result = import_file(path, kind)
    if len(result.claims) != len(result.places):
        raise AssertionError("a claim without a place")
    for claim in result.claims:
        if kind not in ("yaml", "csv"):
            Decimal(claim.printed)  # raises unless it is a number; a cell may say nan
    for item in result.unread:
        if not item.reason:
            raise AssertionError("unread without a reason")
    return len(result.claims)


def run(count: int, seed: int, progress: bool = False) -> Outcome:
    """Examine `count` inputs."""
    outcome = Outcome()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        for index, kind, data in inputs(count, seed):
            _one(outcome, index, kind, data, Path(name))
            if progress and index % 5000 == 4999:
                say(f"{index + 1} inputs, {time.perf_counter() - started:.0f} s, slowest {outcome.slowest:.2f} s")
    outcome.seconds = time.perf_counter() - started
    return outcome


def _one(outcome: Outcome, index: int, kind: str, data: bytes, folder: Path) -> None:
    outcome.inputs += 1
    began = time.process_time()
    try:
        outcome.numbers += examine(data, kind, folder)
        outcome.read += 1
    except BenchError as error:
        outcome.refused += 1
        outcome.reasons[type(error).__name__] += 1
        if not str(error).strip():
            outcome.crashes.append(f"input {index} ({kind}): an error without a message")
    except Exception:
        outcome.crashes.append(f"input {index} ({kind}):\n{traceback.format_exc(limit=-4)}")
    took = time.process_time() - began
    outcome.slowest = max(outcome.slowest, took)
    if took > SECONDS_PER_INPUT:
        outcome.slow.append((took, f"input {index} ({kind}), {len(data)} bytes"))


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def peak_mebibytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dump", type=int, metavar="INDEX", help="write one input to standard output and stop")
    arguments = parser.parse_args()
    if arguments.dump is not None:
        seeds = corpus()
        kind = list(SUFFIXES)[arguments.dump % len(SUFFIXES)]
        sys.stdout.buffer.write(mutate(random.Random(f"{arguments.seed}:{arguments.dump}"), seeds[kind], kind))
        return 0
    outcome = run(arguments.inputs, arguments.seed, progress=True)
    say(
        f"{outcome.inputs} inputs in {outcome.seconds:.0f} s: {outcome.read} read ({outcome.numbers} numbers), "
        f"{outcome.refused} refused "
        f"{dict(outcome.reasons)}, {len(outcome.crashes)} crashes, {len(outcome.slow)} over {SECONDS_PER_INPUT} s, "
        f"slowest {outcome.slowest:.2f} s, peak memory {peak_mebibytes():.0f} MiB"
    )
    for text in [*outcome.crashes[:20], *(f"{took:.1f} s: {what}" for took, what in outcome.slow[:20])]:
        say(text)
    return 1 if outcome.crashes or outcome.slow else 0


if __name__ == "__main__":
    sys.exit(main())
