"""The conditions that a caption states for its whole table: budget, model, setting, and the number of test items."""

from __future__ import annotations

import re
from collections.abc import Sequence

from leaderboard.claims.importers.captions import NUMERALS

_COUNT = r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?"
_BUDGET = re.compile(
    rf"(?<![\w.-])((?:{_COUNT})[ -]?(?:k|m|b)?)[ -]?"
    r"(epochs?|iterations?|iters?|(?:training |gradient |optimi[sz]ation |update |environment |env\.? )?steps?|updates|"
    r"frames|gpu[ -]hours)\b|(?<![\w.])([136](?:\.0)?) ?[×x] schedule"
)
_SCALE = {"k": 1_000, "m": 1_000_000, "b": 1_000_000_000}
_FAMILIES = (
    r"wide-?resnet|wrn|resnext|resnest|preact-?resnet|resnet|vit|deit|beit|swin(?:v2)?|convnext(?:v2)?|"
    r"efficientnet(?:v2)?|mobilenet(?:v\d)?|densenet|vgg|inception|alexnet|regnet|pvt(?:v2)?|mit|hrnet|dinov2|clip|"
    r"bert|roberta|deberta(?:v3)?|albert|electra|gpt|opt|pythia|llama|qwen|mistral|mixtral|gemma|phi|flan-t5|t5|bart|"
    r"bloom|vicuna|gin|gcn|gat|pointnet|whisper|wav2vec|hubert|conformer|mamba|yolo(?:v\d+)?"
)
_MODEL = re.compile(
    rf"(?<![\w-])((?:{_FAMILIES})[- ]?(?:\d[\w.]*|base|small|large|tiny|huge|giant|xl|xxl|[tsblhgxn])(?:[-/]\w[\w.]*)*"
    r"|rn?-?(?:18|34|50|101|152))(?![\w-])"
)
_WORDS = rf"(?:{_COUNT}|{'|'.join(NUMERALS)}|zero|few|many)"
_SETTINGS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:{_WORDS}[ -]way,? ?)?{_WORDS}[ -]shots?\b",
        rf"(?:{_COUNT}) ?% (?:\w+[ -]){{0,2}}?(?:noise|corruption|sparsity|missing|masking|pruning|imbalance)\b",
        r"(?:noise|imbalance|corruption|missing|mask(?:ing)?|sparsity|pruning|poison(?:ing)?) "
        rf"(?:rate|ratio|level|factor|severity)s?(?: of| =|=)? ?(?:{_COUNT}) ?%?",
        rf"(?:{_COUNT}) ?% (?:of )?(?:the )?(?:\w+ )?"
        r"(?:labels?|labell?ed(?: \w+)?|data|annotations?|samples|examples|images)\b",
        r"(?:half|a third|a quarter|all) of the (?:\w+ )?(?:data|labels|images|samples)",
        rf"(?:{_COUNT})[ -](?:labels?|labell?ed (?:images|samples|examples|data))(?: per class)?",
        r"\b(?:pgd|fgsm|autoattack|auto-attack|apgd|cw|c&w|deepfool|mim|bim|square|aa)(?:[-_ ]?\d+)?\b",
        r"\b(?:clean|robust|adversarial|natural) (?=acc|err|test|perf|img|images)",
        rf"temperatures? (?:of |= ?|t ?= ?)?(?:{_COUNT})",
        rf"(?:sequence |context |prediction |input |prompt |horizon |forecast(?:ing)? )?(?:length|horizon|window)s?"
        rf"(?: of| =|=)? ?(?:{_COUNT}) ?k?",
        rf"(?:{_COUNT}) ?k?[ -]tokens?\b",
        r"\b\d{2,4} ?[×x] ?\d{2,4}\b|\bresolution (?:of |= ?)?\d{2,4}|\b\d{2,4} ?px\b",
        rf"\b(?:{_COUNT})[ -]bits?\b|\bw\d{{1,2}}a\d{{1,2}}\b|\bint[48]\b|\bfp(?:4|8|16|32)\b|\bbf16\b",
        r"\blinear[ -](?:prob\w+|eval\w+|classif\w+)|\bk-?nn\b|\bfine-?tun\w+|\bfrom scratch\b|\bfrozen\b",
        r"\b(?:transductive|inductive|single-scale|multi-scale|task-incremental|class-incremental|domain-incremental)\b",
        r"\bgreedy\b|\bbeam (?:search|size)(?: of| =|=)? ?\d*|\bchain[ -]of[ -]thought\b|\bcot\b",
        r"\b(?:with|without|w/o|w/) (?:an? |the |test[ -]time |data |additional |external |extra |language )*"
        r"(?:lm|model|augmentation|tta|pre-?training|data|flip(?:ping)?|crf|distillation|ema|reranking)\b",
        rf"(?<![\w])(?!n ?=|p ?=)[a-zα-ω_]{{1,12}} ?= ?(?:{_COUNT})(?:/\d+)?(?: ?%)?",
    )
)
"""Conditions that change what a number measures though its data set, metric and method keep their names."""
_RUN_COUNTS = re.compile(r"(?:seeds?|runs?|trials?|folds?|repetitions?) ?=")

_ITEMS = (
    r"(?:images?|samples|examples|questions|sentences|instances|problems|items|utterances|documents|pairs|cases|"
    r"prompts|queries|patients|scans|videos|clips|subjects|dialogues|tweets|reviews|passages|tasks|graphs|molecules)"
)
_WHOLE = r"(\d{1,3}(?:,\d{3})+|\d+)"
_HELD_OUT = r"(?:test|held-?out|evaluation|eval|validation|val|dev|development|testing)"
_ITEM_COUNTS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<![\d.,])(\d{{1,3}}(?:,\d{{3}})+|\d+)[ -](?:\w+[ -])?{_HELD_OUT} {_ITEMS}\b(?! per| each)",
        rf"{_HELD_OUT}[ -](?:set|split|data|suite)s?,? ?\(?(?:of|with|has|contain\w+|is|n ?=)? ?"
        rf"(\d{{1,3}}(?:,\d{{3}})+|\d+) (?:\w+ )?{_ITEMS}\b(?! per| each)",
        rf"{_HELD_OUT}[ -](?:set|split) \(?n ?= ?(\d{{1,3}}(?:,\d{{3}})+|\d+)\b(?! (?:seeds|runs))",
        rf"(?:evaluated|tested|measured|accuracy|results|performance|scores?) (?:\(%\) )?(?:on|over) (?:the |a |all )?"
        rf"(?:\w+ )?(\d{{1,3}}(?:,\d{{3}})+|\d+)[ -](?:\w+ )?{_ITEMS}\b(?! per| each)",
        rf"\bn ?= ?(\d{{1,3}}(?:,\d{{3}})+|\d+) (?:\w+ )?{_ITEMS}\b(?! per| each)",
        rf"(?<![\d.,])(\d{{1,3}}(?:,\d{{3}})+|\d+)-{_ITEMS} {_HELD_OUT} (?:set|split)",
    )
)


def budget_in(caption: str) -> str | None:
    """`after 300 epochs` → `300 epochs`, `160k iterations` → `160000 iterations`; None for none or several."""
    found = {_budget(match) for match in _BUDGET.finditer(_plain(caption))}
    return found.pop() if len(found) == 1 else None


def _budget(match: re.Match[str]) -> str:
    if match[3]:
        return f"{match[3].removesuffix('.0')}× schedule"
    digits = match[1].replace(",", "").replace("-", "").strip()
    scale = _SCALE.get(digits[-1], 1)
    number = float(digits.rstrip("kmb ")) * scale
    unit = match[2].removesuffix("s").replace("iters", "iteration")
    unit = "iteration" if unit in ("iter", "iteration") else unit
    return f"{number:g} {unit}s" if number != int(number) else f"{int(number)} {unit}s"


def model_in(caption: str, labels: Sequence[str]) -> str | None:
    """The one backbone that a caption names, `ResNet-50`; None when it names several or the table's labels name any."""
    found = {_one_spelling(match[1]): match[1] for match in _MODEL.finditer(_plain(caption))}
    if len(found) != 1 or any(_MODEL.search(_plain(label)) for label in labels):
        return None
    key, name = next(iter(found.items()))
    position = caption.lower().find(name)
    return caption[position : position + len(name)].rstrip(".") if position >= 0 else key


def _one_spelling(name: str) -> str:
    return re.sub(r"[\s_-]", "", name)


def setting_in(caption: str) -> str | None:
    """Every other condition, in alphabetical order: `20 % symmetric label noise; 5-shot`; None for none."""
    text = _plain(caption)
    found: set[str] = set()
    for pattern in _SETTINGS:
        for match in pattern.finditer(text):
            if not _RUN_COUNTS.match(match[0]):
                found.add(re.sub(r"\s{2,}", " ", match[0].replace("-", " ")).strip(" ,"))
    kept = {one for one in found if not any(one != other and one in other for other in found)}
    return "; ".join(sorted(kept)) or None


def items_in(caption: str) -> int | None:
    """`the test set (N = 250 images)` → 250; None when the caption names no or several numbers of test items."""
    text = _plain(caption)
    found = {
        int(match[1].replace(",", ""))
        for pattern in _ITEM_COUNTS
        for match in pattern.finditer(text)
        if not re.search(r"\b(?:train\w*|labell?ed|unlabell?ed|pre-?train\w*)\b[^.;]{0,25}$", text[: match.start()])
    }
    return found.pop() if len(found) == 1 and 0 not in found else None


def _plain(text: str) -> str:
    """Lower case, all kinds of blanks and dashes alike."""
    spaced = re.sub(r"[\s\u2009\u202f\u00a0]+", " ", text[:2000].lower().replace("–", "-").replace("‑", "-"))
    return re.sub(r"(?<=\d) (?=%)|(?<=\d)(?=%)", " ", spaced)
