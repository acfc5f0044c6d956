"""Sentences around the tables: true ones are silent, false ones are told, what is not understood is listed."""

from __future__ import annotations

import random
import time

import pytest

from leaderboard.checks.runner import check_claims
from leaderboard.claims import load
from leaderboard.claims.importers import import_text
from leaderboard.claims.importers.write import write_claims

ACCURACY = r"""
\begin{table}[t]\centering
\caption{Linear evaluation accuracy (\%).}\label{tab:lin}
\begin{tabular}{lcccc}\toprule
Method & CIFAR-10 & CIFAR-100 & STL-10 & SVHN \\ \midrule
Supervised & 95.9 & 76.0 & 90.1 & 97.1 \\
SimCLR & 94.0 & 72.5 & 91.3 & 96.8 \\
BYOL & 93.2 & 73.1 & 91.9 & 95.0 \\
\textsc{PairMix} (ours) & 94.9 & 74.8 & 92.6 & 96.4 \\ \bottomrule
\end{tabular}\end{table}
"""
"""PairMix is better than SimCLR by 0.9, 2.3, 1.3 and −0.4, and than BYOL by 1.7, 1.7, 0.7 and 1.4."""

SPEECH = r"""
\begin{table}\caption{Word error rate (\%) on LibriSpeech.}\label{tab:wer}
\begin{tabular}{lcc}\toprule
Model & test-clean & test-other \\ \midrule
Conformer & 2.1 & 4.3 \\
wav2vec & 2.2 & 4.8 \\
Ours & 1.8 & 4.0 \\ \bottomrule
\end{tabular}\end{table}
"""

SEGMENTATION = r"""
\begin{table}\caption{Segmentation, Dice (\%) $\uparrow$ and HD95 (mm) $\downarrow$.}\label{tab:seg}
\begin{tabular}{lcccc}\toprule
 & \multicolumn{2}{c}{Synapse} & \multicolumn{2}{c}{ACDC} \\
Method & Dice & HD95 & Dice & HD95 \\ \midrule
U-Net & 76.9 & 39.7 & 87.6 & 3.2 \\
TransUNet & 82.7 & 31.7 & 89.7 & 1.1 \\
SegHyp & 85.1 & 18.6 & 91.4 & 1.3 \\ \bottomrule
\end{tabular}\end{table}
We propose SegHyp, a hypernetwork for segmentation.
"""
"""SegHyp against TransUNet: Dice +2.4 and +1.7, HD95 better by 13.1 and worse by 0.2."""


def findings(body: str, tmp_path, name: str = "paper.tex"):
    path = tmp_path / name
    path.write_text(body)
    return check_claims([load(str(path))], ["PROSE"]).findings


SOUND_ACCURACY = [
    r"As Table~\ref{tab:lin} shows, \textsc{PairMix} consistently outperforms BYOL on all four datasets.",
    r"Our method outperforms BYOL on every dataset (see Table~\ref{tab:lin}).",
    r"PairMix outperforms SimCLR on CIFAR-10, CIFAR-100 and STL-10.",
    r"PairMix improves over SimCLR by 2.3 points on CIFAR-100.",
    r"On CIFAR-100, PairMix improves over SimCLR by 2.3\%.",
    r"On CIFAR-100, we improve over SimCLR by 3.2\% (relative).",
    r"PairMix outperforms SimCLR by 2.3 and 1.3 points on CIFAR-100 and STL-10, respectively.",
    r"PairMix surpasses SimCLR and BYOL by 2.3\% and 1.7\% on CIFAR-100.",
    r"Compared with BYOL, our approach gains 1.4 points on SVHN.",
    r"Our method achieves an improvement of 1.7 points over BYOL on CIFAR-10.",
    r"PairMix achieves a 1.7\% gain over BYOL on CIFAR-10 and CIFAR-100.",
    r"SimCLR outperforms PairMix on SVHN by 0.4 points.",
    r"On SVHN, PairMix trails SimCLR by 0.4 points.",
    r"PairMix consistently outperforms SimCLR on all datasets except SVHN.",
    r"PairMix outperforms SimCLR on most datasets.",
    r"PairMix often outperforms all baselines.",
    r"PairMix outperforms SimCLR on all datasets. The only exception is SVHN.",
    r"PairMix does not outperform SimCLR on all datasets.",
    r"PairMix outperforms SimCLR by up to 2.3 points.",
    r"PairMix outperforms SimCLR by about 2 points on CIFAR-100.",
    r"On average, PairMix outperforms SimCLR by 1.0 points.",
    r"PairMix outperforms SimCLR by 1.0 points across all datasets.",
    r"PairMix outperforms SimCLR by 5.1 points on ImageNet.",
    r"With a ViT-B backbone, PairMix outperforms SimCLR by 7.7 points on CIFAR-100.",
    r"PairMix outperforms MoCo by 4.4 points on CIFAR-100.",
    r"Figure~\ref{fig:curve} shows that PairMix outperforms SimCLR on all datasets.",
    r"Figure~\ref{fig:curve} shows the accuracy per epoch. PairMix outperforms SimCLR on all datasets.",
    r"PairMix achieves the best accuracy among self-supervised methods on STL-10.",
    r"Our method achieves the best accuracy on STL-10.",
    r"PairMix yields the highest accuracy on STL-10, while using fewer parameters.",
    r"PairMix improves upon SimCLR.",
    r"PairMix achieves 94.9\% on CIFAR-10, outperforming SimCLR by 0.9 points.",
    r"PairMix significantly outperforms BYOL across the board, demonstrating the benefit of mixing.",
    r"Despite its simplicity, PairMix outperforms BYOL on all benchmarks.",
    r"Like SimCLR, PairMix uses two views; it improves results by 9.9 points over training from scratch.",
    r"SimCLR improves by 9.9 points over a random initialization.",
    r"PairMix reduces the error of SimCLR by 8.4\% on CIFAR-100.",
    r"PairMix without mixing outperforms SimCLR by 8.8 points.",
    r"PairMix combined with SimCLR outperforms BYOL by 8.8 points.",
    r"If tuned well, PairMix outperforms SimCLR on all datasets.",
    r"We expect that PairMix outperforms SimCLR on all datasets.",
    r"PairMix should outperform SimCLR on every dataset.",
    r"Does PairMix outperform SimCLR on all datasets?",
    r"Contrary to BYOL, PairMix outperforms SimCLR on CIFAR-100.",
    r"PairMix outperforms SimCLR, e.g., by 2.3 points on CIFAR-100.",
    r"% PairMix outperforms SimCLR on all datasets by 9.9 points.",
    r"\begin{equation} PairMix outperforms SimCLR on all datasets \end{equation}",
    r"PairMix consistently outperforms SimCLR across three seeds.",
    r"With 1\% of the labels PairMix outperforms SimCLR on all datasets.",
    r"PairMix outperforms SimCLR for all learning rates.",
]

FALSE_ACCURACY = [
    (r"As Table~\ref{tab:lin} shows, \textsc{PairMix} consistently outperforms SimCLR on all four datasets.", "SVHN"),
    (r"Our method consistently outperforms SimCLR.", "SVHN"),
    (r"Our approach outperforms SimCLR on every dataset.", "96.4 − 96.8 = −0.4"),
    (r"PairMix surpasses both SimCLR and BYOL across all datasets, demonstrating its generality.", "SVHN"),
    (r"PairMix consistently outperforms all baselines on every dataset.", "SVHN"),
    (r"We outperform all competing methods on all benchmarks.", "SVHN"),
    (r"Our method achieves the best results on all datasets.", "SVHN"),
    (r"PairMix sets a new state of the art on SVHN.", "SVHN"),
    (r"PairMix outperforms SimCLR on SVHN.", "96.4 − 96.8"),
    (r"On CIFAR-100 and SVHN, PairMix consistently beats SimCLR.", "SVHN"),
    (r"PairMix improves over SimCLR by 3.3 points on CIFAR-100.", "74.8 − 72.5 = 2.3"),
    (r"On CIFAR-100, PairMix improves over SimCLR by 4.3\%.", "2.3"),
    (r"PairMix outperforms SimCLR by 3.2 points on CIFAR-100.", "2.3"),
    (r"PairMix outperforms SimCLR by 2.3 and 2.3 points on CIFAR-100 and STL-10, respectively.", "1.3"),
    (r"Compared with BYOL, our approach gains 2.4 points on SVHN.", "1.4"),
    (r"Our method achieves an improvement of 2.7 points over BYOL on CIFAR-10.", "1.7"),
    (r"PairMix achieves a 7.1\% gain over BYOL on CIFAR-10.", "1.7"),
    (r"PairMix improves accuracy by 3.9 percentage points over SimCLR.", "2.3"),
    (r"PairMix outperforms the second-best method by 4.9 points on STL-10.", "0.7"),
    (r"PairMix is 2.7 points better than BYOL on CIFAR-10.", "1.7"),
    (r"On SVHN, PairMix trails SimCLR by 1.4 points.", "0.4"),
    (r"PairMix outperforms SimCLR by 0.4 points on SVHN.", "−0.4"),
    (r"In Table 1, PairMix beats SimCLR by a margin of 3.2 points on CIFAR-100.", "2.3"),
]


@pytest.mark.parametrize("sentence", SOUND_ACCURACY)
def test_a_true_or_restricted_sentence_is_silent(sentence, tmp_path):
    assert findings(f"{ACCURACY}\n{sentence}\n", tmp_path) == []


@pytest.mark.parametrize(("sentence", "shown"), FALSE_ACCURACY)
def test_a_false_sentence_is_told_with_its_arithmetic(sentence, shown, tmp_path):
    found = findings(f"{ACCURACY}\n\n{sentence}\n", tmp_path)
    assert found, import_text(f"{ACCURACY}\n\n{sentence}\n", "latex").unread_sentences
    assert str(found[0].severity) == "warning"
    assert shown in found[0].message + found[0].arithmetic
    assert f"(line {ACCURACY.count(chr(10)) + 3})" in found[0].message
    assert f"line {ACCURACY.count(chr(10)) + 3}" in f"line {found[0].cells[0].line}"


SOUND_OTHER = [
    (SPEECH, r"Ours reduces the WER by 0.3 points over Conformer on test-other."),
    (SPEECH, r"Our model outperforms all baselines on both test sets."),
    (SPEECH, r"Our model improves over wav2vec by 0.8 on test-other."),
    (SPEECH, r"We obtain a relative improvement of 16.7\% over wav2vec on test-other."),
    (SPEECH, r"Our system achieves the lowest WER on test-clean and test-other."),
    (SEGMENTATION, r"SegHyp improves by 2.4 Dice points over TransUNet on Synapse."),
    (SEGMENTATION, r"SegHyp consistently outperforms TransUNet in terms of Dice."),
    (SEGMENTATION, r"SegHyp consistently outperforms TransUNet on both datasets."),
    (SEGMENTATION, r"Our method outperforms U-Net on all datasets and metrics."),
    (SEGMENTATION, r"Our method reduces HD95 by 13.1 over TransUNet on Synapse."),
    (SEGMENTATION, r"Our method outperforms TransUNet by 2.4 and 1.7 Dice points on Synapse and ACDC."),
]
FALSE_OTHER = [
    (SPEECH, r"Ours reduces the WER by 0.8 points over Conformer on test-other."),
    (SPEECH, r"wav2vec outperforms Conformer on all test sets."),
    (SPEECH, r"We obtain a relative improvement of 26.7\% over wav2vec on test-other."),
    (SPEECH, r"wav2vec achieves the lowest WER on test-clean."),
    (SEGMENTATION, r"SegHyp improves by 3.4 Dice points over TransUNet on Synapse."),
    (SEGMENTATION, r"SegHyp consistently outperforms TransUNet on all datasets and metrics."),
    (SEGMENTATION, r"Our method outperforms TransUNet in terms of HD95 on all datasets."),
    (SEGMENTATION, r"Our method outperforms TransUNet by 2.4 and 2.7 Dice points on Synapse and ACDC."),
]


@pytest.mark.parametrize(("table", "sentence"), SOUND_OTHER)
def test_true_sentences_on_other_tables_are_silent(table, sentence, tmp_path):
    assert findings(f"{table}\n{sentence}\n", tmp_path) == []


@pytest.mark.parametrize(("table", "sentence"), FALSE_OTHER)
def test_false_sentences_on_other_tables_are_told(table, sentence, tmp_path):
    found = findings(f"{table}\n{sentence}\n", tmp_path)
    assert len(found) == 1, import_text(f"{table}\n\n{sentence}\n", "latex").unread_sentences


MARKDOWN = """# Results

| Method | CoLA | SST-2 |
|---|---|---|
| BERT | 60.3 | 93.1 |
| **Ours** | 65.2 | 92.9 |

"""
HTML = """<h2>Accuracy</h2><table><tr><th>Method</th><th>CoLA</th><th>SST-2</th></tr>
<tr><td>BERT</td><td>60.3</td><td>93.1</td></tr><tr><td>Ours</td><td>65.2</td><td>92.9</td></tr></table>
<p>Some words, then <b>more</b>.</p>
"""


def accuracy(table: str) -> str:
    return table.replace("# Results", "# Accuracy (%)")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Our method **consistently** outperforms BERT on all tasks.", 1),
        ("Our method improves over BERT\nby 4.9 points on CoLA.", 0),
        ("- Our method improves over BERT by 5.9 points on CoLA.", 1),
        ("```\nOur method improves over BERT by 5.9 points on CoLA.\n```", 0),
        ("> Our method outperforms BERT on SST-2.", 1),
        ("In Table 1, our method beats BERT by 4.9 points.", 0),
    ],
)
def test_markdown_paragraphs_and_items_are_read(sentence, expected, tmp_path):
    found = findings(f"{accuracy(MARKDOWN)}{sentence}\n", tmp_path, "README.md")
    assert len(found) == expected
    assert all(finding.cells[0].line == 8 for finding in found)


def test_html_text_outside_of_tables_is_read(tmp_path):
    said = "<p>Our method <b>consistently</b>\noutperforms BERT on all tasks.</p>"
    found = findings(f"{HTML}{said}<script>Ours outperforms BERT on SST-2.</script>", tmp_path, "page.html")
    assert [finding.cells[0].line for finding in found] == [4]


def test_a_caption_speaks_of_its_own_table(tmp_path):
    body = ACCURACY.replace("accuracy (\\%).}", "accuracy (\\%). PairMix consistently outperforms SimCLR.}")
    other = ACCURACY.replace("tab:lin", "tab:other").replace("96.4", "96.9")
    assert len(findings(body + other, tmp_path)) == 1
    assert (
        findings(other.replace("(\\%).}", "(\\%). PairMix consistently outperforms SimCLR.}") + ACCURACY, tmp_path)
        == []
    )


def test_a_reference_chooses_among_tables_and_without_one_nothing_is_guessed(tmp_path):
    other = ACCURACY.replace("tab:lin", "tab:other").replace("96.4", "96.9")
    said = "PairMix consistently outperforms SimCLR on all datasets"
    assert findings(f"{ACCURACY}{other}\n\n{said}.", tmp_path) == []
    assert findings(f"{ACCURACY}{other}\n\n{said} (Table~\\ref{{tab:other}}).", tmp_path) == []
    assert len(findings(f"{ACCURACY}{other}\n\n{said} (Table~\\ref{{tab:lin}}).", tmp_path)) == 1
    assert len(findings(f"{ACCURACY}{other}\n\nTable~\\ref{{tab:lin}} shows the results. {said}.", tmp_path)) == 1
    unread = import_text(f"{ACCURACY}{other}\n\n{said}.", "latex").unread_sentences
    assert [item.reason for item in unread] == ["it may mean Table 1 or Table 2"]


def test_the_row_called_ours_is_the_one_that_the_text_proposes(tmp_path):
    table = ACCURACY.replace(" (ours)", "")
    said = "Our method consistently outperforms SimCLR on all datasets."
    assert findings(f"{table}\n\n{said}", tmp_path) == []
    assert len(findings(f"{table}\n\nIn this paper we propose PairMix, which mixes pairs.\n\n{said}", tmp_path)) == 1
    two = ACCURACY.replace("BYOL", "PairMix-S (ours)")
    assert findings(f"{two}\n\n{said}", tmp_path) == []


@pytest.mark.parametrize(
    "body",
    [
        "\\section{Related work}\nBYOL consistently outperforms SimCLR on all datasets.\n",
        "BYOL consistently outperforms SimCLR on all datasets~\\cite{byol}.\n",
        "\\begin{document}\\input{more}\nPairMix consistently outperforms SimCLR on all datasets.\n",
        "\\newcommand{\\claim}{PairMix consistently outperforms SimCLR on all datasets.}\n",
        "\\mymethod consistently outperforms SimCLR on all datasets.\n",
        "\\begin{figure}\\caption{PairMix consistently outperforms SimCLR on all datasets.}\\end{figure}\n",
    ],
)
def test_what_may_be_about_something_else_is_left_alone(body, tmp_path):
    assert findings(f"{ACCURACY}\n\n{body}", tmp_path) == []


def test_authors_macros_are_expanded(tmp_path):
    macro = "\\newcommand{\\ours}{\\textsc{PairMix}\\xspace}\n"
    body = f"{macro}{ACCURACY}\n\nWe see that \\ours{{}} beats SimCLR on \\emph{{all}} datasets."
    assert len(findings(body, tmp_path)) == 1


def test_a_mark_on_the_row_or_two_rows_of_one_name_is_no_guess(tmp_path):
    two = ACCURACY.replace("BYOL &", "SimCLR$^\\dagger$ &")
    assert findings(f"{two}\n\nPairMix outperforms SimCLR by 9.9 points on CIFAR-100.", tmp_path) == []


def test_equal_numbers_and_missing_ones_contradict_nothing(tmp_path):
    said = "PairMix consistently outperforms SimCLR on all datasets."
    assert findings(f"{ACCURACY.replace('96.4', '96.8')}\n\n{said}", tmp_path) == []
    assert findings(f"{ACCURACY.replace('96.4', '--')}\n\n{said}", tmp_path) == []


def test_a_row_that_the_table_does_not_let_compete_is_no_baseline(tmp_path):
    bold = ACCURACY.replace(
        "94.9 & 74.8 & 92.6 & 96.4", r"\textbf{94.9} & \textbf{74.8} & \textbf{92.6} & \textbf{96.4}"
    )
    said = "PairMix outperforms all baselines on every dataset."
    assert findings(f"{bold}\n\n{said}", tmp_path) == []
    upper = ACCURACY.replace("SimCLR &", "SimCLR (oracle) &")
    assert findings(f"{upper}\n\n{said}", tmp_path) == []


def test_a_row_of_another_size_is_no_baseline(tmp_path):
    said = "PairMix outperforms all baselines on every dataset."
    assert findings(f"{ACCURACY.replace('SimCLR &', 'SimCLR-L &')}\n\n{said}", tmp_path) == []
    assert len(findings(f"{ACCURACY.replace('SimCLR &', 'L &')}\n\n{said}", tmp_path)) == 1


def test_an_improved_row_may_be_another_one(tmp_path):
    body = ACCURACY.replace("BYOL &", "SimCLR + PairMix &")
    assert findings(f"{body}\n\nPairMix improves SimCLR by 9.9 points on CIFAR-100.", tmp_path) == []
    assert len(findings(f"{ACCURACY}\n\nPairMix improves SimCLR by 9.9 points on CIFAR-100.", tmp_path)) == 1


def test_sentences_survive_the_way_through_a_claims_file_and_can_be_acknowledged(tmp_path):
    body = f"{ACCURACY}\n\nPairMix consistently outperforms SimCLR on all datasets.\n"
    (finding,) = findings(body, tmp_path)
    result = import_text(body, "latex")
    path = tmp_path / "paper.yaml"
    write_claims(result.claims, path, "paper.tex", (), result.text_claims)
    assert load(str(path)).text_claims == result.text_claims
    (again,) = check_claims([load(str(path))], ["PROSE"]).findings
    assert again.fingerprint == finding.fingerprint
    kept = f"ack: [{{check: PROSE, printed: {finding.fingerprint}, reason: erratum}}]\n"
    path.write_text(path.read_text() + kept)
    (known,) = check_claims([load(str(path))], ["PROSE"]).findings
    assert known.acknowledged == "erratum"


def test_other_checks_leave_what_was_read_alone(tmp_path):
    path = tmp_path / "paper.tex"
    path.write_text(f"{ACCURACY}\n\nPairMix consistently outperforms BYOL on all datasets.\n")
    assert check_claims([load(str(path))], ["CONSIST", "SINGLE", "NOISE"]).findings == []


def test_sentences_that_are_not_read_are_counted_once(tmp_path):
    path = tmp_path / "paper.tex"
    path.write_text(f"{ACCURACY}\n\nPairMix nearly always wins over SimCLR, by 2.3 points or more, consistently.\n")
    assert load(str(path)).notes == ("1 sentence that compares results was not read",)


# --- sentences made from tables ---------------------------------------------------------------------------------------

NAMES = ("Alpha", "Bravo", "Charlie", "Delta-Net", "EchoNet")
TASKS = ("CIFAR-10", "SVHN", "STL-10", "Food-101", "Pets")


def random_table(draw: random.Random) -> tuple[str, dict[tuple[str, str], int]]:
    """A table of tenths and its numbers by method and task."""
    methods, tasks = draw.sample(NAMES, draw.randint(2, 5)), draw.sample(TASKS, draw.randint(2, 5))
    cells = {(m, t): draw.randint(400, 990) for m in methods for t in tasks}
    rows = [f"{m} & " + " & ".join(f"{cells[m, t] / 10:.1f}" for t in tasks) + r" \\" for m in methods]
    head = "Method & " + " & ".join(tasks) + r" \\ \midrule"
    body = "\n".join((head, *rows))
    return (
        f"\\begin{{table}}\\caption{{Accuracy (\\%).}}\n\\begin{{tabular}}{{l{'c' * len(tasks)}}}\\toprule\n{body}\n"
        "\\bottomrule\\end{tabular}\\end{table}\n\n",
        cells,
    )


GAINS = (
    "{a} outperforms {b} by {d} points on {t}.",
    "On {t}, {a} improves over {b} by {d}\\%.",
    "{a} achieves a gain of {d} percentage points over {b} on {t}.",
    "Compared with {b}, {a} gains {d} points on {t}.",
    "{a} improves by {d} points over {b}.",
    "We find that {a} is {d} points better than {b} on {t}.",
)
ALWAYS = (
    "{a} consistently outperforms {b} on all datasets.",
    "{a} is better than {b} on every dataset.",
    "As can be seen, {a} surpasses {b} across all benchmarks.",
    "{a} yields consistent improvements over {b} on all {n} datasets.",
)


@pytest.mark.parametrize("seed", range(60))
def test_sentences_made_from_the_numbers_are_judged_right(seed, tmp_path):
    draw = random.Random(seed)
    table, cells = random_table(draw)
    methods, tasks = (list(dict.fromkeys(key[at] for key in cells)) for at in (0, 1))
    a, b = draw.sample(methods, 2)
    gaps = {t: cells[a, t] - cells[b, t] for t in tasks}
    for form in ALWAYS:
        expected = int(any(gap < 0 for gap in gaps.values()))
        assert len(findings(table + form.format(a=a, b=b, n=len(tasks)), tmp_path)) == expected, form
    task = max(gaps, key=gaps.__getitem__)
    if gaps[task] <= 0:
        return
    for form in GAINS:
        true = form.format(a=a, b=b, t=task, d=gaps[task] / 10)
        assert findings(table + true, tmp_path) == [], true
        false = form.format(a=a, b=b, t=task, d=gaps[task] / 10 + 217)
        assert len(findings(table + false, tmp_path)) == 1, false


# --- mutated text -----------------------------------------------------------------------------------------------------

PIECES = (
    "\\ref{", "}", "{", "$", "%", "\\", "«m0»", "«own»", "⟦", "⟧", "(", ")", "&", "by ", " 2.3 ", "\n\n", ".",
    "\\begin{table}", "\\end{document}", "\\cite{x}", "ours ", "all ", " on ", "SimCLR", "\x00", "\ue000", "⁇",
    "±", "```", "<table", "|", "'s",
)  # fmt: skip


@pytest.mark.parametrize("format", ["latex", "markdown", "html"])
def test_mutated_text_never_crashes(format):
    draw = random.Random(3)
    tables = {"latex": ACCURACY, "markdown": MARKDOWN, "html": HTML}
    texts = [*SOUND_ACCURACY, *(sentence for sentence, _ in FALSE_ACCURACY)]
    for _ in range(300):
        text = tables[format] + " ".join(draw.sample(texts, 3))
        for _ in range(draw.randint(1, 6)):
            at = draw.randrange(len(text))
            cut = at + draw.choice((0, 0, 1, 5))
            text = text[:at] + draw.choice(PIECES) + text[cut:]
        import_text(text, format)


@pytest.mark.parametrize(
    "unit",
    [
        "Ours outperforms SimCLR by 2.3 points on all datasets and ",
        "PairMix consistently outperforms SimCLR on SVHN. ",
        "ours better ",
        "PairMix, SimCLR, ",
        "\\ref{tab:lin} ",
        "by 2.3 and ",
        "(((",
        "\\begin{document}\\input{x}\n",
        "with a gain ",
    ],
)
def test_work_grows_with_the_text(unit):
    def seconds(count: int) -> float:
        began = time.process_time()
        import_text(ACCURACY + "\n\n" + unit * count, "latex")
        return time.process_time() - began

    for _ in range(3):
        small, large = seconds(500), seconds(4_000)
        if large < 0.5 or large < 24 * small:
            return
    pytest.fail(f"{small:.2f} s → {large:.2f} s for 8 times the text")


TRANSLATION = r"""
\begin{table}\caption{BLEU.}
\begin{tabular}{lcc}
 & De-En & Fr-En \\ \hline
DynConv & 35.2 & 37.0 \\
Ours & \textbf{36.1} & \textbf{37.5} \\
\end{tabular}\end{table}
"""


@pytest.mark.parametrize(("gain", "told"), [("0.9", 0), ("1.9", 1)])
def test_a_gain_in_the_tail_of_a_sentence_is_checked(gain, told, tmp_path):
    text = rf"{TRANSLATION} Our method outperforms DynConv on De-En, with a gain of {gain} BLEU."
    assert [said.by for said in import_text(text, "latex").text_claims] == [gain]
    assert len(findings(text, tmp_path)) == told


@pytest.mark.parametrize(
    "sentence",
    [
        "Our method outperforms DynConv on De-En and Fr-En, with gains of 1.9 and 0.8 BLEU.",
        "On Fr-En our method is 1.5 BLEU ahead of DynConv.",
        "On Fr-En DynConv is 0.4 BLEU behind our method.",
        "Our method outperforms all baselines on one of two language pairs.",
    ],
)
def test_a_comparison_that_is_not_understood_is_listed(sentence):
    result = import_text(f"{TRANSLATION} {sentence}", "latex")
    assert len(result.text_claims) + len(result.unread_sentences) == 1


def test_a_difference_in_a_unit_is_checked(tmp_path):
    table = TRANSLATION.replace("BLEU", "HD95 (mm)")
    text = f"{table} Compared with DynConv, our method reduces HD95 by 4.1 mm on De-En."
    assert [(said.by, said.by_unit) for said in import_text(text, "latex").text_claims] == [("4.1", "points")]
    assert len(findings(text, tmp_path)) == 1
