"""LaTeX commands that stand for a character, for space, for nothing, or for their last argument."""

from __future__ import annotations


def _pairs(text: str) -> dict[str, str]:
    """`alpha α beta β` → command with its backslash → character."""
    words = text.split()
    return {f"\\{name}": character for name, character in zip(words[::2], words[1::2], strict=True)}


def _counted(**names: str) -> dict[str, int]:
    """`one="cite ref"` → command with its backslash → 1."""
    numbers = {"none": 0, "one": 1, "two": 2, "three": 3}
    return {f"\\{name}": numbers[count] for count, text in names.items() for name in text.split()}


SYMBOLS: dict[str, str] = {
    **_pairs(
        "pm ± textpm ± mp ∓ times × texttimes × cdot · textperiodcentered · uparrow ↑ downarrow ↓ Uparrow ⇑ Downarrow "
        "⇓ textuparrow ↑ textdownarrow ↓ upArrow ↑ triangle △ blacktriangle ▲ blacktriangledown ▼ triangledown ▽ "
        "rightarrow → to → leftarrow ← Rightarrow ⇒ nearrow ↗ searrow ↘ leftrightarrow ↔ dagger † dag † textdagger † "
        "ddagger ‡ ddag ‡ textdaggerdbl ‡ ast ∗ star ⋆ bigstar ★ textasteriskcentered ∗ S § P ¶ checkmark ✓ cmark ✓ "
        "xmark ✗ textminus − textendash – textemdash — infty ∞ approx ≈ sim ∼ simeq ≃ leq ≤ le ≤ geq ≥ ge ≥ lt < gt > "
        "textless < textgreater > mid | vert | textbar | textbackslash \\ backslash \\ textasciitilde ~ textunderscore "
        "_ ldots … dots … cdots … textdegree ° degree ° circ ∘ bullet • textbullet • percent % oplus ⊕ emptyset ∅ "
        "varnothing ∅ neq ≠ clubsuit ♣ spadesuit ♠ diamondsuit ♦ heartsuit ♥ diamond ◇ slash / LaTeX LaTeX log log "
        "exp exp max max min min ss ß ae æ oe œ o ø aa å l ł i ı "
    ),
    **_pairs(
        "alpha α beta β gamma γ delta δ Delta Δ epsilon ε varepsilon ε eta η theta θ kappa κ lambda λ Lambda Λ mu μ "
        "nu ν pi π rho ρ sigma σ Sigma Σ tau τ phi φ Phi Φ varphi φ psi ψ omega ω Omega Ω ell ℓ "
    ),
    "\\%": "%", "\\&": "&", "\\_": "_", "\\$": "$", "\\#": "#", "\\{": "{", "\\}": "}", "\\-": "", "\\/": "",
    "\\|": "|",
}  # fmt: skip

DINGBATS = {"51": "✓", "52": "✓", "53": "✗", "54": "✗", "55": "✗", "56": "✗"}
"""Number of a pifont \\ding → the mark that it prints; any other is an ornament."""

SPACES: dict[str, str] = {
    "\\ ": " ", "\\\n": " ", "\\quad": " ", "\\qquad": " ", "\\,": "\u2009", "\\thinspace": "\u2009", "\\;": " ",
    "\\:": " ", "\\>": " ", "\\!": "", "\\@": "", "\\newline": " ", "\\enspace": " ", "\\par": " ", "\\hfill": " ",
    "\\hskip": " ", "\\nobreakspace": " ", "\\tabularnewline": " ", "\\cr": " ",
}  # fmt: skip

DROPPED: dict[str, int] = _counted(
    none=(
        "footnotemark strut centering raggedright raggedleft arraybackslash noindent xspace left right "
        "displaystyle textstyle scriptstyle normalsize large Large upshape rmfamily sffamily ttfamily scshape sc "
        "rm sf tt unskip ignorespaces relax protect leavevmode null hfil hline toprule midrule bottomrule limits "
        "nolimits big Big linewidth textwidth columnwidth bigstrut Tstrut Bstrut selectfont kern ( ) "
    ),
    one=(
        "footnote footnotetext cite citep citet citealp citeauthor citeyear citeyearpar parencite textcite "
        "autocite citealt citenum shortcite ref cref Cref autoref eqref pageref label hspace vspace phantom "
        "hphantom vphantom cellcolor rowcolor columncolor arrayrulecolor includegraphics index hypertarget nocite "
        "input include todo faIcon "
    ),
    two=(
        "rule setlength addtolength renewcommand fontsize "
    ),
    three=(
        "rowcolors "
    ),
)  # fmt: skip
"""Command → number of mandatory arguments that go with it."""

TRANSPARENT: dict[str, int] = _counted(
    none=(
        "text textrm mathrm textsc texttt textsf mbox hbox fbox mathsf mathtt mathcal mathbb textup textnormal "
        "textmd ensuremath makecell shortstack thead centerline operatorname hat bar tilde overline makebox url "
        "rlap llap smash mathop mathllap mathrlap clap textls lowercase uppercase MakeUppercase acs ac gls acl st "
        "sout rot turn tablefootnote subscript vcenter xrightarrow cancel ' ` ^ \" ~ c v = . u H r "
    ),
    one=(
        "scalebox rotatebox raisebox parbox adjustbox href hyperlink multirowcell underset overset "
    ),
    two=(
        "resizebox fcolorbox "
    ),
)  # fmt: skip
"""Command → number of arguments before the one that is its text."""
