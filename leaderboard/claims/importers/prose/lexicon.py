"""The words in which results are compared. A sentence with any other word in it is not read."""

from __future__ import annotations

import re

OWN = (
    r"(?:our|the proposed|our proposed) (?:full |final |complete |new |simple )?(?:method|approach|model|framework|"
    r"algorithm|system|network|technique|scheme|strategy|architecture|solution|proposal|pipeline|agent|policy)|ours"
)
"""The authors' own row."""

_RIVALS = (
    r"(?:baselines?|methods?|approach(?:es)?|competitors?|models?|alternatives?|counterparts?|techniques?|algorithms?|"
    r"rivals?|competing methods?|systems?)"
)
_KIND = r"(?:other|competing|competitor|previous|prior|existing|considered|compared|strong|recent|evaluated|baseline|remaining|published)"
_NUMERAL = r"(?:\d{1,2}|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty)"
ALL_OTHERS = (
    rf"(?:all|every|each|any)(?: of)?(?: the| these)?(?: {_KIND}){{0,3}}(?: {_NUMERAL})?(?: {_KIND}){{0,3}} {_RIVALS}"
    rf"|(?:the )?(?:{_KIND} ){{1,3}}{_RIVALS}|the (?:baselines|competitors|rivals)|baselines|all others?|all the others"
)
BEST_OTHER = (
    rf"(?:the |our )?(?:second[- ]best|runner[- ]up|next[- ]best)(?: {_KIND})?(?: {_RIVALS}| one| result)?"
    rf"|(?:the )?(?:best|strongest|top|closest|best[- ]performing|most competitive)(?: {_KIND}){{0,2}} "
    r"(?:baseline|method|approach|competitor|model|alternative|rival)"
)
_PLURALS = (
    r"(?:data ?sets?|benchmarks?|tasks?|metrics?|domains?|corpora|environments?|games?|languages?|settings?|cases?|"
    r"scenarios?|test sets?|columns?|classes|categories|organs|language pairs?|measures?|indicators?)"
)
EVERYWHERE = (
    rf"(?:(?:on|across|over|in|for|under) )?(?:all|every|each|both)(?: single)?(?: of)?(?: the| our| these)?"
    rf"(?: considered| evaluated| tested| downstream| reported| used)?(?: {_NUMERAL})?"
    rf"(?: considered| evaluated| tested| downstream| different| evaluation| other)?"
    rf" {_PLURALS}(?: and (?:all )?(?:the )?{_PLURALS})?(?: considered| evaluated| tested)?"
    rf"|across (?:the )?(?:{_NUMERAL} )?(?:different )?(?:data ?sets|benchmarks|tasks|domains|environments)|across the board|everywhere"
)

_VERBS = {
    "V": r"outperform(?:s|ed|ing)?|surpass(?:es|ed|ing)?|beat(?:s|ing)?|exceed(?:s|ed|ing)?|(?:is|are) superior to|"
         r"(?:performs?|performed|does|did|scores?|works?) (?:(?:consistently|significantly|always|clearly) )?better than|outscores?|dominates?|overtakes?|outclasse?s",
    "W": r"underperform(?:s|ed)?|trails?|lags? behind|falls? behind|(?:is|are) inferior to|performs? worse than|"
         r"is worse than",
    "I": r"improv(?:es?|ed|ing)|increas(?:es?|ed)|boost(?:s|ed)?|rais(?:es?|ed)|enhanc(?:es?|ed)|"
         r"reduc(?:es?|ed)|decreas(?:es?|ed)|lower(?:s|ed)",
    "H": r"achiev(?:es?|ed)|obtain(?:s|ed)?|reach(?:es|ed)?|attain(?:s|ed)?|yield(?:s|ed)?|giv(?:es?)|gave|has|have|"
         r"deliver(?:s|ed)?|show(?:s|ed)?(?= an? | the | consistent)|brings?|brought|provid(?:es?|ed)|gets?|sets?|establish(?:es|ed)?|produc(?:es?|ed)|"
         r"enjoys?|offers?|leads? to|results? in",
    "E": r"is|are|was|were|performs?|performed|scores?|ranks?|ranked|remains?",
    "G": r"gains?|(?:an? )?(?:relative |absolute )?(?:performance )?(?:improvements?|gains?|increases?|margins?|advantages?|boosts?|"
         r"reductions?)(?: in performance)?",
    "C": r"better|higher|superior",
    "B": r"(?:a |the )?(?:overall )?(?:new )?(?:best|highest|lowest|top|first|state[- ]of[- ]the[- ]arts?|sota|"
         r"state[- ]of[- ]the[- ]art)(?:[- ]performing)?",
    "P": r"over|upon|than|against|compared (?:to|with)|in comparison (?:to|with)|relative to|with respect to|w\.r\.t\.?|"
         r"versus|vs\.?|above",
    "Y": r"by(?: a margin of| margins of| an? (?:average )?(?:absolute |relative )?margin of)?",
    "K": r"consistent(?:ly)?|always|uniformly|without exception|invariably",
    "&": r"and|as well as|or",
}  # fmt: skip

DROPPED = frozenset(
    [
        "the",
        "a",
        "an",
        "its",
        "as",
        "from",
        "see",
        "seen",
        "shown",
        "show",
        "shows",
        "showed",
        "observed",
        "observe",
        "find",
        "found",
        "note",
        "noted",
        "notice",
        "reported",
        "report",
        "reports",
        "listed",
        "lists",
        "illustrated",
        "presented",
        "presents",
        "summarized",
        "summarised",
        "demonstrated",
        "demonstrates",
        "indicates",
        "confirms",
        "evident",
        "given",
        "reveals",
        "suggests",
        "that",
        "we",
        "can",
        "it",
        "could",
        "be",
        "according",
        "table",
        "tables",
        "tab",
        ",",
        "result",
        "results",
        "performance",
        "numbers",
        "score",
        "scores",
        "dataset",
        "datasets",
        "benchmark",
        "benchmarks",
        "corpus",
        "data",
        "set",
        "sets",
        "task",
        "tasks",
        "metric",
        "metrics",
        "respectively",
        "both",
        "also",
        "further",
        "clearly",
        "significantly",
        "substantially",
        "notably",
        "remarkably",
        "considerably",
        "markedly",
        "greatly",
        "easily",
        "strongly",
        "still",
        "even",
        "again",
        "thus",
        "therefore",
        "hence",
        "indeed",
        "particular",
        "specifically",
        "importantly",
        "moreover",
        "furthermore",
        "additionally",
        "finally",
        "interestingly",
        "surprisingly",
        "firstly",
        "secondly",
        "then",
        "here",
        "strictly",
        "steadily",
        "dramatically",
        "slightly",
        "marginally",
        "impressively",
        "comfortably",
        "decisively",
        "drastically",
        "noticeably",
        "experiments",
        "experimental",
        "terms",
        "on",
        "in",
        "for",
        "across",
        "of",
        "our",
        "test",
        "large",
        "wide",
        "clear",
        "significant",
        "substantial",
        "notable",
        "considerable",
    ]
)
"""Words that leave the comparison as it is."""

TAILS = re.compile(
    r",? (?:which |thus |thereby |hence |clearly |further )?(?:demonstrat|show|confirm|indicat|suggest|highlight|validat|"
    r"verif|prov|underlin|underscor|reveal|illustrat|support|emphasi[sz]|evidenc|reflect|establish|mean|impl)"
    r"(?:ing|es|s|ies|ying) .*$"
    r"|,? while (?:also |still )?(?:using|requiring|being|maintaining|keeping|having|reducing|adding|needing|running|remaining|training|retaining) .*$"
    r"|,? (?:despite|thanks to|due to|because of|owing to) .*$"
    r"|,? (?:with|at|without|using) (?:a |an |the |any |much |far |significantly |only )?(?:fewer|less|no|similar|same|comparable|lower|extra|additional|smaller|half|negligible|little|minimal) .*$"
    r"|,? and (?:also )?(?:achieves|obtains|reaches|requires|uses|runs|needs|has|is also|sets|establishes) .*$"
    r"|,? with (?:an? )?(?:\S+ )?(?:gains?|improvements?|margins?) .*$"
)
"""Ends of sentences that add something to the comparison without changing it."""

LEADS = re.compile(
    r"^(?:despite|thanks to|due to|because of|owing to|surprisingly|notably|interestingly|by contrast to|beyond) [^,]*, "
)

EXCEPTIVE = re.compile(
    r"\b(?:except\w*|exclud\w+|but|although|though|however|unless|only|apart|aside|besides|other than|save|"
    r"nevertheless|yet|worse|underperform\w*|lags?|trails?|behind|loses?|inferior|fails?|slightly below|outlier|"
    r"not|no longer|comparable|on par|competitive|most|similar)\b"
)
"""Words that take something back."""

TRIGGER = re.compile(
    r"\b(?:outperform|underperform|improv|surpass|beat|exceed|gain|better|best|state[- ]of[- ]the[- ]art|sota|highest|consistent|"
    r"reduc|boost|superior|inferior|worse|trails?\b|lags?\b|increas|higher|lower|margin|dominat|outscore)",
    re.IGNORECASE,
)
"""Stems without which a sentence compares nothing."""

QUANTITY = re.compile(
    r"(?<![\w.«/-])\+?(\d+(?:\.\d+)?)(?![\d×]|\.\d)[ -]?(%|percent(?!age)|per cent)?(?: ?(relative|absolute|rel\.|abs\.))?"
    r"(?: ?(«x\d+»))?[ -]?(percentage[- ]points?|percent[- ]points?|percent(?!age)|points?|pts?\b\.?|pp\b|p\.p\.|ppts?\b|dB\b|db\b)?"
    r"(?: (relative|absolute))?(?: ?(«x\d+»))?(?![\w/×-])"
)


def _tagger() -> re.Pattern[str]:
    groups = "|".join(f"(?P<{'AND' if tag == '&' else tag}>{pattern})" for tag, pattern in _VERBS.items())
    return re.compile(rf"(?:{groups})(?![\w-])")


TAGGER = _tagger()
