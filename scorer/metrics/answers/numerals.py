"""Numbers as people write them: `1,234.5`, `3.5万`, `1亿2000万`, `三千零五`, `百分之五`, `2.5 million`, with a unit.

One pattern finds them, in a column as in one text; what it found is read here, exactly, as a decimal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property

from scorer.metrics.answers.base import BOUNDARY, for_polars, for_python, longest_first

PURE = "1"
"""The dimension of a pure number: percentages are shares of one."""
PERCENT = "%"
PRECISION = 60
"""Digits that are reckoned with: numbers are rounded once, when they become floating-point ones."""

_DIGITS = {
    **{digit: value for value, digit in enumerate("零一二三四五六七八九")},
    **{digit: value for value, digit in enumerate("〇壹贰叁肆伍陆柒捌玖")},
    "两": 2,
    "兩": 2,
    "貳": 2,
    "參": 3,
    "陸": 6,
}
_TENS = {"十": 1, "百": 2, "千": 3, "拾": 1, "佰": 2, "仟": 3, "십": 1, "백": 2, "천": 3}
_MYRIADS = {"万": 4, "萬": 4, "만": 4, "亿": 8, "億": 8, "억": 8, "兆": 12, "조": 12}
_POWERS = {**_TENS, **_MYRIADS}
"""Each character that multiplies -> the power of ten that it stands for."""
_WORDS = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}

_DIGIT = f"[{''.join(_DIGITS)}]"
_POWER = f"[{''.join(_POWERS)}]"
_SIGN = "(?:[-−+]|负|負)?"
_WITH_WHOLE = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
_ARABIC = rf"(?:{BOUNDARY}{_WITH_WHOLE}|\.[0-9]+)"
_MORE = rf"(?:{_WITH_WHOLE}|\.[0-9]+)"
_BIG = "|".join(f"[{word[0]}{word[0].upper()}]{word[1:]}" for word in _WORDS)
_IN_DIGITS = (
    f"{_SIGN}[$€£¥₩]?(?:百分之)?{_ARABIC}(?:[eE][-+]?[0-9]{{1,3}}{BOUNDARY}"
    f"| ?(?:{_BIG}){BOUNDARY}|(?: ?{_POWER}+ ?{_MORE})*(?: ?{_POWER}+)?)"
)
_WHOLE = f"(?:{_DIGIT}|[十拾])(?:{_DIGIT}|{_POWER})*"
_IN_CHARACTERS = f"{_SIGN}(?:(?:{_WHOLE}|百)分之)?{_WHOLE}(?:[点點]{_DIGIT}+{_POWER}*)?"

JOINING_HYPHEN = "([0-9A-Za-z])[-−]"
"""A hyphen after a digit or letter is no minus: 2024-05-01, 3-5, covid-19."""


def idiom_or_numeral(idioms: Iterable[str]) -> str:
    """Return a pattern whose group 1 is all that shall stay of what it matches.

    Idioms go, but not out of the middle of a numeral: 万一 is one, 两万一千 holds none. So numerals match as a whole.
    """
    return "|".join([*map(re.escape, longest_first(idioms)), f"((?:{_DIGIT}|{_POWER})+)"])


@dataclass(frozen=True)
class Number:
    """One number as it was written."""

    value: Decimal
    """The number without its unit."""
    dimension: str | None
    """What its unit measures; null where there is no unit."""
    size: Decimal
    """The size of its unit, counted in the first unit of the dimension; 1 where there is no unit."""


@dataclass(frozen=True)
class Units:
    """Spellings of units, each with its dimension and its size in that dimension's first unit."""

    table: tuple[tuple[str, tuple[str, ...]], ...]
    """Dimension, then spellings; `km = 1000` is a spelling that counts a thousandfold."""

    @classmethod
    def of(cls, terms: Mapping[str, tuple[str, ...]] | None) -> Units:
        """Return the units of a pack's word table; none where there is no table."""
        return cls(tuple((terms or {}).items()))

    @cached_property
    def sizes(self) -> Mapping[str, tuple[str, Decimal]]:
        """Each spelling -> (dimension, size)."""
        found = {dimension: (dimension, Decimal(1)) for dimension, _ in self.table if dimension != PURE}
        for dimension, spellings in self.table:
            for spelling in spellings:
                name, _, size = spelling.partition("=")
                found[name.strip()] = (dimension, Decimal(size.strip() or 1))
        return found

    def mistakes(self) -> Iterator[str]:
        """Yield what is wrong with the table."""
        names: list[str] = [dimension for dimension, _ in self.table if dimension != PURE]
        for spelling in (spelling for _, spellings in self.table for spelling in spellings):
            name, equals, size = spelling.partition("=")
            names.append(name.strip())
            if not name.strip() or (equals and not re.fullmatch(r"[0-9]*\.?[0-9]+", size.strip())):
                yield f"{spelling!r} must be a unit's name, or a name and its size: km = 1000"
        yield from (f"the unit {name!r} stands twice" for name in sorted({n for n in names if names.count(n) > 1}))

    # ---- finding ----

    @cached_property
    def in_digits(self) -> str:
        """The pattern of a number in digits with its unit, for Polars."""
        return for_polars(self._with_unit(_IN_DIGITS))

    @cached_property
    def in_characters(self) -> str:
        """The pattern of a number in Chinese characters with its unit, for Polars."""
        return for_polars(self._with_unit(_IN_CHARACTERS))

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """The same two for one text, with the number as a group."""
        both = (self._with_unit(f"(?P<number>{number})") for number in (_IN_DIGITS, _IN_CHARACTERS))
        digits, characters = (re.compile(for_python(each)) for each in both)
        return digits, characters

    def _with_unit(self, number: str) -> str:
        names = [
            re.escape(n) + (BOUNDARY if n[-1].isascii() and n[-1].isalnum() else "") for n in longest_first(self.sizes)
        ]
        return f"(?:{number})(?: ?(?:{'|'.join(names)}))?" if names else number

    def find(self, text: str, idioms: Iterable[str]) -> list[str]:
        """Return the numbers of one text in order: those in digits, or where there are none those in characters."""
        digits, characters = self._patterns
        joined = re.sub(JOINING_HYPHEN, r"\1 ", text)
        if found := [each.group() for each in digits.finditer(joined)]:
            return found
        return [each.group() for each in characters.finditer(re.sub(idiom_or_numeral(idioms), r"\1", joined))]

    # ---- reading ----

    def read(self, text: str) -> Number | None:
        """Return the number that `text` is from its first character to its last; None where it is none."""
        for pattern in self._patterns:
            if found := pattern.fullmatch(text):
                return self._number(found["number"], text[found.end("number") :].strip())
        return None

    def _number(self, text: str, unit: str) -> Number | None:
        if not unit and "百分之" in text and PERCENT in self.sizes:
            text, unit = text.replace("百分之", ""), PERCENT
        dimension, size = self.sizes[unit] if unit else (None, Decimal(1))
        with localcontext(prec=PRECISION):
            value = _value(text)
            usable = value is not None and math.isfinite(float(value)) and math.isfinite(float(value * size))
        return Number(value, dimension, size) if value is not None and usable else None


def _value(text: str) -> Decimal | None:
    """Return what a numeral without a unit says."""
    negative = text[0] in "-−负負"
    whole = text.lstrip("-−+负負$€£¥₩").replace(",", "").replace(" ", "")
    below, parts, above = whole.rpartition("分之")
    divisor = _numeral(below) if parts else Decimal(1)
    value = _numeral(above)
    if divisor == 0:
        return None
    return (-value if negative else value) / divisor


def _numeral(text: str) -> Decimal:
    for word, power in _WORDS.items():
        if text.lower().endswith(word):
            return Decimal(text[: -len(word)]).scaleb(power)
    if re.fullmatch(r"[0-9.]+[eE][-+]?[0-9]+", text):
        return Decimal(text)
    return _sum_of_powers(re.findall(rf"[0-9.]+|{_DIGIT}+|{_POWER}|[点點]{_DIGIT}+", text))


def _sum_of_powers(parts: Iterable[str]) -> Decimal:
    """Return what digits and multipliers say: 一亿 + (二千 + 三百) × 万 + 五.

    Below a myriad the powers add up to a section; a myriad multiplies its section, and what came before it too where
    it is the greater of the two (万亿). A last lone digit counts tenths of the multiplier before it: 三万五 is 35,000.
    """
    total = section = Decimal(0)
    digits: Decimal | None = None
    greatest = before = 0
    colloquial = False
    for part in parts:
        if part in _TENS:
            section += (Decimal(1) if digits is None else digits).scaleb(_TENS[part])
            before, digits, colloquial = _TENS[part], None, False
        elif part in _MYRIADS:
            power = _MYRIADS[part]
            section += digits or 0
            if power > greatest > 0:
                total = (total + section).scaleb(power)
            else:
                total += (section or Decimal(1)).scaleb(power)
            greatest, before, section, digits, colloquial = power, power, Decimal(0), None, False
        elif part[0] in "点點":
            digits, colloquial = (digits or Decimal(0)) + Decimal(f"0.{_as_digits(part[1:])}"), False
        else:
            digits = Decimal(part if part[0] not in _DIGITS else _as_digits(part))
            colloquial = part in _DIGITS and digits > 0 and before > 1
    if digits is not None and colloquial:
        digits = digits.scaleb(before - 1)
    return total + section + (digits or 0)


def _as_digits(characters: str) -> str:
    return "".join(str(_DIGITS[character]) for character in characters)
