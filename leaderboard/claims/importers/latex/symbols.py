"""LaTeX commands that stand for a character, for space, for nothing, or for their last argument."""

from __future__ import annotations

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "Delta": "Δ", "epsilon": "ε", "varepsilon": "ε", "eta": "η", "theta": "θ",
    "kappa": "κ", "lambda": "λ", "Lambda": "Λ", "mu": "μ", "nu": "ν", "pi": "π", "rho": "ρ", "sigma": "σ", "Sigma": "Σ", "tau": "τ",
    "phi": "φ", "Phi": "Φ", "varphi": "φ", "psi": "ψ", "omega": "ω", "Omega": "Ω", "ell": "ℓ",
}  # fmt: skip

SYMBOLS: dict[str, str] = {
    "\\%": "%", "\\&": "&", "\\_": "_", "\\$": "$", "\\#": "#", "\\{": "{", "\\}": "}", "\\-": "", "\\/": "",
    "\\pm": "±", "\\textpm": "±", "\\mp": "∓", "\\times": "×", "\\texttimes": "×", "\\cdot": "·", "\\textperiodcentered": "·",
    "\\uparrow": "↑", "\\downarrow": "↓", "\\Uparrow": "⇑", "\\Downarrow": "⇓", "\\textuparrow": "↑", "\\textdownarrow": "↓",
    "\\upArrow": "↑", "\\triangle": "△", "\\blacktriangle": "▲", "\\blacktriangledown": "▼", "\\triangledown": "▽",
    "\\rightarrow": "→", "\\to": "→", "\\leftarrow": "←", "\\Rightarrow": "⇒", "\\nearrow": "↗", "\\searrow": "↘",
    "\\leftrightarrow": "↔", "\\dagger": "†", "\\dag": "†", "\\textdagger": "†", "\\ddagger": "‡", "\\ddag": "‡",
    "\\textdaggerdbl": "‡", "\\ast": "∗", "\\star": "⋆", "\\bigstar": "★", "\\textasteriskcentered": "∗", "\\S": "§", "\\P": "¶",
    "\\checkmark": "✓", "\\cmark": "✓", "\\xmark": "✗", "\\ding": "", "\\textminus": "−", "\\textendash": "–", "\\textemdash": "—",
    "\\infty": "∞", "\\approx": "≈", "\\sim": "∼", "\\simeq": "≃", "\\leq": "≤", "\\le": "≤", "\\geq": "≥", "\\ge": "≥",
    "\\lt": "<", "\\gt": ">", "\\textless": "<", "\\textgreater": ">", "\\mid": "|", "\\vert": "|", "\\textbar": "|", "\\|": "|",
    "\\textbackslash": "\\", "\\backslash": "\\", "\\textasciitilde": "~", "\\textunderscore": "_", "\\ldots": "…", "\\dots": "…",
    "\\cdots": "…", "\\textdegree": "°", "\\degree": "°", "\\circ": "∘", "\\bullet": "•", "\\textbullet": "•", "\\percent": "%",
    "\\oplus": "⊕", "\\emptyset": "∅", "\\varnothing": "∅", "\\neq": "≠", "\\clubsuit": "♣", "\\spadesuit": "♠", "\\diamondsuit": "♦",
    "\\heartsuit": "♥", "\\diamond": "◇", "\\slash": "/", "\\LaTeX": "LaTeX", "\\log": "log", "\\exp": "exp", "\\max": "max",
    "\\min": "min", "\\ss": "ß", "\\ae": "æ", "\\oe": "œ", "\\o": "ø", "\\aa": "å", "\\l": "ł", "\\i": "ı",
    **{f"\\{name}": letter for name, letter in _GREEK.items()},
}  # fmt: skip

SPACES: dict[str, str] = {
    "\\ ": " ", "\\\n": " ", "\\quad": " ", "\\qquad": " ", "\\,": "\u2009", "\\thinspace": "\u2009", "\\;": " ", "\\:": " ", "\\>": " ",
    "\\!": "", "\\@": "", "\\newline": " ", "\\enspace": " ", "\\par": " ", "\\hfill": " ", "\\hskip": " ", "\\nobreakspace": " ",
    "\\tabularnewline": " ", "\\cr": " ",
}  # fmt: skip

DROPPED: dict[str, int] = {
    "\\footnote": 1, "\\footnotemark": 0, "\\footnotetext": 1, "\\cite": 1, "\\citep": 1, "\\citet": 1, "\\citealp": 1, "\\citeauthor": 1,
    "\\citeyear": 1, "\\citeyearpar": 1, "\\parencite": 1, "\\textcite": 1, "\\autocite": 1, "\\citealt": 1, "\\citenum": 1, "\\shortcite": 1,
    "\\ref": 1, "\\cref": 1, "\\Cref": 1, "\\autoref": 1, "\\eqref": 1, "\\pageref": 1, "\\label": 1, "\\hspace": 1, "\\vspace": 1, "\\phantom": 1,
    "\\hphantom": 1, "\\vphantom": 1, "\\cellcolor": 1, "\\rowcolor": 1, "\\columncolor": 1, "\\rowcolors": 3, "\\arrayrulecolor": 1,
    "\\includegraphics": 1, "\\index": 1, "\\hypertarget": 1, "\\strut": 0, "\\centering": 0, "\\raggedright": 0, "\\raggedleft": 0,
    "\\arraybackslash": 0, "\\noindent": 0, "\\xspace": 0, "\\left": 0, "\\right": 0, "\\displaystyle": 0, "\\textstyle": 0, "\\scriptstyle": 0,
    "\\normalsize": 0, "\\large": 0, "\\Large": 0, "\\upshape": 0, "\\rmfamily": 0, "\\sffamily": 0, "\\ttfamily": 0, "\\scshape": 0, "\\sc": 0,
    "\\rm": 0, "\\sf": 0, "\\tt": 0, "\\unskip": 0, "\\ignorespaces": 0, "\\relax": 0, "\\protect": 0, "\\leavevmode": 0, "\\null": 0,
    "\\hfil": 0, "\\hline": 0, "\\toprule": 0, "\\midrule": 0, "\\bottomrule": 0, "\\limits": 0, "\\nolimits": 0, "\\big": 0, "\\Big": 0,
    "\\rule": 2, "\\linewidth": 0, "\\textwidth": 0, "\\columnwidth": 0, "\\bigstrut": 0, "\\Tstrut": 0, "\\Bstrut": 0, "\\nocite": 1,
    "\\setlength": 2, "\\addtolength": 2, "\\renewcommand": 2, "\\fontsize": 2, "\\selectfont": 0, "\\kern": 0, "\\(": 0, "\\)": 0,
    "\\input": 1, "\\include": 1, "\\todo": 1, "\\faIcon": 1,
}  # fmt: skip
"""Command → number of mandatory arguments that go with it."""

TRANSPARENT: dict[str, int] = {
    "\\text": 0, "\\textrm": 0, "\\mathrm": 0, "\\textsc": 0, "\\texttt": 0, "\\textsf": 0, "\\mbox": 0, "\\hbox": 0, "\\fbox": 0, "\\mathsf": 0,
    "\\mathtt": 0, "\\mathcal": 0, "\\mathbb": 0, "\\textup": 0, "\\textnormal": 0, "\\textmd": 0, "\\ensuremath": 0, "\\makecell": 0,
    "\\shortstack": 0, "\\thead": 0, "\\centerline": 0, "\\operatorname": 0, "\\hat": 0, "\\bar": 0, "\\tilde": 0, "\\overline": 0,
    "\\resizebox": 2, "\\scalebox": 1, "\\rotatebox": 1, "\\raisebox": 1, "\\parbox": 1, "\\makebox": 0, "\\adjustbox": 1, "\\href": 1,
    "\\url": 0, "\\hyperlink": 1, "\\rlap": 0, "\\llap": 0, "\\smash": 0, "\\mathop": 0, "\\mathllap": 0, "\\mathrlap": 0, "\\clap": 0,
    "\\textls": 0, "\\lowercase": 0, "\\uppercase": 0, "\\MakeUppercase": 0, "\\acs": 0, "\\ac": 0, "\\gls": 0, "\\acl": 0, "\\st": 0, "\\sout": 0,
    "\\rot": 0, "\\turn": 0, "\\multirowcell": 1, "\\fcolorbox": 2, "\\tablefootnote": 0, "\\subscript": 0, "\\vcenter": 0, "\\underset": 1,
    "\\overset": 1, "\\xrightarrow": 0, "\\cancel": 0, "\\'": 0, "\\`": 0, "\\^": 0, '\\"': 0, "\\~": 0, "\\c": 0, "\\v": 0, "\\=": 0, "\\.": 0,
    "\\u": 0, "\\H": 0, "\\r": 0,
}  # fmt: skip
"""Command → number of arguments before the one that is its text."""
