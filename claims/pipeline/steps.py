"""The whole pipeline: rank statements by check-worthiness, find evidence for the top ones, judge them, make a page.

The page is one file that loads nothing else. The contents of tweets and documents appear in it as text, never as
markup, and links lead only to web addresses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib import resources
from typing import NamedTuple

import msgspec

from ...retrieval.domain import Claim, Statement
from ...retrieval.lucene.analysis import TermCache, highlights
from ...retrieval.progress import Progress
from ...retrieval.text import pieces_of, tweet, web_link
from ..checkworthiness.rankers import Ranker
from ..checkworthiness.ranking import Ranked, explain, rank
from ..evidence.sentences import Stance, stance_of
from ..verdicts.verdict import Verdict, Verifier, record

_SAID: dict[Stance, tuple[str, str]] = {
    "for": ("The evidence seems to support it", "for"),
    "against": ("The evidence seems to speak against it", "against"),
    "neither": ("The evidence does not settle it", "open"),
}
_UNDECIDED = ("No verdict", "open")
_WORDS = 5  # the number of words to show of a statement: those that change its score most


class Checked(NamedTuple):
    """A statement with its rank among all, and the verdict on it."""

    ranked: Ranked
    verdict: Verdict


def check(
    ranker: Ranker, verifier: Verifier, statements: Sequence[Statement], top: int, progress: Progress
) -> list[Checked]:
    """Return the ``top`` statements most worth checking, in that order, each with its verdict.

    The claim to verify is the statement without links, mentions and RT.
    """
    first = rank(ranker, statements)[:top]
    claims = [Claim(own.qid, tweet(own.text), topic=own.topic, place=own.place) for _, _, _, own, _ in first]
    with closing(progress("finding evidence", "claim", len(claims))) as bar:
        verdicts = list(verifier.verify(claims, bar))
    return [
        Checked(ranked._replace(words=explain(ranker, ranked.statement, _WORDS)), verdict)
        for ranked, verdict in zip(first, verdicts, strict=True)
    ]


def json_line(checked: Checked) -> str:
    """Return a checked statement as a JSON line."""
    ranked = checked.ranked
    facts = {
        "rank": ranked.rank,
        "id": ranked.statement.qid,
        "topic": ranked.statement.topic,
        "speaker": ranked.statement.speaker,
        "text": ranked.statement.text,
        "check_worthiness": {
            "score": ranked.score,
            "probability": ranked.probability,
            "words": [{"word": word, "weight": round(weight, 4)} for word, weight in ranked.words],
        },
        "verdict": record(checked.verdict),
    }
    return msgspec.json.encode(facts).decode() + "\n"


def page(checked: Sequence[Checked], heading: Mapping[str, object], vocabulary: TermCache) -> str:
    """Return the page with the facts of ``heading``; ``vocabulary`` is the index's, and decides which words to mark."""
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.globals.update(address=web_link, conclusion=conclusion, share=share)
    environment.globals["pieces"] = lambda claim, sentence: pieces_of(
        sentence.text, highlights(claim, sentence.text, vocabulary), 0, len(sentence.text)
    )
    template = resources.files(__package__).joinpath("templates", "pipeline.html").read_text("utf-8")
    return environment.from_string(template).render(checked=checked, heading=heading)


def conclusion(checked: Checked) -> tuple[str, str]:
    """Return the conclusion on a claim in words, and its CSS class: for, against or open."""
    return _UNDECIDED if checked.verdict.abstained else _SAID[stance_of(checked.verdict.label)]


def share(probability: float) -> str:
    """Return a probability in whole per cent; never 0% or 100%, because no verdict is certain."""
    return "<1%" if probability < 0.01 else ">99%" if probability > 0.99 else f"{probability:.0%}"
