"""The page for an editor: what is worth checking, what the evidence says of it, and a link to all of it.

One file that needs nothing else: no script, no picture or font from outside. What tweets and documents hold is text
there, never markup, and links lead to addresses of the web alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple
from urllib.parse import urlsplit

from ...retrieval.highlight import highlights
from ...retrieval.vocabulary import Vocabulary
from ..evidence.sentences import Sentence
from .steps import Checked

_SAID = {
    "SUPPORTS": ("The evidence seems to support it", "for"),
    "TRUE": ("The evidence seems to support it", "for"),
    "REFUTES": ("The evidence seems to speak against it", "against"),
    "FALSE": ("The evidence seems to speak against it", "against"),
    "NOT ENOUGH INFO": ("The evidence does not settle it", "open"),
}
_UNDECIDED = ("No verdict", "open")


class Heading(NamedTuple):
    """What stands above and below the claims: how many there were, what judged them, and what that is worth."""

    title: str
    statements: int
    ranker: str
    model: str
    worth: str
    collection: str
    version: str


class Piece(NamedTuple):
    """A stretch of a sentence; ``marked`` if it holds a word of the claim."""

    text: str
    marked: bool


def page(checked: Sequence[Checked], heading: Heading, vocabulary: Vocabulary) -> str:
    """Return the page; ``vocabulary`` is that of the index, which says which words to mark."""
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.globals.update(address=address, said=said, share=share)
    environment.globals["pieces"] = lambda claim, sentence: pieces(claim, sentence, vocabulary)
    template = resources.files(__package__).joinpath("templates", "pipeline.html").read_text("utf-8")
    return environment.from_string(template).render(checked=checked, heading=heading)


def said(one: Checked) -> tuple[str, str]:
    """Return what is said of a claim, and the class of its mark: for, against or open."""
    return _UNDECIDED if one.verdict.abstained else _SAID[one.verdict.label]


def share(probability: float) -> str:
    """Say a probability in whole per cent; none is called certain."""
    return "<1%" if probability < 0.01 else ">99%" if probability > 0.99 else f"{probability:.0%}"


def address(url: str) -> str:
    """Return an address of the web, or ``""`` for any other, which a link must not lead to."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    return url.strip() if parts.scheme in ("http", "https") and parts.netloc else ""


def pieces(claim: str, sentence: Sentence, vocabulary: Vocabulary) -> list[Piece]:
    """Part a sentence into stretches with and without words of the claim."""
    found, last = [], 0
    for start, end in highlights(claim, sentence.text, vocabulary):
        found += [Piece(sentence.text[last:start], False), Piece(sentence.text[start:end], True)]
        last = end
    found.append(Piece(sentence.text[last:], False))
    return [piece for piece in found if piece.text]
