"""The one form in which texts are compared: spellings that look the same become the same.

Documents, queries, phrases, exclusions and titles are folded before they are analysed, and so are the words that
suggestions are made of. ASCII stays as it is. The form is NFKC, with what that would spoil put right before it.
"""

from __future__ import annotations

import re
import unicodedata

_DROPPED = "\u00ad\u034f\u061c\u180b-\u180f\u200b\u200d-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
"""Soft hyphens, blanks of no width, direction marks, and what chooses between forms of a letter."""
_APOSTROPHES = "\u00b4\u02bb\u02bc\u2018\u2019\u201b\u2032"
_SUPERSCRIPTS = "\u00b2\u00b3\u00b9\u2070\u2074-\u2079"
_FRACTIONS = "\u00bc-\u00be\u2150-\u215e\u2189"
_CIRCLED = "\u2460-\u2473\u24ea\u3251-\u325f\u32b1-\u32bf"
_TRADE_MARKS = "\u2120\u2122"
_SENTENCES = "\ufdfa\ufdfb"
# Between Arabic letters a joiner of no width means something: Persian's and Sorani's analyzers read it.
_SPECIAL = re.compile(
    rf"(?P<dropped>[{_DROPPED}\U000e0000-\U000e0fff]|(?<![\u0620-\u06ff])\u200c|\u200c(?![\u0620-\u06ff]))"
    rf"|(?P<apostrophe>[{_APOSTROPHES}])|(?P<slash>\u2044)|(?P<blank>[{_TRADE_MARKS}])"
    rf"|(?P<superscript>[{_SUPERSCRIPTS}]+)|(?P<fraction>[{_FRACTIONS}])|(?P<apart>[{_CIRCLED}]+|[{_SENTENCES}])"
)
_UNIT = re.compile(r"(?:^|[\s\x00-@\[-`{-\x7f\u00b7\u00d7])[A-Za-z\u00b5\u03bc]{1,2}\Z")
"""What a superscript belongs to, as in m² and mc²: behind a longer word stands the number of a note."""
# Lucene's tokenizer takes these for a part of a word; where only ASCII is around them, its tokens stay as they are.
_GLUE = re.compile(r"(?<=[^\x00-\x7f])(?<!\d)[:._](?=\w)|(?<=[A-Za-z])[:._](?=[^\x00-\x7f])(?!.\d)")
_ATTACHED = "\u1160-\u11ff\u3131-\u318e\uff9e\uff9f\uffa0-\uffdc"
"""What is no mark, and yet may become one letter with what stands before it: sounds of Hangul and kana."""


def folded(text: str) -> str:
    """Return a text in the form in which it is compared; ASCII as it is."""
    if text.isascii():
        return text
    return _unglued(unicodedata.normalize("NFKC", _SPECIAL.sub(_plain, text)))


def folded_with_places(text: str) -> tuple[str, list[int], list[int]]:
    """Return a text as :func:`folded` does, and where in ``text`` what each of its characters is begins and ends."""
    if text.isascii():
        return text, list(range(len(text))), list(range(1, len(text) + 1))
    characters: list[tuple[str, int, int]] = []
    last = 0
    for special in _SPECIAL.finditer(text):
        characters += [(text[at], at, at + 1) for at in range(last, special.start())]
        characters += [(character, *special.span()) for character in _plain(special)]
        last = special.end()
    characters += [(text[at], at, at + 1) for at in range(last, len(text))]
    form, starts, ends, first = "", list[int](), list[int](), 0
    for after in range(1, len(characters) + 1):
        if after < len(characters) and _is_attached(characters[after][0]):
            continue
        group = unicodedata.normalize("NFKC", "".join(character for character, _, _ in characters[first:after]))
        form += group
        starts += [characters[first][1]] * len(group)
        ends += [characters[after - 1][2]] * len(group)
        first = after
    return _unglued(form), starts, ends


def _unglued(text: str) -> str:
    return _GLUE.sub(" ", text)


def _plain(special: re.Match[str]) -> str:
    """Return what takes the place of a special character."""
    kind, before = special.lastgroup, special.string[: special.start()][-3:]
    if kind == "dropped":
        return ""
    if kind == "blank":
        return " "
    if kind in ("apostrophe", "slash"):
        return "'" if kind == "apostrophe" else "/"
    form = unicodedata.normalize("NFKC", special[0]).replace("\u2044", "/")
    if kind == "apart":
        return f" {form} "
    if kind == "fraction":
        return f" {form}" if before[-1:].isdecimal() else form
    return form if not before or before[-1].isspace() or _UNIT.search(before) else f" {form}"


def _is_attached(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or re.match(f"[{_ATTACHED}]", character) is not None
