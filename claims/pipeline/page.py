"""The page for an editor: what is worth checking, what the evidence says of it, and a link to all of it.

One file that needs nothing else: no script, no picture or font from outside. What tweets and documents hold is text
there, never markup, and links lead to addresses of the web alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

from ...retrieval.display import Piece, pieces_of, web_link
from ...retrieval.lucene.analysis import TermCache, highlights
from ..evidence.sentences import EvidenceSentence, Stance, stance_of
from .steps import Checked

_SAID: dict[Stance, tuple[str, str]] = {
    "for": ("The evidence seems to support it", "for"),
    "against": ("The evidence seems to speak against it", "against"),
    "neither": ("The evidence does not settle it", "open"),
}
_UNDECIDED = ("No verdict", "open")


class Heading(NamedTuple):
    """The text above and below the claims: how many there were, what judged them, and what that is worth."""

    title: str
    statements: int
    ranker: str
    model: str
    worth: str
    collection: str
    version: str


def page(checked: Sequence[Checked], heading: Heading, vocabulary: TermCache) -> str:
    """Return the page; ``vocabulary`` is that of the index, which says which words to mark."""
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.globals.update(address=web_link, conclusion=conclusion, share=share)
    environment.globals["pieces"] = lambda claim, sentence: pieces(claim, sentence, vocabulary)
    template = resources.files(__package__).joinpath("templates", "pipeline.html").read_text("utf-8")
    return environment.from_string(template).render(checked=checked, heading=heading)


def conclusion(checked: Checked) -> tuple[str, str]:
    """Return the conclusion on a claim in words, and its CSS class: for, against or open."""
    return _UNDECIDED if checked.verdict.abstained else _SAID[stance_of(checked.verdict.label)]


def share(probability: float) -> str:
    """Return a probability in whole per cent; none is called certain."""
    return "<1%" if probability < 0.01 else ">99%" if probability > 0.99 else f"{probability:.0%}"


def pieces(claim: str, sentence: EvidenceSentence, vocabulary: TermCache) -> list[Piece]:
    """Return a sentence in stretches with and without words of the claim."""
    text = sentence.text
    return pieces_of(text, highlights(claim, text, vocabulary), 0, len(text))
