"""Which numbers of one row belong to one relation, told by their role or guessed from the metric's name."""

from __future__ import annotations

import re

from leaderboard.claims.model import Claim

GUESSES = (
    (r"top-?1( acc(uracy)?)?|acc@1", "top1"),
    (r"top-?5( acc(uracy)?)?|acc@5", "top5"),
    (r"top-?1 err(or)?( rate)?", "top1error"),
    (r"top-?5 err(or)?( rate)?", "top5error"),
    (r"acc(uracy)?", "accuracy"),
    (r"err(or)? rate", "error"),
    (r"[lu]?p|(un)?(label+ed )?prec(ision)?", "precision"),
    (r"[lu]?r|(un)?(label+ed )?rec(all)?", "recall"),
    (r"(un)?(label+ed )?f[- ]?1([- ]?score)?|f-?score|f-?measure|[lu]f1?", "f1"),
    (r"sens(itivity)?\.?", "sensitivity"),
    (r"spec(ificity)?\.?", "specificity"),
    (r"f[- ]?0?\.5", "f0.5"),
    (r"(ans(wer)?[- ])?em|exact match", "em"),
    (r"ans(wer)?[- ]f1", "f1"),
    (r"(joint|sup)(?:port(?:ing facts?)?)?[- ](em|f1)", r"\1\2"),
    (r"(% )?test acc(uracy)?", "testaccuracy"),
    (r"(% )?train(ing)? acc(uracy)?", "trainaccuracy"),
    (r"(test |val(idation)? |cross[- ]entropy )?loss|nll", "loss"),
    (r"(test |val(idation)? )?(perplexity|ppl)", "perplexity"),
    (r"mae", "mae"),
    (r"mse", "mse"),
    (r"rmse", "rmse"),
    (r"pass@(\d+)", r"pass@\1"),
    (r"m?ap", "map"),
    (r"m?ap[@_]?(50|75)", r"ap\1"),
    (r"m?iou", "iou"),
    (r"dice", "dice"),
)
PATTERNS = [(re.compile(pattern), role) for pattern, role in GUESSES]


def role_of(claim: Claim) -> str:
    """The role stated, or the one the metric's name suggests; empty when neither says anything."""
    if claim.role:
        return tidy(claim.role)
    name = (claim.scope.metric or "").strip().casefold().replace("_", " ")
    for pattern, role in PATTERNS:
        if match := pattern.fullmatch(name):
            return match.expand(role)
    return ""


def tidy(role: str) -> str:
    """`Top-1 error` → `top1error`: roles are compared without blanks, dashes and case."""
    return re.sub(r"[\s_\-]+", "", role).casefold()


def group_of(claim: Claim) -> str:
    """The group stated, or one made of everything in the scope but the metric."""
    if claim.group:
        return claim.group
    scope = claim.scope
    if scope.method is None:
        return ""
    parts = (claim.where.table, scope.task, scope.method, scope.split, scope.model, scope.budget, scope.subset)
    return "/".join(part or "" for part in parts)
