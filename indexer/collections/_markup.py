"""Find elements and comments in loose markup, in linear time.

A regular expression from a start to the nearest end searches all following text at each start that
has no end. This module searches only once for an end that does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

_TAG_OR_COMMENT = re.compile(r"<!--|</?[A-Za-z][^<>]*>")
_COMMENT = "<!--"
_RAW = {"script", "style", "textarea", "title", "noscript", "iframe", "xmp"}
"""Elements whose content has no tags."""
_RAW_OR_TAG = re.compile(r"<!--|<([A-Za-z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"""[\s/]*(?:[^\s/>=]+|=)(?:\s*=\s*(?:"[^"]*"?|'[^']*'?|[^\s>]*))?""")


Element = tuple[re.Match[str], re.Match[str]]
"""The start tag and the end tag of an element, or the two marks of a comment."""


def starts(*names: str) -> re.Pattern[str]:
    """Return the pattern of the start tag of an element with one of these names."""
    return re.compile(rf"<({'|'.join(map(re.escape, names))})(?:\s[^<>]*)?>", re.I)


def elements(source: str, opening: re.Pattern[str]) -> Iterator[Element]:
    """Yield the outermost elements whose start tags match ``opening``, in order.

    The first group of ``opening`` is the name; if the group is empty, the match is a comment. An
    element ends at the first end tag with its name. A start without an end is skipped.
    """
    unclosed: set[str] = set()
    position = 0
    while start := opening.search(source, position):
        name = (start[1] or _COMMENT).lower()
        end = None if name in unclosed else _closing(name).search(source, start.end())
        if end:
            yield start, end
        else:
            unclosed.add(name)
        position = end.end() if end else start.end()


def first_inside(source: str, opening: re.Pattern[str]) -> str | None:
    """Return the content of the first element that ``opening`` matches, or ``None`` if there is
    none.
    """
    return next(
        (source[start.end() : end.start()] for start, end in elements(source, opening)), None
    )


def without(source: str, opening: re.Pattern[str], instead: str = "") -> str:
    """Return ``source`` with each element that ``opening`` matches replaced by ``instead``."""
    kept, position = list[str](), 0
    for start, end in elements(source, opening):
        kept += source[position : start.start()], instead
        position = end.end()
    return "".join([*kept, source[position:]])


def without_tags(source: str, instead: str, is_tag: Callable[[str], bool] = bool) -> str:
    """Return ``source`` with each comment, and each tag that ``is_tag`` accepts, replaced by
    ``instead``.
    """
    kept, position, last_comment = list[str](), 0, source.rfind("-->")
    while match := _TAG_OR_COMMENT.search(source, position):
        end, is_comment = match.end(), match[0] == _COMMENT
        # A comment that is not closed is text.
        stays = end > last_comment if is_comment else not is_tag(match[0])
        if is_comment and not stays:
            end = source.index("-->", end) + len("-->")
        kept += [source[position:end]] if stays else [source[position : match.start()], instead]
        position = end
    return "".join([*kept, source[position:]])


def attributes(source: str, most: int) -> Iterator[int]:
    """Yield the number of attributes of each tag, as a parser counts them; ``most + 1`` means more
    than ``most``.
    """
    unclosed: set[str] = set()
    position = 0
    while start := _RAW_OR_TAG.search(source, position):
        position = start.end()
        name = (start[1] or _COMMENT).lower()
        if start[1]:
            count = 0
            while count <= most and (attribute := _ATTRIBUTE.match(source, position)):
                position, count = attribute.end(), count + 1
            yield count
        if name in _RAW | {_COMMENT} and name not in unclosed:
            end = _closing(name).search(source, position)
            position = end.end() if end else position
            unclosed.update({name} if end is None else ())


@cache
def _closing(name: str) -> re.Pattern[str]:
    return re.compile("-->" if name == _COMMENT else rf"</{re.escape(name)}\s*>", re.I)
