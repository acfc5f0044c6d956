"""The grammar of a cell: a number with what is attached to it, or several numbers between separators."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from leaderboard.claims.importers.grid import Style
from leaderboard.claims.importers.lexer import Token, show

Brackets = Literal["spread", "delta", "ignore"]


@dataclass(slots=True)
class Number:
    """One printed number and what is attached to it; `printed` is empty for the missing part of `7.621 / --`."""

    printed: str
    style: Style
    percent: bool = False
    suffix: str = ""
    """Unit letters directly behind the number: M, G, ms ..."""
    spread: str | None = None
    delta: str | None = None
    delta_percent: bool = False
    more: tuple[tuple[str, bool], ...] = ()
    """Further differences in the same bracket, `(+3.65, +12.74%)`, each with whether it is in percent."""
    interval: tuple[str, str] | None = None
    """The two ends of a range in brackets, `[2950, 3502]`."""
    marks: str = ""
    n: int | None = None
    """Runs behind the number, printed as `(n=5)`."""
    finite: bool = True
    """False for `NaN`, `∞`, `diverged` and their like."""

    @property
    def has_value(self) -> bool:
        """Whether `printed` is a finite number."""
        return self.finite and bool(self.printed)


@dataclass(slots=True)
class Reading:
    """What one cell says. `problem` is the reason when the cell, or `problem_text` of it, was not understood."""

    numbers: list[Number] = field(default_factory=list)
    missing: bool = False
    problem: str = ""
    problem_text: str = ""


class _UnreadableError(Exception):
    """The cell does not follow the grammar; the message is the reason shown."""


class Parser:
    """`value (separator value)*`, where a value is a number with spreads, deltas and marks behind it."""

    def __init__(self, tokens: list[Token], brackets: Brackets | None) -> None:
        self.tokens = tokens
        self.at = 0
        self.brackets = brackets
        self.problem = ""
        self.problem_text = ""

    def parse(self) -> Reading:
        numbers: list[Number] = []
        try:
            numbers.append(self._value())
            while self._peek() == "separator":
                self.at += 1
                numbers.append(self._value())
            if self.at < len(self.tokens):
                raise _UnreadableError(f"unexpected {self._rest()!r} behind the number")
        except _UnreadableError as error:
            return Reading(problem=str(error), problem_text=self._whole())
        if not any(number.printed for number in numbers):
            return Reading(missing=True)
        return Reading(numbers, problem=self.problem, problem_text=self.problem_text)

    def _peek(self, ahead: int = 0) -> str:
        index = self.at + ahead
        return self.tokens[index].kind if index < len(self.tokens) else ""

    def _take(self, kind: str) -> Token | None:
        if self._peek() != kind:
            return None
        self.at += 1
        return self.tokens[self.at - 1]

    def _rest(self) -> str:
        return show(self.tokens[self.at :])

    def _whole(self) -> str:
        return show(self.tokens)

    def _value(self) -> Number:
        if self._missing_part():
            return Number("", self.tokens[self.at - 1].style)
        marks = self._marks()
        if self._peek() == "relation":
            raise _UnreadableError("a bound or an approximation, not a number")
        sign = ""
        if self._peek() in ("up", "down"):
            sign = "+" if self._peek() == "up" else "-"
            self.at += 1
        elif self._peek() == "sign":
            sign = "+" if self.tokens[self.at].text == "+" else "-"
            self.at += 1
        factor = self._take("times")
        style = self.tokens[self.at].style if self.at < len(self.tokens) else Style()
        number = Number(sign + self._number("not a number"), style, marks=marks, suffix="×" if factor else "")
        self._attachments(number)
        return number

    def _missing_part(self) -> bool:
        """Step over a dash that stands for one of several numbers, `--` in `7.621 / --`."""
        ahead = 0
        while self._peek(ahead) == "sign" or (
            self._peek(ahead) == "other" and self.tokens[self.at + ahead].text == "—"
        ):
            ahead += 1
        if not ahead or self._peek(ahead) not in ("", "separator"):
            return False
        self.at += ahead
        return True

    def _number(self, reason: str) -> str:
        """The digits of the number that must stand here; the reason when none does."""
        token = self._take("number")
        if token is None:
            raise _UnreadableError(reason)
        return self._digits(token)

    def _digits(self, token: Token) -> str:
        digits = re.sub(r"[,\u2009\u202f\u00a0]", "", token.text)
        if self._peek() == "exponent" and (not self.tokens[self.at].spaced or "10" in self._peek_text()):
            return self._scientific(digits)
        return digits

    def _scientific(self, digits: str) -> str:
        """Plain decimals with the same last printed place, `4.5e-5` → `0.000045`."""
        text = self._peek_text()
        self.at += 1
        power = int(text[1:].replace("−", "-")) if text[:1] in "eE" else self._power()
        places = len(digits.partition(".")[2]) - power
        if places < 0:
            raise _UnreadableError(f"the last printed digit stands for 10^{-places}, which a plain decimal cannot say")
        return format(Decimal(digits).scaleb(power), f".{places}f")

    def _power(self) -> int:
        if self._take("sup") is None:
            raise _UnreadableError("a power of ten without an exponent")
        sign = self._take("sign")
        token = self._take("number")
        if token is None or not token.text.isdecimal() or len(token.text) > 3 or self._take("end") is None:
            raise _UnreadableError("a power of ten whose exponent is not a whole number")
        return -int(token.text) if sign and sign.text != "+" else int(token.text)

    def _attachments(self, number: Number) -> None:
        while self.at < len(self.tokens):
            before = self.at
            kind = self._peek()
            if kind == "percent":
                self.at += 1
                number.percent = True
            elif kind == "pm":
                self._spread(number)
            elif kind in ("open", "sub", "sup"):
                self._enclosed(number, kind)
            elif kind in ("up", "down", "sign"):
                self._bare_delta(number)
            elif kind == "mark":
                number.marks += self._marks()
            elif kind in ("word", "times"):
                self._suffix(number)
            if self.at == before:
                return

    def _marks(self) -> str:
        marks = ""
        while self._peek() == "mark":
            marks += self.tokens[self.at].text
            self.at += 1
        return marks

    def _spread(self, number: Number) -> None:
        self.at += 1
        spread = self._number("± without a number behind it")
        if number.spread is not None:
            raise _UnreadableError("two spreads behind one number")
        number.spread = spread
        if self._take("percent"):
            number.percent = True

    def _suffix(self, number: Number) -> None:
        token = self.tokens[self.at]
        factor = token.kind == "times" or token.text == "x"
        if number.suffix or len(token.text) > 4 or (token.spaced and len(token.text) < 2 and not factor):
            raise _UnreadableError(f"unexpected {self._rest()!r} behind the number")
        if factor and self._peek(1) not in ("", "open", "close", "mark", "sup", "sub", "end"):
            raise _UnreadableError("a product, not a number")
        self.at += 1
        number.suffix = "×" if factor else token.text

    def _bare_delta(self, number: Number) -> None:
        """`85.82 +2.44`, `85.82 ↑2.44`; a final arrow is only decoration; `85-87` is a range."""
        token = self.tokens[self.at]
        if token.kind != "sign" and self._peek(1) not in ("number", "sign"):
            self.at += 1
            return
        apart = token.style != number.style
        if token.kind == "sign" and token.text != "+" and not apart:
            raise _UnreadableError("a range, or a difference that nothing marks as one")
        self._delta(number)

    def _delta(self, number: Number) -> None:
        """`+2.44`, `↑2.44`, `↑ +2.44`, `2.44↑`."""
        sign = ""
        while self._peek() in ("up", "down", "sign"):
            mark = self.tokens[self.at]
            if not (sign and mark.kind == "sign"):
                sign = "+" if mark.kind == "up" or mark.text == "+" else "-"
            self.at += 1
        digits = self._number("a sign or an arrow without a number")
        if self._take("percent"):
            number.delta_percent = True
        if self._peek() in ("up", "down") and not sign:
            sign = "+" if self._peek() == "up" else "-"
            self.at += 1
        if number.delta is not None:
            raise _UnreadableError("two differences behind one number, or an asymmetric interval")
        number.delta = sign + digits
        while self._peek_text() in (",", ";", "/") and self._peek(1) in ("sign", "up", "down"):
            self.at += 1
            self._further(number)

    def _further(self, number: Number) -> None:
        """`, +12.74%` behind a difference in the same bracket."""
        sign = self.tokens[self.at]
        self.at += 1
        digits = self._number("a sign or an arrow without a number")
        minus = sign.kind == "down" or (sign.kind == "sign" and sign.text != "+")
        number.more += ((f"{'-' if minus else '+'}{digits}", self._take("percent") is not None),)

    def _peek_text(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def _enclosed(self, number: Number, kind: str) -> None:
        """What stands in brackets, a subscript or a superscript behind a number."""
        start = self.at
        self.at += 1
        inner = self._peek()
        if inner == "open" and kind in ("sub", "sup"):
            self.at += 1
            inner = self._peek()
        closers = ("close", "end")
        if inner == "pm":
            self._spread(number)
        elif (inner in ("up", "down", "sign") and self._peek(1) in ("number", "sign", "up", "down")) or (
            inner == "number" and self._peek(1) in ("up", "down")
        ):
            self._delta(number)
        elif inner == "number" and kind == "open" and self._interval(number):
            pass
        elif inner == "number" and self._is_plain_enclosure(kind):
            self._plain(number, kind)
        elif kind == "sup" or inner == "mark":
            self._superscript_mark(number)
        elif kind == "open" and self._says_runs():
            self._runs(number)
        else:
            self._skip(start, kind, "what stands in brackets is not a difference or a spread")
        closed = 0
        while self._peek() in closers and closed < 2:
            self.at += 1
            closed += 1
        if not closed:
            self._skip(start, kind, "more than one number in brackets")

    def _interval(self, number: Number) -> bool:
        """`[2950, 3502]`, `(84.1–86.3)`: a range around the number before it."""
        ahead = self.tokens[self.at : self.at + 4]
        kinds = [token.kind for token in ahead]
        joined = len(ahead) == 4 and (ahead[1].text in (",", ";") or ahead[1].text in "-–−")
        if not joined or (kinds[0], *kinds[2:]) != ("number", "number", "close") or number.interval is not None:
            return False
        low, high = self._digits(ahead[0]), self._digits(ahead[2])
        if not Decimal(low) <= Decimal(number.printed) <= Decimal(high):
            return False
        number.interval = low, high
        self.at += 3
        return True

    def _is_plain_enclosure(self, kind: str) -> bool:
        token = self.tokens[self.at]
        after = self._peek(2) if self._peek(1) == "percent" else self._peek(1)
        is_footnote = kind == "sup" and token.text.isdecimal()
        return after in ("close", "end") and not is_footnote

    def _last_digits(self, number: Number, token: Token, kind: str) -> str | None:
        """`0.905(2)` is 0.905 ± 0.002: bare digits right behind decimals count units of the last printed one."""
        places = len(number.printed.partition(".")[2])
        bracket = self.tokens[self.at - 1]
        bare = kind == "open" and bracket.text == "(" and not bracket.spaced and not token.spaced
        if not (bare and places and token.text.isdecimal() and len(token.text) <= max(2, places)):
            return None
        return format(Decimal(token.text).scaleb(-places), f".{places}f")

    def _plain(self, number: Number, kind: str) -> None:
        token = self.tokens[self.at]
        digits = self._last_digits(number, token, kind) if number.spread is None else None
        if digits is not None and self.brackets in (None, "spread"):
            self.at += 1
            number.spread = digits
        elif self.brackets == "spread" and number.spread is None:
            self.at += 1
            number.spread = self._digits(token)
        elif self.brackets == "delta" and number.delta is None:
            self.at += 1
            number.delta = self._digits(token)
        else:
            self.at += 1
            if self.brackets != "ignore":
                where = {"sub": "a subscript", "sup": "a superscript"}.get(kind, "brackets")
                self._note(
                    token.text, f"nothing says what a number in {where} is; say so with `brackets:` in the mapping"
                )
        self._take("percent")

    def _says_runs(self) -> bool:
        ahead = self.tokens[self.at : self.at + 3]
        return [token.text.lower() for token in ahead[:2]] == ["n", "="] and ahead[-1].text.isdecimal()

    def _runs(self, number: Number) -> None:
        """`(n=5)`, `(n=4/5; 1 diverged)`: the count is kept, what follows it in the bracket is remarks."""
        count = self.tokens[self.at + 2].text
        number.n = int(count) if len(count) < 7 and int(count) > 0 else None
        self.at += 3
        while self.at < len(self.tokens) and self._peek() not in ("close", "open"):
            self.at += 1

    def _superscript_mark(self, number: Number) -> None:
        text = ""
        while self.at < len(self.tokens) and self._peek() not in ("end", "close"):
            text += self.tokens[self.at].text
            self.at += 1
        if any(character.isdigit() for character in text) and any(character in ".+-−±" for character in text):
            raise _UnreadableError("an asymmetric interval or an unclear superscript")
        number.marks += text

    def _skip(self, start: int, kind: str, reason: str) -> None:
        """Leave an enclosure out, note it, and stand on its end."""
        depth = 0
        self.at = start
        while self.at < len(self.tokens):
            depth += {"open": 1, "sub": 1, "sup": 1, "close": -1, "end": -1}.get(self._peek(), 0)
            if depth == 0:
                break
            self.at += 1
        if depth:
            raise _UnreadableError("a bracket that is not closed")
        self._note(show(self.tokens[start : self.at + 1]), reason)

    def _note(self, text: str, reason: str) -> None:
        if not self.problem:
            self.problem, self.problem_text = reason, text
