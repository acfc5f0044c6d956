"""What is known of common metrics: which way is better, and between which bounds they lie."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from leaderboard.claims.model import Claim, Direction


@dataclass(frozen=True, slots=True)
class Known:
    """A family of metrics. Bounds are for fractions; percentages are 100 times as far."""

    pattern: re.Pattern[str]
    direction: Direction
    lower: int | None = None
    upper: int | None = None
    proportion: bool = False
    """Whether it may be printed as a fraction or as a percentage."""
    counts: bool = False
    """Whether one run's value is a whole number of items over N."""
    always: bool = False
    """Whether its name alone says that it is a proportion, so that no print of it exceeds one hundred."""
    high: bool = False
    """Whether no working system is anywhere near one percent, so that values around one are fractions."""


def _known(
    pattern: str, direction: Direction, lower: int | None = None, upper: int | None = None, **more: bool
) -> Known:
    """A family whose names match all of `pattern`."""
    return Known(re.compile(rf"(?:{pattern})"), direction, lower, upper, **more)


def _share(pattern: str, direction: Direction, lower: int = 0, **more: bool) -> Known:
    """Proportions that nobody mistakes for another quantity."""
    return _known(pattern, direction, lower, 1, proportion=True, always=True, **more)


PART = r"(?:ans\w*|sup\w*|joint|supporting facts?)[- ]"
AT = r" ?@ ?k?\d*"

FAMILIES = (
    # language models and compression
    _known(r"perplexity|ppl|perp|pseudo-?ppl", "min", 1),
    _known(r"bits(?: per |/)(?:char\w*|byte|pixel)|bpc|bpb|bpp", "min", 0),
    _known(r"bits(?: per |/)dim\w*|bpd|bits", "min"),
    _known(r"bd-?(?:rate|br)", "min"),
    _known(r"bd-?psnr|mauve|distinct-?\d|dist-?\d", "max"),
    # agreement and correlation
    _share(r"mcc|mathews\w*|matthews\w*(?: corr\w*)?|(?:cohen'?s? |fleiss'? |quadratic weighted )?kappa|κ|"
           r"qwk", "max", -1),
    _share(r"(?:mean |avg\.? )?corr(?:elation|\.)?(?: coeff\w*)?|pearson\w*(?:[' ]?s? [rρ]| corr\w*)?|pcc|plcc|srocc|"
           r"srcc|krcc|spearman\w*(?:[' ]?s? [rρ]| corr\w*)?|kendall\w*(?:[' ]?s? (?:tau|τ))?|ccc|lcc|pear|spear|"
           r"pearson/spearman", "max", -1),
    _share(r"cos(?:ine)?[ -]?sim(?:ilarity)?|cosine|csim", "max", -1, high=True),
    _known(r"cos(?:ine)?[ -]?dist(?:ance)?", "min", 0),
    _known(r"icc|concordance correlation", "max", None, 1, proportion=True),
    # speech
    _known(r"(?:word|char\w*|phone\w*|diarization|match|sentence|token) error rate|[wcpmds]er|wder|wil", "min", 0),
    _known(r"mcd|f0[ -]?(?:rmse|rms)?|rtf|real[- ]time factor|(?:min[- ]?)?t?-?dcf|gpe|vde|ffe", "min", 0),
    _share(r"eer|equal error rate", "min"),
    _known(r"[cs]?mos(?:-\w+)?|utmos|dnsmos|nisqa|mushra|pesq(?:-\w+)?|(?:si-?)?s[dni]ri?|si-?s(?:dr|nr)i?|sdri?|snr|"
           r"segsnr|csig|cbak|covl|mean opinion score", "max"),
    _share(r"e?stoi", "max", -1),
    # errors, as shares of items or as distances
    _known(r"(?:top-?[15]|classification|misclassification)?[ _-]*err(?:or)?s?\.?(?: ?rate)?", "min", 0, 1,
           proportion=True, counts=True),
    _share(r"fpr\S*|fpr ?(?:at|@).*|false positive rate|fnr|false negative rate|miss rate|fall-?out|"
           r"collision rates?|crash rate|failure rate|abstention rate", "min"),
    _known(r"(?:fl|f1|d1)-?all|bad[ -]?\d(?:\.\d)?", "min", 0, 1, proportion=True),
    _known(r"(?:s|w|rms|n|nr)?mape|s?mape|wape|mase|crps|pinball(?: loss)?|quantile loss|owa", "min", 0),
    _known(r"(?:n?r?(?:oot )?mean squared?(?: log)? error|mean abs\w* error|median abs\w* error)", "min", 0),
    _known(r"[nr]?rmse|rmsle|n?mse|n?mae|medae|mbe|rms|rse|rrse|rae|rmsd|rmsf|abs[ -]?rel|sq[ -]?rel|rmse ?log|si ?log|"
           r"log10|l[12](?: (?:error|distance|norm))?|(?:relative|rel\.?) l[12](?: error)?", "min", 0),
    _known(r"(?:[a-z]+[- ])?(?:mpjpe|mpvpe|pve|pvpe)|epe|aepe|rpe|rre|nme|reproj\w* error|tre|"
           r"(?:min)?[- ]?[af]de\S*|mate|mase|maoe|mave|maae|angular error|geodesic (?:error|distance)|"
           r"(?:navigation|trajectory|localization|pose|rotation|translation|tracking|prediction|reconstruction) error",
           "min", 0),
    _known(r"chamfer\S*(?: dist\w*)?|emd|earth mover\S*(?: dist\w*)?|wasserstein\S*(?: dist\w*)?|swd|"
           r"kl(?:[- ]?div\w*)?|js[d]?|tv(?: dist\w*)?|kolmogorov\S*|edit dist\w*|levenshtein\S*|"
           r"hausdorff\S*(?: dist\w*)?|(?:95 ?%? ?)?hd(?:[ -]?95)?(?: ?%)?|hd95|95hd|assd|asd|msd|masd|"
           r"(?:average )?(?:symmetric )?surface dist\w*", "min", 0),
    _known(r"ece|ace|sce|aece|mce|ada-?ece|cw-?ece|brier(?: score)?|(?:expected |maximum )?calibration error|nll|"
           r"negative log[- ]likelihood|aurc|e-?aurc|regret|cumulative regret|optimality gap|duality gap", "min"),
    _known(r"mmd", "min"),
    _known(r"log[- ]?likelihood|ll|elbo", "max"),
    _known(r"cross[- ]entropy|ce", "min", 0),
    _known(r"(?:\w+ )*loss", "min"),
    # accuracies
    _known(r"mean (?:class|per-class) acc(?:uracy)?|balanced acc(?:uracy)?|b-?acc|m-?acc|mpca|"
           r"(?:macro|micro|weighted)[ -]\w+(?: score)?", "max", 0, 1, proportion=True),
    _known(
        r"(?:[\w-]+ )*acc(?:uracy|uracies|\.)?(?: ?@ ?\d+)?|(?:[\w-]+ )*top-?(?:1|5|10)(?: acc(?:uracy)?)?|"
        rf"exact match|(?:{PART})?em|success(?:[ -]rate)?s?|win[ -]?rate|solve(?:d)?(?: rate)?|pass rate|"
        r"(?:pass|maj|hits?)[ ]?[@^] ?k?\d*|hit(?: rate)?|hr", "max", 0, 1, proportion=True, counts=True,
    ),
    # retrieval, ranking, recommendation
    _share(rf"(?:m?recall|precision|r|p|m|mr|hr|hit[s ]?(?:rate|ratio)?|hits|ndcg|mrr|map|rr|f1|acc|coverage){AT}|"
           r"(?:recall|precision|hit|ndcg|mrr) at \d+|m?ndcg\S*|mrr\S*|mean reciprocal rank", "max"),
    _known(r"(?:avg\.?|average|mean|median|med|friedman|overall|total)?[ -]?rank(?:ing|s)?(?: \(avg\.?\))?|med[- ]?r|"
           r"mdr", "min"),
    _known(r"elo(?: (?:score|rating))?|rating|win", "max"),
    # detection, segmentation, tracking
    _share(
        rf"(?:{PART})?f[- ]?\d*(?:\.\d+)?|(?:{PART})?f[- ]?(?:1|β|0?\.5|2)?[- ]?(?:score|measure|max)|precision|"
        rf"prec\.?|"
        r"recall|rec\.?|sens(?:itivity)?\.?|specificity|tpr\S*|tnr|ppv|npv|youden\S*|g-?mean", "max",
    ),
    _share(
        r"(?:box|bbox|mask|seg\w*|det\w*|keypoint|kp|overall|cls)?[- ]?m?a[pr](?:[ @_^(-]*(?:\d[\d.:\-]*|"
        r"iou ?= ?\d?\.\d+|"
        r"[smlrcfhe]|bb?|mask|box|bbox|seg|small|medium|large|rare|common|freq\w*|novel|base|3d|bev|moderate|easy|hard|"
        r"all|coco|val|test)\)?){0,3}|average precision|mean average precision|map ?\S{0,8}", "max",
    ),
    _share(r"(?:m|fw|b|hi|mean |class |p|g|c|3d )?[- ]?iou\S{0,5}|jaccard(?: index)?|miou \S+|boundary iou|"
           r"pq(?:[ ^_]?(?:th|st|†|s))?|[sr]q|bf(?: score)?|j ?& ?f|pck\S*|nds|aji|(?:m?dice|dsc)(?: \S+)?|"
           r"(?:mean |avg\.? )?dice(?: score| coefficient| sim\w*)?|nsd|surface dice|hota|idf1|assa|deta|spl|s-?spl|"
           r"soft-?spl|[se]-?measure|pa-?iou|pixel acc\w*|(?:3d)?pck\S*|delta ?1|a1", "max"),
    _known(r"mota|motp|s?amota", "max", None, 1, proportion=True),
    _known(r"ids|idsw|id[ -]?sw(?:itches)?|frag|fp|fn|fppi", "min", 0),
    _share(r"(?:[\w-]+ )?(?:roc|pr|prc|p|macro|micro)?[- ]?(?:auc|auroc)(?:[- ]?(?:roc|score))?|roc[- ]auc|"
           r"auc[- ]?roc|auc \S+", "max", high=True),
    _share(r"au-?prc?|auc[- ]?prc?|pr[- ]auc|aupr(?:[- ](?:in|out))?|ap score|c-?index|concordance(?: index)?|"
           r"au-?pro|aupimo", "max"),
    # clustering
    _share(r"nmi|v-?measure|homogeneity|completeness|purity|fmi", "max"),
    _known(r"a[rm]i|adjusted (?:rand|mutual) \S+|silhouette(?: score)?", "max", -1, 1, proportion=True),
    _known(r"davies\S*(?: \S+)?|dbi", "min", 0),
    # text generation
    _share(r"(?:sacre|self-)?bleu(?:[- ]?[1-4]|@\d)?(?: score)?|b[- ]?[1-4]|rouge(?:[ -]?(?:1|2|l|lsum|"
           r"s))?(?:[- ]f1?)?|"
           r"r[ -]l|r-[12]|meteor|b@\d|chr-?f(?:\+\+)?\d?|spice|google[- ]?bleu|gleu", "max"),
    _known(r"(?:x?comet|bleurt|cider|cider-?d|bertscore|bartscore|moverscore|unieval|g-?eval|bert-?f1)(?:[- ]\S+)?",
           "max"),
    _known(r"ter|hter|ped|toxicity|hallucination(?: rate)?|repetition|rep-?\d", "min", 0),
    # image, audio and molecule generation
    _share(r"(?:ms-?|m-?)?ssim|ms-?ssim|uqi|fsim", "max", -1, high=True),
    _known(r"(?:c|cs-|w-?|y-?|mean )?psnr(?:-[a-z]+)?|vmaf|vif|musiq|maniqa|clip-?iqa\+?|niqe-?r|topiq|"
           r"q-?align", "max"),
    _known(r"lpips|dists|niqe|brisque|piqe|warp(?:ing)? error|flolpips|tlpips|t-?of", "min", 0),
    _known(r"(?:[srgc]|clip-?|r-)?[- ]?fid(?:[- ]?(?:\d+k?|clip|inception|dino\S*|vid))?|fvd(?:[- ]?\d*)?|fad|"
           r"fdd|fgd|fd|cmmd|fcd|fvmd|jedi", "min", 0),
    _known(r"kid(?: ?[x×].*)?|kvd|kad", "min"),
    _known(r"is|inception(?: score)?|clip(?:-?[tis])?(?:[- ]?(?:score|sim))?|clap(?: score)?|dino(?:-i)?(?: score)?|"
           r"aesthetics?(?: score)?|aes|image ?reward|hps(?: ?v\d(?:\.\d)?)?|pick ?score|vqa ?score|geneval|"
           r"dpg\S*|tifa|"
           r"id(?:entity)?[- ]?sim\w*|face ?sim\w*|validity|uniqueness|novelty|diversity|qed|"
           r"(?:motion )?smoothness|dynamic degree|subject consistency|vbench\S*", "max"),
    _known(r"tm-?score|p?lddt|gdt\S*|dockq|goodness", "max"),
    # reinforcement and continual learning, safety, fairness
    _known(r"(?:[\w-]+ )*(?:reward|return|score|utility|profit|sharpe(?: ratio)?)s?|iqm|hns|"
           r"(?:mean|median|iqm) human[- ]normali[sz]ed score", "max"),
    _known(r"bwt|backward transfer|fwt|forward transfer|acc[- ]?bwt|aia|plasticity|stability", "max"),
    _known(r"(?:[\w-]+ )*(?:forgetting|fgt|forget|intransigence)(?: (?:rate|measure))?", "min"),
    _known(r"(?:[\w-]+ )*(?:disparity|bias|unfairness)|dp[dg]|[Δδ]?(?:dp|eo|eop)|demographic parity(?: \S+)?|"
           r"equali[sz]ed odds(?: \S+)?|(?:[\w-]+ )*gap", "min"),
    _known(r"r2|r\^2|r²|r-?squared|nse|nash\S*|explained var\w*|ev", "max", None, 1, proportion=True),
    # cost
    _known(r"(?:[\w-]+ )*(?:latency|delay|run[- ]?time|time|param(?:eter)?s|memory|mem\.?|vram|footprint|energy|power|"
           r"cost|seconds|(?:gpu|tpu|cpu)[ -]?(?:hours|days)|queries|overhead|jerk|lag)|#? ?params?\.?|"
           r"[gmt]?(?:flops?|macs?|"
           r"madds|mult-?adds)|model size|bitrate|(?:number|num|#) of param\w*|carbon|co2\S*|sec\.?/\S+|ms|"
           r"ms/\S+|s/\S+|time/\S+|ate", "min"),
    _known(r"(?:[\w-]+ )*(?:throughput|speed(?:[- ]?up)?|fps|acceleration|hv|hypervolume|sparsity)|"
           r"(?:im(?:ages|gs?)?|tok(?:en)?s?|samples|frames|steps|queries)\.?/s(?:ec)?\.?|qps|tps|"
           r"compression(?: ratio)?",
           "max", 0),
)  # fmt: skip

UNTOLD = re.compile(r"[↑↓⇑⇓]|[(\[]\s*(?:%|in %|pct|percent|higher|lower|db|ms|s|m|g|gb|mb|k|h|×|x)?\s*[)\]]|in %|%")
"""What a heading says beside the metric's name."""
AFFIXES = re.compile(
    r"(?:(?:val(?:idation)?|test|dev|eval(?:uation)?|train(?:ing)?|final|best|mean|avg\.?|average|overall|total|median|"
    r"max|min|zero-?shot|few-?shot|linear(?: probe)?|clean|robust|standard|natural|human|our) )+"
)
CHANGED = re.compile(
    r"\b(relative|rel|normali[sz]ed|norm|retained|retention|recover(ed|y)|gains?|improvement|impr|delta|change|"
    r"diff\w*|gap|ratio|adjusted|log|scaled|weighted sum|sum|total)\b|[Δδ∆]"
)
"""Words that make another quantity of a bounded one: a relative accuracy of 103 % is possible."""
DESCRIPTIONS = re.compile(
    r"[λαβγτεσμηκθρδωφψν](?:[ _]?\w{1,4})?|\\?(?:lambda|alpha|beta|gamma|tau|eps(?:ilon)?|sigma|eta|kappa|theta|"
    r"rho|delta|"
    r"omega)(?:[ _]?\w{1,4})?|lr|learning[ _]rate|weight[ _]decay|wd|momentum|dropout(?: rate)?|temp(?:erature)?|"
    r"batch[ _]?size|bs|epochs?|steps?|iter(?:ation)?s?|seeds?|warm-?up|patch[ _]?size|mask(?:ing)? ratio|threshold|"
    r"(?:#|num(?:ber)?(?: of)?|n[ _])? ?(?:layers?|heads?|blocks?|shots?|tokens?|samples?|experts?|clusters?|steps|"
    r"prototypes?|neighbou?rs?|views?|classes|parameters?|params?)|depth|width|rank r|hidden(?: dim\w*)?|"
    r"dim(?:ension)?|"
    r"(?:loss )?weight|ratio|scale|noise(?: (?:rate|level|ratio))?|pruning(?: ratio)?|step size|top-?[kp]"
)
"""Hyper-parameters: rows and columns that describe the others."""
LETTERS = frozenset("KNTMLDHRknmldhr")
"""Names of hyper-parameters where the numbers are whole."""
LONGEST = 60
"""Characters of a name beyond which it is a sentence."""
RANK = re.compile(r"(?:(?:avg|average|mean|median|overall|friedman)\.?[ -])?rank(?:ing)?s?\.?")


@lru_cache(maxsize=4096)
def tidied(name: str | None) -> str:
    """A metric's name as the families know it: lower case, without arrows, units and underscores."""
    text = UNTOLD.sub(" ", (name or "").casefold().replace("_", " ").replace("$", ""))
    return " ".join(text.split()).strip(" :;,")


@lru_cache(maxsize=4096)
def family(metric: str | None) -> Known | None:
    """The family a metric's name belongs to, with or without words such as `test` and `average` before it."""
    name = tidied(metric)
    if not name or len(name) > LONGEST:
        return None
    for text in dict.fromkeys((name, AFFIXES.sub("", name, count=1))):
        for known in FAMILIES:
            if known.pattern.fullmatch(text):
                return known
    return None


@lru_cache(maxsize=4096)
def _way(name: str | None) -> Direction:
    """The direction of a name, or of its last words: `LVIS AP` is a kind of AP."""
    words = tidied(name).split(" ")
    for start in range(min(len(words), 4)):
        if (known := family(" ".join(words[start:]))) is not None:
            return known.direction
    return "unknown"


def is_rank(claim: Claim) -> bool:
    """Whether the number is a rank among the rows, whatever the caption measures."""
    names = (claim.scope.metric, claim.scope.task, claim.where.column)
    return any(name is not None and RANK.fullmatch(tidied(name)) for name in names)


def describes(claim: Claim) -> bool:
    """Whether the number is a hyper-parameter's value: its row, column or method is called like one."""
    names = {claim.scope.method, claim.scope.task, claim.where.row, claim.where.column} - {None, ""}
    whole = claim.printed.isdigit()
    return any(DESCRIPTIONS.fullmatch(tidied(name)) or (whole and name in LETTERS) for name in names)


def measure(claim: Claim) -> str | None:
    """The metric; where none is stated, the heading that may be one."""
    if claim.scope.metric is not None:
        return claim.scope.metric
    heading = claim.scope.task or claim.where.column
    return heading if len(tidied(heading)) > 2 else None


def direction_of(claim: Claim) -> tuple[Direction, bool]:
    """Which way is better, and whether the source says so (False: guessed from the metric's name)."""
    if claim.direction != "unknown":
        return claim.direction, True
    if is_rank(claim):
        return "min", False
    way, heading = _way(measure(claim)), family(claim.scope.task)
    turned = heading is not None and heading.direction != way and len(tidied(claim.scope.task)) > 2
    return ("unknown" if turned else way), False


def bounds(claim: Claim) -> tuple[int | None, int | None]:
    """Least and greatest possible value in the claim's unit, from its unit and its metric."""
    known, name = family(measure(claim)), tidied(measure(claim))
    if is_rank(claim) or CHANGED.search(name) or re.search(r"\b(db|log)\b", claim.where.column.casefold()):
        return None, None
    if known is None:
        return (0, None) if claim.unit == "perplexity" else (None, None)
    if known.proportion and claim.unit not in {"percent", "fraction"}:
        return (-100 if known.lower != 0 else 0, 100) if known.always and claim.scope.metric else (None, None)
    factor = 100 if claim.unit == "percent" and known.proportion else 1
    scaled = [None if bound is None else bound * factor for bound in (known.lower, known.upper)]
    return scaled[0], scaled[1]
