"""Folding: the form in which texts are compared, so that spellings that look the same become the
same.

Documents, queries, phrases, exclusions and titles are folded before analysis, and so are the words
of spelling corrections. ASCII stays unchanged. The form is NFKC, after corrections where NFKC would
do harm.
"""

from __future__ import annotations

import re
import unicodedata

_DROPPED = (
    "\u00ad\u034f\u061c\u180b-\u180f\u200b\u200d-\u200f"
    "\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
"""Soft hyphens, zero-width spaces, direction marks, and variation selectors."""
_INVISIBLE = re.compile(f"[{_DROPPED}]")
_JOINER, _SUPERSCRIPTS = "\u200c", "\u00b2\u00b3\u00b9\u2070\u2074-\u2079"
_CHARACTERS = {
    "joiner": _JOINER,
    "slash": "\u2044",
    "apostrophe": "\u00b4\u1ffd\u02bb\u05f3\u02bc\u2018\u2019\u201b\u2032",
    "blank": "\u2116\u2120\u2122",  # trade marks
    "thousands": "\u00a0\u2009\u202f\u066c",
    "fraction": "\u00bc-\u00be\u2150-\u215e\u2189",
    "superscript": _SUPERSCRIPTS,
    # Circled characters, and whole sentences.
    "apart": "\u2460-\u2473\u24ea\u3251-\u325f\u32b1-\u32bf\ufdfa\ufdfb",
}
_KINDS = {kind: re.compile(f"[{characters}]") for kind, characters in _CHARACTERS.items()}
_SPECIAL = re.compile(f"[{_DROPPED}\U000e0000-\U000e0fff{''.join(_CHARACTERS.values())}]")
_ARABIC = re.compile("[\u0620-\u06ff]")
_UNIT = r"(?:^|[\s\x00-@\[-`{-\x7f\u00b7\u00d7])[A-Za-z\u00b5\u03bc]{1,2}\Z"
_APART = {
    "fraction": re.compile(r"\d\Z"),
    "superscript": re.compile(rf"(?s)\A(?!.*{_UNIT}).*[^\s{_SUPERSCRIPTS}]\Z"),
}
"""The text before a fraction or a superscript that requires a space between the two.

A superscript after a word is a footnote number, except after a unit.
"""
_UP_TO_THREE, _THOUSAND = re.compile(r"(?:^|\D)\d{1,3}\Z"), re.compile(r"\d{3}(?!\d)")
# Lucene's tokenizer would join two words at these marks. They become spaces, except between ASCII
# characters.
_GLUE = re.compile(
    r"[:._](?:(?<=[^\x00-\x7f].)(?<!\d.)(?=\w)|(?<=[A-Za-z].)(?=[^\x00-\x7f])(?!\d))"
)
_ATTACHED = re.compile("[\u1160-\u11ff\u3131-\u318e\uff9e\uff9f\uffa0-\uffdc]")
"""Characters that are not marks, but may combine with the character before: Hangul letters, sound
marks of kana.
"""


def fold(text: str) -> str:
    """Return a text in the form for comparisons; ASCII stays unchanged."""
    if text.isascii():
        return text
    if _SPECIAL.search(text):
        text = _SPECIAL.sub(_plain, text)
    if not unicodedata.is_normalized("NFKC", text):
        text = _normalize(text)  # which may make apostrophes: the others are special characters
    return _GLUE.sub(" ", text)


def _normalize(text: str) -> str:
    return _KINDS["apostrophe"].sub("'", unicodedata.normalize("NFKC", text))


def folded_value(value: str) -> str:
    """Return a field's value as stored and compared: NFKC, ASCII apostrophes and hyphens, no
    invisible characters.
    """
    if value.isascii():
        return value
    value = _normalize(_INVISIBLE.sub("", value)).replace("\u2010", "-")
    return " ".join(value.split())


def folded_with_places(text: str) -> tuple[str, list[int], list[int]]:
    """Return the folded text, and for each character of it the start and the end in ``text``."""
    if text.isascii() or not (_SPECIAL.search(text) or not unicodedata.is_normalized("NFKC", text)):
        return fold(text), list(range(len(text))), list(range(1, len(text) + 1))
    characters: list[tuple[str, int, int]] = []
    last = 0
    for special in _SPECIAL.finditer(text):
        characters += [(text[at], at, at + 1) for at in range(last, special.start())]
        characters += [(character, *special.span()) for character in _plain(special)]
        last = special.end()
    characters += [(text[at], at, at + 1) for at in range(last, len(text))]
    form, starts, ends, first = "", list[int](), list[int](), 0
    for after in range(1, len(characters) + 1):
        following = characters[after][0] if after < len(characters) else " "
        if unicodedata.category(following)[0] == "M" or _ATTACHED.match(following):
            continue
        group = _normalize("".join(character for character, _, _ in characters[first:after]))
        form += group
        starts += [characters[first][1]] * len(group)
        ends += [characters[after - 1][2]] * len(group)
        first = after
    return _GLUE.sub(" ", form), starts, ends


def _plain(special: re.Match[str]) -> str:
    character, text, at = special[0], special.string, special.start()
    before = text[max(0, at - 4) : at]
    form = unicodedata.normalize("NFKC", character).replace("\u2044", "/")
    kind = next(
        (kind for kind, characters in _KINDS.items() if characters.match(character)), "dropped"
    )
    if kind == "dropped":
        form = ""
    # Between Arabic letters it has a meaning: Persian's and Sorani's analyzers read it.
    elif kind == "joiner":
        form = _JOINER if _ARABIC.match(before[-1:]) and _ARABIC.match(text, at + 1) else ""
    elif kind == "apostrophe":
        form = "'"
    elif kind == "blank":
        form = " "
    elif kind == "thousands" and _THOUSAND.match(text, at + 1) and _UP_TO_THREE.search(before):
        form = ""
    elif kind in _APART and _APART[kind].search(before[-3:]):
        form = f" {form}"
    elif kind == "apart":
        form = f" {form} "
    return form
