"""The context of a sentence of evidence: the sentences around it, and whether it says what it is
about.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...retrieval.sentences import sentences

_AROUND = 2_000  # the characters before and after a sentence in which its neighbours are looked for
_MOST = 2  # the number of neighbours on each side
_STEM = 4  # words that begin with the same letters, this many, count as forms of one word
_SHORT = 12  # a definite noun at the beginning of a sentence of at most this many words refers back

_POINTS_BACK = re.compile(
    r"(?:it|its|they|their|them|he|his|him|she|her|hers|this|that|these|those|such|both|neither|"
    r"one of them|some of them|most of them|the (?:former|latter|same|other|others|two|three)|"
    r"but|however|yet|so|therefore|thus|hence|then|instead|moreover|furthermore|besides|also|still|"
    r"nevertheless|nonetheless|otherwise|similarly|likewise|meanwhile|afterwards|later|and|or|"
    r"for this reason|as a result|in contrast|by contrast|on the other hand|of these|of them|"
    r"among them)\b",
    re.IGNORECASE,
)
"""The beginning of an English sentence that refers to what was said before."""
_ADDS = re.compile(r"\b(?:too|as well|also|likewise|either)[.!?]?[\"'”’)\]]*$", re.IGNORECASE)
"""The end of an English sentence that adds something to what was said before."""
_DEFINITE = re.compile(r"the\s+(?P<noun>[a-z]+)", re.IGNORECASE)
_POINTS_BACK_IN_ARABIC = re.compile(
    r"[وف]?(?:هذا|هذه|هؤلاء|ذلك|تلك|أولئك|هو|هي|هم|هما|كما|لكن|لكنه|لكنها|لذلك|كذلك|أيضا|أيضًا|بل|ثم|"
    r"إنه|إنها|إنهم|منها|منهم|بينما|وبذلك|بذلك|غير أن|إلا أن)(?!\w)"
)
"""The beginning of an Arabic sentence that refers to what was said before."""


_STOP = re.compile(r"[.!?؟…。！？][\"'”’»)\]]*$")


class Neighbours(NamedTuple):
    """The sentences before and after a stretch of a text, in their order; ``subject`` is the last
    one before it if the stretch refers to it, else ``""``.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    subject: str = ""


def neighbours(text: str, start: int, end: int) -> Neighbours:
    """Return the sentences around ``text[start:end]``."""
    first = max(0, start - _AROUND)
    before_text = text[first:start]
    spans = [*sentences(before_text)]
    if first:
        spans = spans[1:]  # its beginning was cut off
    before = tuple(before_text[each.start : each.end] for each in spans[-_MOST:])
    after_text = text[end : end + _AROUND]
    following = [*sentences(after_text)]
    if end + _AROUND < len(text):
        following = following[:-1]
    after = tuple(after_text[each.start : each.end] for each in following[:_MOST])
    subject = ""
    # A heading is no sentence: it has no stop.
    if before and _STOP.search(before[-1]) and refers_back(text[start:end], before[-1]):
        subject = before[-1]
    return Neighbours(before, after, subject)


def refers_back(sentence: str, before: str) -> bool:
    """Return whether the subject of a sentence is in the sentence before it: it begins with a word
    that points back, adds to what was said, or begins with a definite noun of that sentence.
    """
    sentence = sentence.lstrip("\"'“‘(«")
    if _POINTS_BACK.match(sentence) or _ADDS.search(sentence):
        return True
    if _POINTS_BACK_IN_ARABIC.match(sentence):
        return True
    definite = _DEFINITE.match(sentence)
    if definite is None or len(sentence.split()) > _SHORT:
        return False
    stem = definite["noun"].lower()[:_STEM]
    return any(word.lower().startswith(stem) for word in re.findall(r"\w+", before))
