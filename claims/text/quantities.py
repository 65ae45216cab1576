"""Numbers with their units in a text, in the digits of any script, and whether the numbers of two
texts agree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

# The pattern skips digits of names such as IL-6 or p53. After the number it takes the counted word
# and the next word.
_QUANTITY = re.compile(
    r"(?<![\w.,٫])(?<![^\W\d]-)(\d+(?:[.,٫٬]\d+)*)"
    r"(?:\s?(%|٪|[^\W\d_]+(?!\w)))?(?:\s([^\W\d_]+(?!\w)))?"
)
_NO_UNIT = frozenset(
    "and or to of in out the a an per than was were is are و أو من في إلى على عن".split()
)
# No thousands follow a lone 0: "0,125" has a decimal comma. Of several dots, none is a decimal
# point.
_THOUSANDS = re.compile(r"(?<!^[0٠۰])[,٬](?=\d{3}(?!\d))")
_DOTTED_THOUSANDS = re.compile(r"\d{1,3}(?:\.\d{3}){2,}(?:[,٫]\d+)?")
_PERCENT = frozenset("% ٪ percent per pct بالمئة المئة بالمائة".split())
_SCALES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
    "m": 1e6,
    "bn": 1e9,
    "مئة": 1e2,
    "ألف": 1e3,
    "آلاف": 1e3,
    "مليون": 1e6,
    "ملايين": 1e6,
    "مليار": 1e9,
    "مليارات": 1e9,
}
_BEFORE = re.compile(
    r"(?P<least>more than|over|above|at least|exceed(?:s|ed|ing)?|أكثر من|ما لا يقل عن)\s+$"
    r"|(?P<most>(?:less|fewer) than|under|below|at most|up to|within|أقل من|ما لا يزيد على)\s+$"
    r"|(?P<about>about|around|nearly|almost|roughly|approximately|an? "
    r"estimated|some|نحو|حوالي|قرابة|زهاء)\s+$",
    re.IGNORECASE,
)
_LONGEST = 24  # characters to search before a number
_CLOSE = {"": 0.005, "about": 0.1}
"""The largest relative difference of numbers that count as equal, by kind: three digits agree, or
one is rough.
"""


class Quantity(NamedTuple):
    """A number and its unit, which is ``year`` if the number looks like one.

    ``kind`` is ``least`` or ``most`` for a bound, ``about`` for a rough number, else ``""``.
    """

    value: float
    unit: str
    kind: str = ""


def quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text in their order."""
    found = []
    for match in _QUANTITY.finditer(text):
        before = _BEFORE.search(text[max(0, match.start() - _LONGEST) : match.start()])
        found.append(
            _quantity(*match.groups(default=""))._replace(kind=(before and before.lastgroup) or "")
        )
    return found


def find_unstated(claim: Sequence[Quantity], evidence: Sequence[Quantity]) -> list[Quantity]:
    """Return the quantities of a claim that evidence does not repeat, in their order."""
    return [
        stated for stated in claim if not any(_repeats(stated, written) for written in evidence)
    ]


def _quantity(digits: str, word: str, after: str) -> Quantity:
    plain = (
        digits.replace(".", "")
        if _DOTTED_THOUSANDS.fullmatch(digits)
        else _THOUSANDS.sub("", digits)
    )
    whole, _, rest = plain.replace(",", ".").replace("٫", ".").replace("٬", ".").partition(".")
    value = float(f"{whole}.{rest.replace('.', '')}" if rest else whole)
    word, after = word.lower(), after.lower()
    if word in _SCALES:
        return Quantity(value * _SCALES[word], "" if after in _NO_UNIT else after)
    if word in _PERCENT:
        return Quantity(value, "%")
    if word in _NO_UNIT:
        word = ""
    whole_year = digits.isdecimal() and len(digits) == 4 and 1800 <= value <= 2100
    return Quantity(value, "year" if whole_year else word)


def _repeats(stated: Quantity, written: Quantity) -> bool:
    """Return whether a quantity is about equal to the stated one or, if it has the same unit,
    within a stated bound.
    """
    if stated.unit and stated.unit == written.unit:
        if stated.kind == "least" and written.value >= stated.value:
            return True
        if stated.kind == "most" and written.value <= stated.value:
            return True
    if "year" in (stated.unit, written.unit):
        return stated.value == written.value
    close = max(_CLOSE.get(stated.kind, 0.005), _CLOSE.get(written.kind, 0.005))
    return abs(stated.value - written.value) <= close * max(abs(stated.value), abs(written.value))
