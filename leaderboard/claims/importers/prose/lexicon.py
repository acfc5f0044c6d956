"""The words in which results are compared. A sentence with any other word in it is not read."""

from __future__ import annotations

import re


def _any(*texts: str) -> str:
    """An alternation of the words in the texts; `_` is a blank, `-` a hyphen or a blank."""
    return (
        "(?:" + "|".join(word.replace("_", " ").replace("-", "[- ]") for text in texts for word in text.split()) + ")"
    )


def _verb(stems: str) -> str:
    """Verbs as `stem:endings`, an ending `0` being none: `beat:0,s` is beat and beats."""
    parts = (stem.partition(":") for stem in stems.split())
    return _any(" ".join(f"{a}(?:{'|'.join(ends.replace('0', '').split(','))})" for a, _, ends in parts))


OWN = (
    _any("our the_proposed our_proposed") + rf" (?:{_any('full final complete new simple')} )?"
    + _any("method approach model framework algorithm system network technique scheme strategy architecture solution",
           "proposal pipeline agent policy")
    + "|ours"
)  # fmt: skip
"""The authors' own row."""

_NUMERAL = r"(?:\d{1,2}|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty)"
_RIVALS = _any("baselines? methods? approach(?:es)? competitors? models? alternatives? counterparts? techniques?",
               "algorithms? rivals? systems?")  # fmt: skip
_KIND = _any("other competing competitor previous prior existing considered compared strong recent evaluated baseline",
             "remaining published")  # fmt: skip
ALL_OTHERS = (
    rf"(?:all|every|each|any)(?: of)?(?: the| these)?(?: {_KIND}){{0,3}}(?: {_NUMERAL})?(?: {_KIND}){{0,3}} {_RIVALS}"
    rf"|(?:the )?(?:{_KIND} ){{1,3}}{_RIVALS}|the (?:baselines|competitors|rivals)|baselines|all others?|all the others"
)
"""Every other row."""
BEST_OTHER = (
    rf"(?:the |our )?{_any('second-best runner-up next-best')}(?: {_KIND})?(?: {_RIVALS}| one| result)?"
    rf"|(?:the )?{_any('best strongest top closest best-performing most_competitive')}(?: {_KIND}){{0,2}} "
    + _any("baseline method approach competitor model alternative rival")
)
"""The best row but the own one."""

_PLURALS = _any(
    "data_?sets? benchmarks? tasks? metrics? domains? corpora environments? games? language_pairs? languages?",
    "settings? cases? scenarios? test_sets? columns? classes categories organs measures? indicators?",
)
_USED = _any("considered evaluated tested downstream different evaluation other reported used")
EVERYWHERE = (
    rf"(?:{_any('on across over in for under')} )?{_any('all every each both')}(?: single)?(?: of)?"
    rf"(?: the| our| these)?(?: {_USED})?(?: {_NUMERAL})?(?: {_USED})? {_PLURALS}"
    rf"(?: and (?:all )?(?:the )?{_PLURALS})?(?: considered| evaluated| tested)?"
    rf"|across (?:the )?(?:{_NUMERAL} )?(?:different )?{_any('data_?sets benchmarks tasks domains environments')}"
    "|across the board|everywhere"
)
"""Every column."""

_FIRMLY = "(?:(?:consistently|significantly|always|clearly) )?"
_SIZES = _any("improvements? gains? increases? margins? advantages? boosts? reductions?")
TAGS = {
    "V": _verb("outperform:0,s,ed,ing surpass:0,es,ed,ing beat:0,s,ing exceed:0,s,ed,ing outscore:0,s dominate:0,s "
               "overtake:0,s outclass:0,es")
         + rf"|(?:is|are) superior to|{_verb('perform:0,s,ed do:es score:0,s work:0,s')} {_FIRMLY}better than",
    "W": _verb("underperform:0,s,ed trail:0,s") + f"|{_verb('lag:0,s fall:0,s')} behind|(?:is|are) inferior to"
         "|performs? worse than|is worse than",
    "I": _verb("improv:e,es,ed,ing increas:e,es,ed boost:0,s,ed rais:e,es,ed enhanc:e,es,ed reduc:e,es,ed "
               "decreas:e,es,ed lower:0,s,ed"),
    "H": _verb("achiev:e,es,ed obtain:0,s,ed reach:0,es,ed attain:0,s,ed yield:0,s,ed giv:e,es deliver:0,s,ed "
               "provid:e,es,ed produc:e,es,ed establish:0,es,ed bring:0,s get:0,s set:0,s enjoy:0,s offer:0,s")
         + "|gave|has|have|brought|leads? to|results? in|show(?:s|ed)?(?= an? | the | consistent)",
    "E": _verb("perform:0,s,ed score:0,s rank:0,s,ed remain:0,s") + "|is|are|was|were",
    "G": rf"gains?|(?:an? )?(?:relative |absolute )?(?:performance )?{_SIZES}(?: in performance)?",
    "C": "better|higher|superior",
    "B": rf"(?:a |the )?(?:overall )?(?:new )?{_any('best highest lowest top first state-of-the-arts? sota')}"
         "(?:[- ]performing)?(?: (?:method|approach|model))?",
    "P": _any("over upon than against compared_to compared_with in_comparison_to in_comparison_with relative_to",
              "with_respect_to versus above") + r"|w\.r\.t\.?|vs\.?",
    "Y": "by(?: a margin of| margins of| an? (?:average )?(?:absolute |relative )?margin of)?",
    "K": "consistent(?:ly)?|always|uniformly|without exception|invariably",
    "AND": "and|as well as|or",
}  # fmt: skip
"""Tag → phrases: beats (V), is beaten by (W), improves (I), achieves (H), is (E), a gain (G), better (C), the best (B),
over (P), by (Y), consistently (K), and."""

TAGGER = re.compile("(?:" + "|".join(f"(?P<{tag}>{phrases})" for tag, phrases in TAGS.items()) + r")(?![\w-])")

DROPPED = frozenset(
    word
    for text in (
        "the a an its as from see seen shown show shows showed observed observe find found note noted notice reported",
        "report reports listed lists illustrated presented presents summarized summarised demonstrated demonstrates",
        "indicates confirms evident given reveals suggests that we can it could be according table tables tab",
        "result results performance numbers score scores dataset datasets benchmark benchmarks corpus data set sets",
        "task tasks metric metrics respectively both also further clearly significantly substantially notably",
        "remarkably considerably markedly greatly easily strongly still even again thus therefore hence indeed",
        "particular specifically importantly moreover furthermore additionally finally interestingly surprisingly",
        "firstly secondly then here strictly steadily dramatically slightly marginally impressively comfortably",
        "decisively drastically noticeably experiments experimental terms on in for across of our test large wide",
        "clear significant substantial notable considerable",
    )
    for word in text.split()
)
"""Words that leave the comparison as it is."""

_SHOWING = _any("demonstrat show confirm indicat suggest highlight validat verif prov underlin underscor reveal",
                "illustrat support emphasi[sz] evidenc reflect establish mean impl")  # fmt: skip
_DOING = _any("using requiring being maintaining keeping having reducing adding needing running remaining training",
              "retaining")  # fmt: skip
_SMALL = _any("fewer less no similar same comparable lower extra additional smaller half negligible little minimal")
_DOES = _any("achieves obtains reaches requires uses runs needs has is_also sets establishes")
TAILS = re.compile(
    rf",? (?:which |thus |thereby |hence |clearly |further )?{_SHOWING}(?:ing|es|s|ies|ying) .*$"
    rf"|,? while (?:also |still )?{_DOING} .*$"
    r"|,? (?:despite|thanks to|due to|because of|owing to) .*$"
    rf"|,? (?:with|at|without|using) (?:{_any('a an the any much far significantly only')} )?{_SMALL} .*$"
    rf"|,? and (?:also )?{_DOES} .*$"
    r"|,? with (?:an? )?(?:\S+ )?(?:gains?|improvements?|margins?) .*$"
)
"""Ends of sentences that add something to the comparison without changing it."""

WITH_GAINS = re.compile(
    rf",? with (?:an? )?(?:(?:absolute|relative|average|clear|large|respective) )?{_SIZES} of (?:up to )?(?=\+?\d)"
)
"""`, with a gain of 1.9` says by how much."""

LEADS = re.compile(
    r"^(?:despite|thanks to|due to|because of|owing to|surprisingly|notably|interestingly|beyond) [^,]*, "
)
"""Beginnings of that kind."""

MARGIN = re.compile(
    r" (?:by|with) (?:an? )?(?:\w+ly )?"
    + _any("large wide clear significant substantial considerable big huge notable comfortable great remarkable good")
    + r" margins?\b"
)
"""A size without a number."""

EXCEPTIVE = re.compile(
    r"\b"
    + _any(r"except\w* exclud\w+ but although though however unless only apart aside besides other_than save",
           r"nevertheless yet worse underperform\w* lags? trails? behind loses? inferior fails? slightly_below outlier",
           "not no_longer comparable on_par competitive most similar")
    + r"\b"
)  # fmt: skip
"""Words that take something back."""

TRIGGER = re.compile(
    r"\b"
    + _any("outperform underperform improv surpass beat exceed gain better best state-of-the-art sota highest lowest",
           r"ranks?\b ranked consistent reduc boost superior inferior worse trails?\b lags?\b increas higher lower",
           "margin dominat outscore overtak outclass rais enhanc decreas ahead_of behind"),
    re.IGNORECASE,
)  # fmt: skip
"""Stems without which a sentence compares nothing."""

_POINTS = (
    r"(?:percentage[- ]points?|percent[- ]points?|percent(?!age)|points?|pts?\b\.?|ppts?\b|pp\b|p\.p\.|dB\b|db\b"
    r"|(?:mm|cm|ms|px|pixels?|degrees?|seconds?|hours?|gb|mb|bits?|nats?|fps|gflops|perplexity)\b|°)"
)
QUANTITY = re.compile(
    r"(?<![\w.«/-])\+?(?P<number>\d+(?:\.\d+)?)(?![\d×]|\.\d)[ -]?(?P<percent>%|percent(?!age)|per cent)?"
    r"(?: ?(?:relative|absolute|rel\.|abs\.))?(?: ?(?P<before>«x\d+»))?"
    rf"[ -]?(?P<points>{_POINTS})?(?: (?:relative|absolute))?(?: ?(?P<behind>«x\d+»))?(?![\w/×-])"
)
"""A stated difference with its unit and its metric: `2.4`, `2.4 %`, `2.4 «x0» points`, `2.4 points «x0»`."""
