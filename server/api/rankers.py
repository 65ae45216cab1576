"""``POST /v1/claims/rank``: which claims are worth checking, and which of their words weigh most."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic, perf_counter
from typing import NamedTuple

import numpy as np
from flask import Blueprint, Flask, Response, current_app, g, request
from numpy.typing import NDArray

from ...claims import settings as claims
from ...claims.checkworthiness import training
from ...claims.checkworthiness.rankers import Ranker
from ...claims.checkworthiness.ranking import Ranked, explain, rank
from ...claims.checkworthiness.training import TrainedRanker
from ...claims.text.languages import language_of
from ...retrieval.config import view
from ...retrieval.deadline import CutOffError
from ...retrieval.domain import Statement
from ...retrieval.errors import ConfigError, FactseekError
from ...retrieval.files import sha256
from ...retrieval.languages import unknown_language
from ...retrieval.records.model_file import State
from ...retrieval.search.explaining import WordWeight
from ..errors import BadInput, RefusedError, UnknownRankerError
from ..runtime import registry
from ..schemas import ClaimRequest, RankAnswer, RankedClaim, RankRequest, RankTook, from_body, json_answer
from ..search import TimedOutError, milliseconds, note_search
from ..settings import Config, ServerSettings

_KEY = "factseek.rankers"
_log = logging.getLogger("factseek.server")


class ServedRanker(NamedTuple):
    """A trained ranker under its name; ``manifest_id`` identifies the content of its file."""

    name: str
    learned: TrainedRanker
    manifest_id: str


class RankerUnavailableError(RefusedError):
    """A configured ranker could not be loaded."""


def check(config: Config) -> None:
    """Load every ranker, so that an error is reported once, before workers start.

    Raises ConfigError, with the setting, if one cannot be loaded or does not fit the configuration.
    """
    for name, path in config.server.rankers.items():
        try:
            _loaded(name, path, config)
        except FactseekError as error:
            raise ConfigError(
                f"{error.place}: {error.what}" if error.place else error.what,
                place=f"server.rankers.{name}",
                remedy=error.remedy,
            ) from None


def opened(config: Config) -> dict[str, ServedRanker]:
    """Load the configured rankers. If one cannot be loaded, log it and continue without it."""
    rankers = {}
    for name, path in config.server.rankers.items():
        try:
            rankers[name] = _loaded(name, path, config)
        except FactseekError as error:
            _log.error("ranker %s is not ready: %s", name, error.line)
    return rankers


def install(app: Flask, rankers: Mapping[str, ServedRanker]) -> None:
    """Give ``app`` its rankers, the default first."""
    app.extensions[_KEY] = rankers


def ranker_named(name: str | None, configured: Mapping[str, str]) -> ServedRanker:
    """Return a ranker by its name, or the first if ``name`` is None.

    Raises UnknownRankerError if there is none, RankerUnavailableError if it is configured but could not be loaded.
    """
    rankers: Mapping[str, ServedRanker] = current_app.extensions[_KEY]
    known = {**configured, **rankers}
    if not known:
        raise UnknownRankerError(
            "no ranker is served: train one (factseek rank … --save FILE) and name it under server.rankers, or with "
            "--ranker NAME=FILE"
        )
    wanted = next(iter(known)) if name is None else name
    if wanted not in known:
        raise UnknownRankerError(f"there is no ranker {wanted[:80]!r}; the rankers are {', '.join(known)}")
    if wanted not in rankers:
        raise RankerUnavailableError(
            f"ranker {wanted!r} could not be loaded; the server's log gives the reason", retry_after=60
        )
    return rankers[wanted]


def _loaded(name: str, path: str, config: Config) -> ServedRanker:
    learned = training.load(Path(path), None, view(config, claims.Config))
    return ServedRanker(name, learned, sha256(Path(path))[:16])


_AT_ONCE = 16
"""Statements that are scored between two checks of the time: a tenth of a second's work."""


class TimedRanker:
    """Scores like the ranker that it wraps, a few statements at a time, until its time ends."""

    def __init__(self, ranker: Ranker, seconds: float) -> None:
        self.explains = ranker.explains
        self._ranker = ranker
        self._deadline = monotonic() + seconds

    def score(self, statements: Sequence[Statement]) -> NDArray[np.float64]:
        """Return the ranker's scores.

        Raises CutOffError if the time is over.
        """
        parts = [np.empty(0)]
        for start in range(0, len(statements), _AT_ONCE):
            if monotonic() > self._deadline:
                raise CutOffError("ranking took longer than its time limit")
            parts.append(self._ranker.score(statements[start : start + _AT_ONCE]))
        return np.concatenate(parts)

    def probability(self, scores: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the ranker's probabilities."""
        return self._ranker.probability(scores)

    def state(self) -> State:
        """Return the ranker's state."""
        return self._ranker.state()


blueprint = Blueprint("claims", __name__)


class ClaimRanking(NamedTuple):
    """Claims by descending check-worthiness; the first ``explained`` have their words."""

    ranked: list[Ranked]
    explained: int
    took: RankTook
    retriever: str = ""


@blueprint.post("/v1/claims/rank")
def rank_claims() -> Response:
    """Rank claims by check-worthiness, highest first.

    The weight of a word is the drop in the score if the word is left out. Claims are explained in ranked order until
    the time limit of the request. `note` says if some claims were not explained.
    """
    return json_answer(ranked_claims(from_body(request, RankRequest)))


def ranked_claims(asked: RankRequest) -> RankAnswer:
    """Return the claims of a request, ranked and explained.

    Raises UnknownRankerError or RankerUnavailableError if there is no ranker, BadInput, with the field, if a claim is
    invalid, TimedOutError if the time was too short to rank.
    """
    settings = registry().config.server
    served = ranker_named(asked.ranker, settings.rankers)
    manifest = served.learned.manifest
    statements = _statements(asked.claims, manifest.languages, settings)
    ranking = _ranked(asked, statements, served.learned.ranker, settings.search_seconds)
    note_search([claim.text for claim in statements], ranking)
    return RankAnswer(
        request_id=g.request_id,
        ranker=served.name,
        manifest_id=served.manifest_id,
        task=manifest.task,
        model=manifest.model,
        languages=list(manifest.languages),
        took_ms=ranking.took,
        note=_note(asked, ranking, served),
        claims=[_answer(claim, manifest.languages, asked.claims) for claim in ranking.ranked],
    )


def _statements(asked: Sequence[ClaimRequest], languages: Sequence[str], settings: ServerSettings) -> list[Statement]:
    """Return the claims as statements for a ranker; ``place`` is the number of each.

    Raises BadInput, with the claim, if one is invalid.
    """
    if not 1 <= len(asked) <= settings.max_claims:
        raise BadInput("claims", f"1 to {settings.max_claims} are ranked at once, not {len(asked)}")
    return [_statement(number, claim, languages, settings.max_claim_chars) for number, claim in enumerate(asked)]


def _statement(number: int, asked: ClaimRequest, languages: Sequence[str], most: int) -> Statement:
    """Return a claim with its language, detected as the command line detects it for a single line."""
    place = f"claims[{number}]"
    text = asked.text.strip()
    if not text:
        raise BadInput(f"{place}.text", "contains no text")
    if len(asked.text) > most:
        raise BadInput(f"{place}.text", f"has {len(asked.text)} characters; at most {most} are read")
    if asked.language and languages and asked.language not in languages:
        known = ", ".join(languages)
        raise BadInput(f"{place}.language", f"{asked.language!r} is not a language that the ranker knows: {known}")
    language = asked.language or (language_of([text], languages) if languages else "")
    return Statement(asked.id, text, speaker=asked.speaker.strip(), language=language, place=str(number))


def _ranked(asked: RankRequest, statements: list[Statement], ranker: Ranker, seconds: float) -> ClaimRanking:
    """Rank claims, then explain them from the first on, as far as time allows.

    Raises TimedOutError if there is no time to rank.
    """
    began = perf_counter()
    timed = TimedRanker(ranker, seconds)
    try:
        ranked = rank(timed, statements)[: asked.top]
    except CutOffError as error:
        raise TimedOutError(f"{error.line} ({seconds:g} seconds); send fewer claims at once") from None
    done = perf_counter()
    explained = 0
    try:
        for place, claim in enumerate(ranked if asked.words else ()):
            ranked[place] = claim._replace(words=explain(timed, claim.statement, asked.words))
            explained += 1
    except CutOffError:
        pass  # the note reports it
    took = RankTook(rank=milliseconds(began, done), explain=milliseconds(done, perf_counter()))
    return ClaimRanking(ranked, explained, took)


def _note(asked: RankRequest, ranking: ClaimRanking, served: ServedRanker) -> str:
    if asked.words and not served.learned.ranker.explains:
        return f"{served.learned.manifest.model} does not use words, so no word has a weight"
    missing = len(ranking.ranked) - ranking.explained
    if asked.words and missing:
        return f"the time was too short to weigh the words of the last {missing} of {len(ranking.ranked)} claims"
    return ""


def _answer(ranked: Ranked, languages: Sequence[str], asked: Sequence[ClaimRequest]) -> RankedClaim:
    statement = ranked.statement
    named = asked[int(statement.place)].language
    foreign = "" if named else unknown_language(statement.text, languages)
    return RankedClaim(
        rank=ranked.rank,
        score=ranked.score,
        probability=ranked.probability,
        id=statement.qid,
        language=statement.language,
        speaker=statement.speaker,
        text=statement.text,
        words=[WordWeight(word=word, weight=weight) for word, weight in ranked.words],
        note=f"is in {foreign}, the ranker learned from {', '.join(languages)}" if foreign else "",
    )
