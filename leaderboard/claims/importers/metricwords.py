"""The names of metrics in headers and captions, as data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from leaderboard.claims.model import Direction

Unit = Literal["percent", "fraction", "raw", "nats", "perplexity"]


@dataclass(frozen=True, slots=True)
class MetricWord:
    """What a metric's name implies."""

    name: str
    is_share: bool = False
    """A share of items: percent or fraction."""
    unit: Unit = "raw"
    is_cost: bool = False
    """Parameters, time, memory: what a model costs beside what it achieves."""
    is_plain: bool = False
    """A word with other meanings (`loss`, `return`, `MAE`): running text must say that it is what was measured."""
    part: str = ""
    """Which of the metrics of that name: `box` or `S` of AP."""
    direction: Direction = "unknown"
    """Only where the name itself leaves no other: a rank."""


Entry = tuple[re.Pattern[str], MetricWord]


def alternatives(*patterns: str) -> re.Pattern[str]:
    """One pattern that matches any of them."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def _share(name: str, *patterns: str, is_plain: bool = False) -> Entry:
    return alternatives(*patterns), MetricWord(name, is_share=True, is_plain=is_plain)


def _raw(name: str, *patterns: str, is_plain: bool = False) -> Entry:
    return alternatives(*patterns), MetricWord(name, is_plain=is_plain)


PART = r"bb|bbox|box|b|mk|mask|m|segm?|kpt?|keypoints?|small|medium|large|s|l|r|c|f|novel|base|all|3d|bev"
"""Which boxes, masks or categories an AP is taken over, as a superscript or a word."""
PARTS = {"b": "box", "bb": "box", "bbox": "box", "mk": "mask", "seg": "mask", "segm": "mask"}
"""One word for each way to write a part."""
_FIFTY, _SEVENTY_FIVE = r"(?:0?\.50?|50)", r"(?:0?\.75|75)"
_COCO = rf"{_FIFTY} ?[:–-] ?(?:0?\.05 ?: ?)?(?:0?\.95|95)"


def _ap(name: str, at: str) -> Entry:
    """Average precision at a threshold: `AP50`, `AP^b_50`, `mAP@0.5`, `box AP50`, `AP50 (mask)` by its parts."""
    gap = r"[ @_^-]*"
    at = rf"{gap}[\[(]?{at}[\])]?" if at else ""
    return (
        re.compile(rf"(?:(?P<lead>{PART})[ -])?m?ap(?:{gap}(?P<inner>{PART}))?{at}(?:{gap}(?P<last>{PART}))?"),
        MetricWord(name, is_share=True),
    )


_AVERAGED = r"(?:(?:avg|average|mean|normali[sz]ed|human[ -]normali[sz]ed|total|final|episod(?:e|ic)|cumulative) )*"
"""Words before `return` or `score` that leave no doubt that it was measured."""

METRICS: tuple[Entry, ...] = (
    _share("top-1", r"top ?-?1( ?-?acc(uracy)?)?", r"acc(uracy)?( ?@ ?| ?-?top ?-?)1", r"p1 acc"),
    _share("top-5", r"top ?-?5( ?-?acc(uracy)?)?", r"acc(uracy)?( ?@ ?| ?-?top ?-?)5"),
    _share("top-1 error", r"top ?-?1 ?-?err(or)?( rate)?", r"err(or)? ?@ ?1"),
    _share("top-5 error", r"top ?-?5 ?-?err(or)?( rate)?", r"err(or)? ?@ ?5"),
    _share("accuracy", r"(classification )?acc(uracy|uracies)?( rate)?"),
    _share("", r"(attack success|false (positive|negative|alarm|discovery|acceptance|rejection)) rate", r"asr",
        r"(overall|average|balanced|mean[ -]?class|per[ -]class|class[ -]average) acc(uracy)?", r"oa|macc"),
    _share("error rate", r"err(or)? rates?", r"misclassification( rate)?"),
    _raw("error", r"err(or)?", is_plain=True),
    _raw("loss", r"nll", r"cross[ -]?entropy loss", r"negative log[ -]?likelihood"),
    _raw("loss", r"((ce|nll) )?loss", r"cross[ -]?entropy", is_plain=True),
    _raw("", r"(mse|l1|l2|huber|kl|reconstruction) loss", r"kl( divergence)?|elbo|regret|energy", is_plain=True),
    (alternatives(r"ppl", r"perplexity", r"perp"), MetricWord("perplexity", unit="perplexity")),
    _raw("bits", r"bpc|bpb|bpd", r"bits[ -]per[ -](character|byte|dim(ension)?)", r"bits/dim"),
    _share("F1", r"f[ -]?1([ -]?(score|measure))?"),
    _share("", r"(macro|micro|weighted|mean)[ -]?(f[ -]?1([ -]?(score|measure))?|precision|recall|acc(uracy)?)",
           r"f[ -]?(score|measure)", r"f[ -]?(0?\.5|2|β)", r"[bj]&f|j&f"),
    _share("precision", r"precision", r"prec"),
    _share("recall", r"recall", r"rec"),
    _share("EM", r"em", r"exact[ -]match( acc(uracy)?)?"),
    _share("AUC", r"((roc|pr)[ -]?)?auc(roc|pr)?", r"auroc", r"aupr(c|o)?", r"area under (the )?(roc )?curve"),
    _ap("AP", _COCO), _ap("AP50", _FIFTY), _ap("AP75", _SEVENTY_FIVE), _ap("AP", ""),
    _share("", r"map ?[@^] ?k?\d+", r"a[rp](\^|@| )?(10|100|1000|1|s|m|l|70|r40)", r"nds|mota|hota|idf1|pq",
        r"pck[hb]?(@?\S{1,4})?"),
    _share("AP", r"(mean )?average precision"),
    _share("IoU", r"m?iou", r"jaccard( index)?", r"mean (iou|intersection over union)"),
    _share("", r"(b|boundary |fw|tight )iou", r"giou"),
    _share("Dice", r"dice( (score|coefficient|similarity coefficient))?", r"dsc"),
    _share("", r"(recall|r|precision|p|hits?|hr|ndcg|mrr|pass|maj|acc|avg|best|mean|cons|rank|cmc) ?[@^] ?k?\d*",
        r"rank[ -]1|ndcg|hit (rate|ratio)(@\d+)?|inp"),
    _share("", r"(task )?success( rates?)?", r"win[ -]?rates?", r"(task |goal )?completion rate", r"pass rate|spl"),
    _share("", r"sensitivity|sens|tpr|tnr|fpr|fnr|fpr ?@? ?95( ?tpr)?|tpr ?@ ?\S{1,8}", r"specificity|spec"),
    _raw("RMSE", r"rmse", r"root mean squared? error"),
    _raw("MSE", r"mse", r"mean squared? error"),
    _raw("MAE", r"mean absolute error"),
    _raw("MAE", r"mae", is_plain=True),
    _raw("", r"[sw]?mape|wmape|mase|nrmse|nmse|rmsle|crps|msis|abs ?rel|sq ?rel|epe|aepe|(pa-?)?mpjpe|mpvpe|add-s",
        r"wer|cer|eer|mcd|rtf|dnsmos|hd[ -]?95|as?sd|nsd|min ?dcf"),
    _raw("", r"(word|character|phoneme|equal|diari[sz]ation|translation|token) error( rates?)?"),
    _raw("", r"per|der|ter", is_plain=True),
    _raw("", r"mrr|nmi|ari|mcc|r2|r\^2", r"(quadratic )?(weighted )?kappa|qwk|c-?index",
        r"(pearson|spearman|kendall)('?s)?( ?([rρτ]|rho|tau|corr(elation)?|correlation coefficient))?",
        r"matthews?( corr(elation|\.)?)?|pcc|ccc|[spk]l?rcc|plcc"),
    _raw("", r"s?fid(-?\d+k)?|c-?fid|kid|lpips|fvd|is|inception score|clip-?(score|sim|i|t)|dino-?(score|i)|mauve",
        r"(aesthetic|image ?reward|pick|hps(v2)?) ?score|niqe|piqe|brisque|dists|bd-?rate|bpp"),
    _raw("", r"([an]?ece|mce)(-?\d+)?|brier( score)?|(expected )?calibration error"),
    _raw("", r"(y-)?psnr|(ms-?)?ssim|pesq|e?stoi|(si-?)?(sdr|snr)i?|[cns]?mos|vmaf"),
    _raw("", r"bleu([ -]?[1-4])?|self-bleu|sacrebleu|rouge([ -]?(1|2|l|lsum))?|meteor|cider(-?d)?|spice|sari|bleurt",
         r"bert-?score|(x?comet|comet-?(22|kiwi|qe))|chrf(\+\+)?|elo( rating)?|mover-?score|qafacteval|summac"),
    _raw("", r"bwt\+?|fwt|(average |avg )?forget(ting)?( rate| measure)?|(backward|forward) transfer|intransigence"),
    _raw("", r"fm|fgt|aia", is_plain=True),
    _raw("", r"chamfer( distance)?|earth mover'?s? distance|hausdorff( distance)?|frechet (inception|video) distance"),
    _raw("", r"demographic parity|dp(d| gap| difference)|equali[sz]ed odds|eo(d| gap| difference)|worst-group acc\S*"),
    (alternatives(
        r"((avg|average|mean|friedman|overall|mean average) )?rank(ing)?( \((avg|average|mean)\))?", r"avgrank"),
        MetricWord("", is_plain=True, direction="min")),
    (alternatives(
        r"(num(ber of)? ?|# ?)?(of )?param(eter)?s?([ _]count)?", r"#p", r"model size", r"(g|m|t)?(flops?|macs?)",
        r"latency|throughput|memory|mem|runtime|cost|speed( ?up)?|fps|macts|acts|seconds|hours|gpu[ -]hours",
        r"((run|train(ing)?|inference|wall[ -]clock)[ -]?)?time", r"(im(ages|gs?)?|tok(en)?s|samples)/s(ec)?",
        r"(gpu|peak) mem(ory)?",
     ), MetricWord("", is_cost=True, is_plain=True)),
    _raw("", rf"{_AVERAGED}(rewards?|returns?|scores?)", is_plain=True),
)  # fmt: skip
"""Pattern of the whole name → what it implies; an empty name keeps the printed one."""
