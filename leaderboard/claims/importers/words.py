"""The vocabulary by which headers and captions are understood: metrics, splits, data sets, methods, run counts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from leaderboard.claims.model import Direction, SpreadKind

Unit = Literal["percent", "fraction", "raw", "nats", "perplexity"]


@dataclass(frozen=True, slots=True)
class MetricWord:
    """What a metric's name implies."""

    name: str
    role: str | None
    direction: Direction
    is_share: bool = False
    """A share of items: percent or fraction."""
    unit: Unit = "raw"


def _metric(
    pattern: str, name: str, role: str | None, direction: Direction, **more: bool | Unit
) -> tuple[re.Pattern[str], MetricWord]:
    return re.compile(pattern), MetricWord(name, role, direction, **more)  # type: ignore[arg-type]


_METRICS: tuple[tuple[re.Pattern[str], MetricWord], ...] = (
    _metric(r"top ?-?1( -?acc(uracy)?)?|acc(uracy)?[ @-]*(top ?-?)?1|p1 acc", "top-1", "top1", "max", is_share=True),
    _metric(r"top ?-?5( -?acc(uracy)?)?|acc(uracy)?[ @-]*(top ?-?)?5", "top-5", "top5", "max", is_share=True),
    _metric(r"top ?-?1 ?-?err(or)?( rate)?|err(or)? ?@ ?1", "top-1 error", "error", "min", is_share=True),
    _metric(r"top ?-?5 ?-?err(or)?( rate)?|err(or)? ?@ ?5", "top-5 error", "top5_error", "min", is_share=True),
    _metric(r"acc(uracy|uracies)?( rate)?|classification acc(uracy)?", "accuracy", "accuracy", "max", is_share=True),
    _metric(r"err(or|ors)?( rate)?|misclassification( rate)?", "error", "error", "min", is_share=True),
    _metric(
        r"(cross[ -]?entropy |ce |nll |mse )?loss|nll|cross[ -]?entropy|negative log[ -]?likelihood",
        "loss",
        "loss",
        "min",
    ),
    _metric(r"ppl|perplexity|perp", "perplexity", "perplexity", "min", unit="perplexity"),
    _metric(r"bpc|bpb|bits[ -]per[ -](character|byte|dim)|bits/dim", "bits", "bits", "min"),
    _metric(
        r"(macro[ -]?|micro[ -]?|weighted[ -]?)?f[ -]?1([ -]?(score|measure))?|f[ -]?(score|measure)",
        "F1",
        "f1",
        "max",
        is_share=True,
    ),
    _metric(r"(macro[ -]?|micro[ -]?)?precision|prec", "precision", "precision", "max", is_share=True),
    _metric(r"(macro[ -]?|micro[ -]?)?recall|rec", "recall", "recall", "max", is_share=True),
    _metric(r"em|exact[ -]match( acc(uracy)?)?", "EM", "em", "max", is_share=True),
    _metric(r"(roc[ -]?|pr[ -]?)?auc|auroc|auprc", "AUC", "auc", "max", is_share=True),
    _metric(r"m?ap[ @_-]?50", "AP50", "ap50", "max", is_share=True),
    _metric(r"m?ap[ @_-]?75", "AP75", "ap75", "max", is_share=True),
    _metric(r"m?ap", "AP", "ap", "max", is_share=True),
    _metric(r"m?iou|jaccard", "IoU", "iou", "max", is_share=True),
    _metric(r"dice|dsc", "Dice", "dice", "max", is_share=True),
    _metric(
        r"(recall|r|precision|p|hits?|hr|ndcg|mrr|map|pass|maj|acc)[ ]?[@^][ ]?k?\d*", "", None, "max", is_share=True
    ),
    _metric(r"mrr|ndcg|nmi|ari|mcc|kappa|r2|r\^2|pearson|spearman|success( rate)?|win( |-)?rate|sr", "", None, "max"),
    _metric(r"rmse", "RMSE", "rmse", "min"),
    _metric(r"mse", "MSE", "mse", "min"),
    _metric(r"mae", "MAE", "mae", "min"),
    _metric(r"wer|cer|per|ter|eer|ece|brier( score)?|mce|fid|kid|lpips|fvd|der", "", None, "min"),
    _metric(
        r"psnr|ssim|bleu([ -]?[1-4])?|sacrebleu|rouge([ -]?(1|2|l))?|meteor|cider|spice|bertscore|comet|chrf(\+\+)?|is|inception score|elo",
        "",
        None,
        "max",
    ),
    _metric(r"sensitivity|sens|tpr", "sensitivity", "sensitivity", "max", is_share=True),
    _metric(r"specificity|spec|tnr", "specificity", "specificity", "max", is_share=True),
    _metric(r"(num(ber of)? ?|# ?)?(of )?param(eter)?s?( count)?|#p|model size", "", "cost", "unknown"),
    _metric(
        r"(g|m|t)?(flops?|macs?)|latency|throughput|memory|mem|(run|train(ing)?|inference)?[ -]?time|speed(up)?|fps|im(ages|gs?)?/s(ec)?|tok(en)?s/s|cost|size|runtime|seconds|hours|gpu[ -]hours|macts|acts",
        "",
        "cost",
        "unknown",
    ),
    _metric(r"reward|return|score", "", None, "unknown"),
)

_SPLITS = {
    "train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "dev": "dev", "test": "test",
    "testing": "test", "test-dev": "test-dev", "testdev": "test-dev", "minival": "minival", "seen": "seen", "unseen": "unseen",
    "id": "id", "ood": "ood", "test-clean": "test-clean", "test-other": "test-other", "dev-clean": "dev-clean",
    "dev-other": "dev-other", "in-domain": "in-domain", "out-of-domain": "out-of-domain",
}  # fmt: skip

_AVERAGE = re.compile(
    r"(macro |micro |task |overall )?(avg|average|mean|averaged)\.?( (score|acc(uracy)?|of all|all|perf(ormance)?))?"
)
_DELTA = re.compile(
    r"(δ|∆|delta|diff(erence)?|gain|gains|improv(\.|ements?|ed)?|rel(\.|ative)? improv(\.|ements?)?|abs(\.|olute)? improv(\.|ements?)?"
    r"|impr\.?|increase|change|gap)( .{0,30})?|.{1,20}[ _](diff|delta|gain)"
)
_ATTRIBUTE = re.compile(
    r"#|no\.?|rank|index|id|seeds?|(max )?epochs?|(train(ing)? )?(steps?|iters?|iterations?)|batch([ _-]size)?|bs|lr|learning[ _]rate|res(\.|olution)?"
    r"|(img|image|input|crop)[ _]?(size|res(olution)?|pct)|year|date|depth|width|(#|num(ber)?( of)?)? ?(layers?|heads?|blocks?|views?|shots?|tokens?|samples?|examples?|items?|runs?|classes)"
    r"|dim(ension)?|hidden( size| dim)?|patch( size)?|temperature|temp|dropout|weight[ _]decay|wd|k|n|l|d|m|schedule|lr schd|group size|bits?|quantization|training data|data size|fraction"
    r"|pre-?train(ed|ing)?( data(set)?)?|extra data|interpolation|rank[ _]diff|license|config|download|weights?|code|paper|link|venue|reference|ref\.?|type|notes?|comments?|author|organization|org|params source"
)
_BUDGET = re.compile(r"(max )?epochs?|(train(ing)? )?(steps?|iters?|iterations?)|schedule|lr schd|budget")

_HEADS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("method", re.compile(r"(our )?methods?|approach(es)?|algorithms?|init(iali[sz](ation|er)s?)?\.?( (method|scheme))?|systems?|strateg(y|ies)|variants?|names?|techniques?|schemes?|settings?|ablations?|optimizers?|agents?|polic(y|ies)|losses|loss function|prior|priors|mask|masks")),
    ("model", re.compile(r"models?|backbones?|arch(\.|itectures?)?|networks?|encoders?|llms?|base model|nets?|model name")),
    ("task", re.compile(r"tasks?|data ?-?sets?|data|benchmarks?|domains?|corp(us|ora)|problems?|languages?|env(ironment)?s?\.?|games?|categor(y|ies)|class(es)?|subject|subsets?|target function")),
    ("metric", re.compile(r"metrics?|measures?|evaluation|score type")),
    ("split", re.compile(r"splits?|partition|set")),
)  # fmt: skip

_DATASETS = re.compile(
    r"cifar|imagenet|in-?1k|in-?21k|in-?22k|mnist|svhn|stl-?10|food-?101|flowers|\bpets?\b|\bcars\b|aircraft|\bcoco\b|ade20k|cityscapes|pascal|\bvoc\b"
    r"|glue\b|sst-?[25]?\b|[mqxs]nli\b|\bqqp\b|\brte\b|\bcola\b|\bmrpc\b|\bsts-?b?\b|\bwnli\b|squad|wikitext|\bptb\b|penn tree|enwik8|text8|tinystor|openwebtext|lambada|\bc4\b|\bpile\b"
    r"|hellaswag|\bpiqa\b|\barc(-[ce])?\b|boolq|winogrande|gsm-?8k|mmlu|human-?eval|mbpp|librispeech|\bwmt|iwslt|parity|majority|cyclic|threesym|addition|multiplication|\bsort(ing)?\b|listops|pathfinder|retrieval"
    r"|modelnet|shapenet|kitti|nuscenes|ogb|\bcora\b|citeseer|pubmed|places-?\d|inat|\bdtd\b|eurosat|caltech|sun-?397|omniglot|kinetics|ucf-?101|hmdb|msr-?vtt|flickr|\bvqa|\bgqa\b|textvqa|\bagnews\b|ag news|imdb|yelp|amazon|dbpedia"
    r"|multiplier|openbook|truthfulqa|race\b|natural questions|triviaqa|hotpotqa|movielens|tmall|atari|cheetah|hopper|walker|celeba|lsun|ffhq|fashion"
)
_METHODS = re.compile(
    r"\b(default|baseline|vanilla|ours?|proposed|mimetic|impulse|svd|xavier|glorot|kaiming|orthogonal|random|scratch|w/o|w/|with|without|adamw?|sgd|bert|roberta|resnet|resnext|vit|deit|swin|convnext|efficientnet|mobilenet"
    r"|gpt|llama|lstm|gru|transformers?|mamba|cnn|mlp|mlp-mixer|t5|clip|dino|mae|moco|simclr|standard|full|mask|masked|learned|fixed|supervised|teacher|student|oracle|human|no [a-z]+)\b|^\+ ?\w|\bet al|\[\d+\]|\(ours\)|\(20\d\d\)"
)

_NUMERALS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twenty": 20,
}
_RUNS = re.compile(
    r"(?:over|of|across|from|with|using|n ?=)\s{0,2}(\d{1,3}|"
    + "|".join(_NUMERALS)
    + r")\s{0,2}(?:\w{1,14} ){0,2}?(?:seeds?|runs?|trials?|repetitions?|repeats?|initiali[sz]ations|replicates?)\b"
)
_UNIT_TAIL = re.compile(r"[(\[]\s{0,3}([^()\[\]]{0,40}?)\s{0,3}[)\]]\s*$")
_ARROWS_UP = "↑⬆⇑▲"
_ARROWS_DOWN = "↓⬇⇓▼"


@dataclass(frozen=True, slots=True)
class Label:
    """A header taken apart: `CIFAR-10 Acc. (%) ↑` → text `CIFAR-10 Acc.`, unit `%`, direction max."""

    text: str
    unit: str = ""
    direction: Direction = "unknown"


@lru_cache(maxsize=4096)
def label_of(raw: str) -> Label:
    """Split arrows and a unit in brackets off a header."""
    direction: Direction = "unknown"
    if any(arrow in raw for arrow in _ARROWS_UP):
        direction = "max"
    if any(arrow in raw for arrow in _ARROWS_DOWN):
        direction = "unknown" if direction == "max" else "min"
    text = re.sub(f"[(\\[]?[{_ARROWS_UP}{_ARROWS_DOWN}][)\\]]?", " ", raw[:500])
    text = " ".join(text.split())
    unit = ""
    tail = _UNIT_TAIL.search(text)
    if tail and _is_unit(tail.group(1)):
        unit, text = tail.group(1), text[: tail.start()].strip()
    if text.endswith("%") and not text.rstrip("% ").replace(".", "").isdecimal():
        unit, text = "%", text.rstrip("% ")
    return Label(text.rstrip(":").strip(), unit, direction)


def _is_unit(text: str) -> bool:
    return text.lower() in {
        "%", "in %", "pct", "percent", "m", "g", "b", "k", "ms", "s", "sec", "gb", "mb", "h", "hours", "gflops", "higher is better",
        "lower is better", "points", "pp", "nats", "bits", "db", "×", "x", "",
    }  # fmt: skip


@lru_cache(maxsize=4096)
def metric_of(text: str) -> MetricWord | None:
    """The metric that a whole label names, `Acc.` → accuracy; None when it names none. Names keep qualifiers: `Seq Acc`."""
    words = _normal(text)
    if not words or len(words) > 60:
        return None
    for pattern, word in _METRICS:
        if pattern.fullmatch(words):
            return word if word.name else MetricWord(text.strip(), word.role, word.direction, word.is_share, word.unit)
    return None


def _normal(text: str) -> str:
    words = re.sub(r"[_*†‡§¶$]", " ", text.lower()).replace(".", " ")
    return " ".join(words.split()).strip(" :-")


@dataclass(frozen=True, slots=True)
class Compound:
    """A label that joins a metric with something else: `Test loss`, `CIFAR-10 Acc.`, `Seq acc`."""

    metric: MetricWord
    name: str
    split: str | None = None
    task: str | None = None
    aggregation: str | None = None


@lru_cache(maxsize=4096)
def compound_of(text: str) -> Compound | None:
    """Take a label with a metric word at its end or start apart; None when no part of it is one."""
    whole = metric_of(text)
    if whole is not None:
        return Compound(whole, whole.name)
    words = text.replace("_", " ").split()
    if not 2 <= len(words) <= 7:
        return None
    for cut in range(1, len(words)):
        found = metric_of(" ".join(words[cut:]))
        rest = words[:cut]
        if found is None and cut >= len(words) - 2:
            found, rest = metric_of(" ".join(words[:cut])), words[cut:]
        if found is not None:
            return _qualify(found, rest, text)
    return None


def _qualify(metric: MetricWord, rest: list[str], text: str) -> Compound:
    """`rest` is what stands beside the metric word: splits and `best` are taken out, a data set is the task, else it qualifies."""
    split = aggregation = None
    left: list[str] = []
    for word in rest:
        plain = word.lower().strip(".,()")
        if plain in _SPLITS and split is None:
            split = _SPLITS[plain]
        elif plain in {"best", "mean", "final", "last", "avg", "average", "max"} and aggregation is None:
            aggregation = "mean" if plain in {"avg", "average"} else plain
        else:
            left.append(word)
    remaining = " ".join(left).strip("-: ,")
    if not remaining:
        return Compound(metric, metric.name, split, None, aggregation)
    if is_dataset(remaining):
        return Compound(metric, metric.name, split, remaining.strip("()"), aggregation)
    return Compound(metric, " ".join(text.split()), split, None, aggregation)


def split_of(text: str) -> str | None:
    """The split that a whole label names."""
    return _SPLITS.get(text.lower().strip(" .()").removesuffix(" set").removesuffix(" split"))


def is_average(text: str) -> bool:
    return _AVERAGE.fullmatch(text.lower().strip(" ()")) is not None


def is_delta(text: str) -> bool:
    return len(text) < 60 and _DELTA.fullmatch(text.lower().strip(" ()")) is not None


def is_attribute(text: str) -> bool:
    """A header of a column that describes the row (epochs, resolution, seed ...) instead of measuring it."""
    return len(text) < 60 and _ATTRIBUTE.fullmatch(text.lower().strip(" .()")) is not None


def is_budget(text: str) -> bool:
    return len(text) < 60 and _BUDGET.fullmatch(text.lower().strip(" .()")) is not None


def is_dataset(text: str) -> bool:
    return _DATASETS.search(text.lower()[:200]) is not None


def is_method(text: str) -> bool:
    return _METHODS.search(text.lower()[:200]) is not None


def head_kind(text: str) -> str | None:
    """What the header over a label column says its labels are: method, model, task, metric, split."""
    words = text.lower().strip(" .:()")
    return next((kind for kind, pattern in _HEADS if pattern.fullmatch(words)), None)


def runs_in(caption: str) -> int | None:
    """`mean over five seeds` → 5; None when the caption names no or several counts."""
    text = caption.lower()
    found = {match.group(1) for match in _RUNS.finditer(text)}
    if not found and re.search(r"\bsingle[ -](run|seed)|\bone (run|seed)", text):
        return 1
    if len(found) != 1:
        return None
    word = found.pop()
    count = _NUMERALS.get(word) or int(word)
    return count if count > 0 else None


def spread_in(caption: str) -> SpreadKind | None:
    """What the number after ± is, when the caption says so."""
    text = caption.lower()
    kinds: list[tuple[SpreadKind, str]] = [
        ("ci95", r"95 ?\\?% ?(confidence|ci\b)|confidence interval"),
        ("se", r"standard errors?|\bstderr\b|\bs\.?e\.?m?\.?\b|std\.? err"),
        ("sd", r"standard deviations?|\bstd(ev)?s?\b|\bst\.? ?dev|\bs\.?d\.?\b(?!p)"),
        ("minmax", r"min[ /-]{1,3}max|range of"),
    ]
    found = [kind for kind, pattern in kinds if re.search(pattern, text)]
    return found[0] if len(found) == 1 else None


def direction_in(caption: str) -> Direction:
    """`lower is better` for the whole table, when only one of the two is said."""
    text = caption.lower()
    up = re.search(r"(higher|larger|bigger) (values? )?(is|are) better", text) is not None
    down = re.search(r"(lower|smaller) (values? )?(is|are) better", text) is not None
    if up == down:
        return "unknown"
    return "max" if up else "min"


def metrics_in(caption: str) -> list[Compound]:
    """Metrics that a caption speaks of, in order and without repeats: `test loss / accuracy` → loss, accuracy, both on test."""
    words = re.sub(r"[,;:()|/]", " ", caption[:2000]).split()
    found: list[Compound] = []
    at = 0
    last_end = -1
    while at < len(words):
        length, metric = _metric_at(words, at)
        if metric is not None:
            before = [
                word for word in words[max(0, at - 2) : at] if split_of(word) or word.lower() in {"best", "final"}
            ]
            item = _qualify(metric, before, metric.name)
            joined = found and not before and all(word in ("and", "&", "%", "or") for word in words[last_end:at])
            found.append(replace(item, split=found[-1].split, aggregation=found[-1].aggregation) if joined else item)
            last_end = at + length
        at += length
    return list({item.name: item for item in found}.values())


def _metric_at(words: list[str], at: int) -> tuple[int, MetricWord | None]:
    """The longest metric name of up to four words that starts here, and its length in words."""
    for length in (4, 3, 2, 1):
        phrase = " ".join(words[at : at + length]).rstrip(".")
        metric = metric_of(phrase)
        if metric is not None and _names_itself(phrase, metric):
            return min(length, len(words) - at), metric
    return 1, None


def _names_itself(phrase: str, metric: MetricWord) -> bool:
    """Whether the phrase can only be the metric: short words such as `rec` or `map` must be written as abbreviations."""
    named = metric.name != phrase.strip() or phrase in {
        "loss",
        "accuracy",
        "error",
        "perplexity",
        "precision",
        "recall",
        "top-1",
        "top-5",
    }
    return metric.role != "cost" and named and (len(phrase) > 3 or phrase.isupper())


def dataset_in(caption: str) -> str | None:
    """The one known data set that a caption names, as it writes it; None when it names none or several."""
    found = [word.strip(".,;:()") for word in caption[:2000].split() if is_dataset(word)]
    return found[0] if len(set(found)) == 1 else None
