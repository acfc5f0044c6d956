"""The words that tables of this field use in headers and captions, as data."""

from __future__ import annotations

import re

from leaderboard.claims.importers.metricwords import alternatives

SPLITS = {
    "train": "train", "training": "train", "val": "validation", "valid": "validation", "validation": "validation",
    "dev": "dev", "test": "test",
    "testing": "test", "test-dev": "test-dev", "testdev": "test-dev", "minival": "minival", "seen": "seen",
    "unseen": "unseen", "id": "id", "ood": "ood", "test-clean": "test-clean", "test-other": "test-other",
    "dev-clean": "dev-clean", "dev-other": "dev-other", "in-domain": "in-domain", "out-of-domain": "out-of-domain",
}  # fmt: skip

AVERAGE = alternatives(
    r"(macro |micro |task |overall )?(avg|average|mean|averaged)\.?( (score|acc(uracy)?|of all|all|perf(ormance)?))?"
)
DELTA = alternatives(
    r"(% ?)?(rel(\.|ative)? ?|abs(\.|olute)? ?)?(δ|∆|delta|diff(\.|erence)?|gains?|increase|decrease|reduction|change"
    r"|gap|degradation|impr(\.|v\.?|ov(\.|e|ements?)?)?|imp\.|relaimpr)([ _].{0,30})?",
    r"(% ?)?(rel(\.|ative)? |abs(\.|olute)? )?(drop|uplift)",
    r"(% ?)?[δ∆]\S.{0,30}|(vs\.?|over) (the )?(second[- ])?(best|baselines?|sota)( .{0,20})?",
    r".{1,20}[ _](diff|delta|gain)",
    r"(acc(uracy|\.)?|top-?[15]|m?ap|m?iou|f1|bleu|psnr) (drop|degradation|improvement|increase)",
    r"[wcp]err",
    r"(% ?)?rel(\.|ative)? .{2,20} (reduction|improvement|impr\.?|gain|change|increase|decrease|drop)( \(.{1,6}\))?",
)
_GREEK = r"[αβγεζηθλνωψ](_?\w{1,4})?"
_HORIZON = (
    r"((pred(\.|iction)?|forecast(ing)?|look-?back|input|context|sequence|seq\.?) )?(horizons?|len(gths?)?|window)"
)
DESCRIPTION = alternatives(
    r"seeds?", r"batch([ _-]size)?|bs", r"lr|learning[ _]rate", r"res(\.|olution)?",
    r"(img|image|input|crop)[ _]?(size|res(olution)?|pct)", r"depth|width",
    r"(#|num(ber)?( of)?)? ?(layers?|heads?|blocks?|views?|shots?|tokens?|samples?|examples?|items?|runs?|classes)",
    r"dim(ension)?|hidden( size| dim)?|patch( size)?|temp(erature)?|dropout|weight[ _]decay|wd|k|n|l|d|m",
    r"group size|bits?|quantization|(training )?data( size)?|fraction",
    r"(extra |pre-?train(ed|ing)? ?)(data(set)?)?|pre-?train",
    r"interpolation", r"(n|k|few)[ -]shots?", _GREEK, _HORIZON,
)  # fmt: skip
"""Columns that describe a row and belong to its scope."""
QUANTITIES = alternatives(
    r"((peak|total|relative|extra|additional|memory|compute|parameter|communication) )?(overhead|footprint)",
    r"((train(ing)?|test|inference|search|total|gpu|cpu|peak|model|memory|storage|file|checkpoint|disk|index|code ?book"
    r"|cache|kv cache|relative|(un)?compressed|communication|comm\.?|wall[ -]clock|data|average|avg\.?) )*"
    r"(time|hours|size|memory|mem\.?|ram|vram|cost|storage|compute|energy|power|delay|duration|speed)",
    r"co2e?( emissions?)?|carbon|emissions|(rel(\.|ative) )?(energy|power)( consumption)?|memory usage",
    r"bandwidth|traffic",
    r"(compression|pruning|sparsity|keep|reduction) (ratio|rate)|sparsity|(tunable|trainable|added|extra|learnable)"
    r"( param(eter)?s?\.?)?",
    r"(train(ing)?|fine-?tuning|labell?ed|extra) (data|images|samples|tokens)",
    r"(# ?|(number|no|num) of )\w[\w -]{0,30}",
    r"(# ?|(number|no|num) of |total )?((1\^?st|1\^?\{st\}|first|top|win|best)[ -]?)?(place )?(counts?|wins)",
)
"""What a method costs or is given, whatever metric the caption names."""
QUANTITY_UNITS = frozenset({
    "ms", "s", "sec", "secs", "seconds", "mins", "minutes", "h", "hr", "hrs", "hours", "days", "d", "μs", "us",
    "gb", "mb", "kb", "tb", "gib", "mib", "kib", "bytes", "gflops", "tflops", "mflops", "flops", "gmacs", "macs", "w",
    "j", "kj", "mj", "kwh", "wh", "$", "usd", "fps", "hz", "gpu days", "gpu hours", "gpu-days",
    "gpu-hours", "gpu h", "gpu hrs", "tpu hours", "tpu days", "cpu hours", "img/s", "images/s", "imgs/s",
    "tok/s", "tokens/s", "it/s",
})  # fmt: skip
"""Units of time, memory, energy and money, lower case: no metric of a caption is measured in them."""
BUDGET = alternatives(r"(max )?epochs?", r"(train(ing)? )?(steps?|iters?|iterations?)", r"schedule|lr schd|budget")
WITH_DECIMALS = alternatives(
    r"lr|learning[ _]rate|depth|width|temp(erature)?|dropout|weight[ _]decay|wd|fraction",
    r"bits?|quantization|interpolation",
    r"(img|image|input|crop)[ _]?(size|res(olution)?|pct)|res(\.|olution)?",
    r"(max )?epochs?|(train(ing)? )?(steps?|iters?|iterations?)|schedule|lr schd|budget|version|rank([ _]diff)?",
    r"(extra )?(training |pre-?train(ed|ing)? ?)?data(set)?( size)?", _GREEK,
)  # fmt: skip
"""Columns that describe a row though they hold decimals; any other column with decimals measures something."""
IGNORED = alternatives(
    r"#|no\.?|rank([ _]diff)?|index|id|year|date|license|config|download|weights?|code|paper|link|venue",
    r"ref(\.|erence)?|type",
    r"notes?|comments?|authors?|org(anization)?|params source|publication|source|url|logs?|version|filter",
)
"""Columns that say nothing about what a number measures."""

HEADS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("method", alternatives(
        r"(our )?methods?|approach(es)?|algorithms?|systems?|strateg(y|ies)|variants?|names?|techniques?|schemes?",
        r"settings?",
        r"init(iali[sz](ation|er)s?)?\.?( (method|scheme))?|ablations?|optimizers?|agents?|polic(y|ies)|losses",
        r"loss function",
        r"priors?|masks?|config(uration)?s?",
    )),
    ("model",
    alternatives(r"models?( name)?|backbones?|arch(\.|itectures?)?|networks?|encoders?|llms?|base model|nets?")),
    ("task", alternatives(
        r"tasks?|data ?-?sets?|data|benchmarks?|domains?|corp(us|ora)|problems?|languages?|env(ironment)?s?\.?|games?",
        r"categor(y|ies)|class(es)?|subjects?|subsets?|target functions?|functions?",
    )),
    ("metric", alternatives(r"metrics?|measures?|evaluation|score type")),
    ("split", alternatives(r"splits?|partition|set")),
)  # fmt: skip
"""What the header over a label column says its labels are."""

DATASETS = alternatives(
    r"cifar|imagenet|\bin-?(1k|21k|22k)\b|mnist|svhn|\bstl(-?10)?\b|food-?101|flowers|\bpets?\b|\bcars\b|aircraft",
    r"\bcoco\b|ade20k",
    r"cityscapes|pascal|\bvoc\b|glue\b|\bsst-?[25]?\b|[mqxs]nli\b|\bqqp\b|\brte\b|\bcola\b|\bmrpc\b|\bsts-?b\b|squad",
    r"wikitext|\bptb\b|penn tree|enwik8|text8|tinystor|openwebtext|lambada|\bc4\b|\bpile\b|hellaswag|\bpiqa\b",
    r"\barc(-[ce])?\b|boolq|winogrande|gsm-?8k|mmlu|human-?eval|mbpp|librispeech|\bwmt|iwslt|parity|majority",
    r"cyclic|threesym",
    r"\baddition\b|\bmultiplication\b|\bsort(ing)?\b|listops|pathfinder|modelnet|shapenet|kitti|nuscenes|\bogb",
    r"\bcora\b",
    r"citeseer|pubmed|places-?\d|\binat|\bdtd\b|eurosat|caltech|sun-?397|omniglot|kinetics|ucf-?101|hmdb|msr-?vtt",
    r"flickr",
    r"\bvqa|\bgqa\b|textvqa|ag ?news|imdb|yelp|dbpedia|openbook|truthfulqa|natural questions|triviaqa|hotpotqa",
    r"movielens|tmall",
    r"atari|cheetah|hopper|walker|celeba|lsun|ffhq|fashion",
)  # fmt: skip
METHODS = alternatives(
    r"\b(default|baseline|vanilla|ours?|proposed|mimetic|impulse|svd|xavier|glorot|kaiming|orthogonal|random|scratch|w/o|w/)\b",
    r"\b(with|without|adamw?|sgd|bert|roberta|resnet|resnext|vit|deit|swin|convnext|efficientnet|mobilenet|gpt|llama|lstm|gru)",
    r"\b(transformers?|mamba|cnn|mlp|t5|clip|dino|mae|moco|simclr|standard|full|masks?|masked|learned|fixed|supervised)\b",
    r"\b(teacher|student|oracle|human|no [a-z]+)\b|^\+ ?\w|\bet al|\[\d+\]|\(20\d\d\)",
)

NUMERALS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "twenty": 20,
}  # fmt: skip
RUNS = re.compile(
    rf"(?:over|of|across|from|with|using|n ?=|[(,;:])\s{{0,2}}(\d{{1,3}}|{'|'.join(NUMERALS)})\s{{0,2}}"
    r"(?:\w{1,14} ){0,2}?(?:seeds?|runs?|trials?|repetitions?|repeats?|initiali[sz]ations|replicates?)\b"
)
UNITS = frozenset({
    "%", "in %", "pct", "percent", "M", "G", "B", "K", "T", "ms", "s", "sec", "GB", "MB", "h", "hours", "GFLOPs",
    "points", "pp", "nats", "bits", "dB", "mm", "cm",
    "W", "J", "×", "x", "higher is better", "lower is better", "",
})  # fmt: skip
"""What may stand in brackets behind a header as its unit; `(S)` is a model size, `(s)` are seconds."""
VALUES = frozenset({"value", "values", "result", "results", "number"})
"""Headers that only say that numbers stand below them."""
ON = frozenset(["✓", "✔", "✅", "√", "yes", "Yes", "•", "●"])
OFF = frozenset(["", "-", "--", "–", "—", "✗", "✘", "❌", "×", "x", "no", "No", "○"])
"""Marks of ablation tables: with and without."""
