"""``POST /v1/claims/rank``: which claims are worth checking, and why; and the models that judge
claims on the page.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, perf_counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ...claims import settings as claims
from ...claims.checked import CheckedBefore, find_checked
from ...claims.checkworthiness import ranking
from ...claims.checkworthiness.rankers import Ranker
from ...claims.checkworthiness.ranking import Ranked, TrainedRanker, explain, rank
from ...claims.evidence.sentences import Finder
from ...claims.text.languages import language_of
from ...claims.verdicts import training
from ...claims.verdicts.verdict import TrainedVerdicts, Verifier
from ...core.deadline import CutOffError
from ...core.domain import Filter, Statement
from ...core.errors import ConfigError, FactseekError, QueryError, SourceError
from ...core.files import sha256
from ...core.languages import foreign_language
from ...core.settings import view
from ...retrieval.search.answer import milliseconds
from ...retrieval.search.explaining import WordWeight
from ..call import Call
from ..errors import BadInput, RefusedError, UnknownRankerError
from ..runtime import IndexRegistry
from ..schemas import (
    ClaimRequest,
    RankAnswer,
    RankedClaim,
    RankRequest,
    RankTook,
)
from ..search import TimedOutError
from ..settings import Config
from .operations import CLAIM, Routes

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

# The number of statements to score between two checks of the time limit; 16 take about 0.1 seconds.
_AT_ONCE = 16
api = Routes("claims", __name__, "Claims")
_log = logging.getLogger("factseek.server")
Model = TypeVar("Model")


class ServedRanker(NamedTuple):
    """A trained ranker under its name; ``manifest_id`` identifies the content of its file."""

    name: str
    learned: TrainedRanker
    manifest_id: str


def _open_models(
    config: Config, setting: str, load: Callable[[str, str], Model], noun: str, *, strict: bool
) -> dict[str, Model]:
    models = {}
    for name, path in getattr(config.server, setting).items():
        try:
            model = load(name, path)
        except FactseekError as error:
            if strict:
                what = f"{error.place}: {error.what}" if error.place else error.what
                raise ConfigError(
                    what, place=f"server.{setting}.{name}", remedy=error.remedy
                ) from None
            _log.error("%s %s is not ready: %s", noun, name, error.line)
        else:
            # A strict check runs before the workers start, and each worker loads the models itself.
            if not strict:
                models[name] = model
    return models


def open_rankers(config: Config, *, strict: bool = False) -> dict[str, ServedRanker]:
    """Load the configured rankers, without those that fail; if ``strict``, load none and raise
    their ConfigError.
    """

    def load(name: str, path: str) -> ServedRanker:
        learned = ranking.load(Path(path), None, view(config, claims.Config))
        return ServedRanker(name, learned, sha256(Path(path))[:16])

    return _open_models(config, "rankers", load, "ranker", strict=strict)


def open_verdicts(config: Config, *, strict: bool = False) -> dict[str, TrainedVerdicts]:
    """Load the verdict models as :func:`open_rankers` does; ``strict`` requires that each has an
    entailment model.
    """

    def load(_: str, path: str) -> TrainedVerdicts:
        learned = training.load(Path(path), view(config, claims.Config))
        if strict and learned.manifest.entailment is None:
            what = "was trained without an entailment model, so the page cannot show its verdicts"
            raise SourceError(
                what, place=path, remedy="train it with --entailment MODEL, or do not serve it"
            )
        return learned

    return _open_models(config, "verdicts", load, "verdict model", strict=strict)


def judge_of(
    call: Call, index: Index, where: Filter | None
) -> tuple[str, TrainedVerdicts, Verifier] | None:
    """Return the name of the first model trained with an index like ``index``, the model and its
    verifier; or None.
    """
    settings = call.serving.config.verdict
    for name, model in call.serving.verdicts.items():
        with suppress(QueryError):
            finder = Finder(index, settings, where, call.limit())
            return name, model, model.verifier(finder, settings, for_people=True)
    return None


def _ranker_named(serving: IndexRegistry, name: str | None) -> ServedRanker:
    rankers = serving.rankers
    known = {**serving.config.server.rankers, **rankers}
    if not known:
        raise UnknownRankerError(
            "no ranker is served: train one (factseek rank … --save FILE) and add it under "
            "server.rankers, or start "
            "the server with --ranker NAME=FILE"
        )
    wanted = next(iter(known)) if name is None else name
    if wanted not in known:
        raise UnknownRankerError(
            f"there is no ranker {wanted[:80]!r}; the rankers are {', '.join(known)}"
        )
    if wanted not in rankers:
        reason = f"ranker {wanted!r} could not be loaded; the server's log gives the reason"
        raise RefusedError(reason, retry_after=60)
    return rankers[wanted]


def _make_timed(ranker: Ranker, seconds: float) -> Ranker:
    deadline = monotonic() + seconds

    def score(statements: Sequence[Statement]) -> NDArray[np.float64]:
        parts = [np.empty(0)]
        for start in range(0, len(statements), _AT_ONCE):
            if monotonic() > deadline:
                raise CutOffError("ranking took longer than its time limit")
            parts.append(ranker.score(statements[start : start + _AT_ONCE]))
        return np.concatenate(parts)

    return cast(
        Ranker,
        SimpleNamespace(explains=ranker.explains, score=score, probability=ranker.probability),
    )


@api.route(
    "POST",
    "/v1/claims/rank",
    {"claims": [{"id": "1", "text": CLAIM}, {"id": "2", "text": "Good morning!"}]},
    problems=(404,),
)
def rank_claims(call: Call, body: RankRequest) -> RankAnswer:
    """Rank claims by check-worthiness, highest first.

    The weight of a word is the drop in the score if the word is left out. Claims are explained in
    ranked order until the time limit of the request is reached. `note` says if some claims were not
    explained.
    """
    return ranked_claims(call, body)


def ranked_claims(call: Call, body: RankRequest) -> RankAnswer:
    """Return the claims of a request, ranked and explained; raise UnknownRankerError, BadInput or
    TimedOutError.
    """
    settings = call.serving.config.server
    served = _ranker_named(call.serving, body.ranker)
    manifest, languages = served.learned.manifest, served.learned.manifest.languages
    if not 1 <= len(body.claims) <= settings.max_claims:
        raise BadInput(
            "claims",
            f"1 to {settings.max_claims} claims can be ranked at once, not {len(body.claims)}",
        )
    ids, statements = set[str](), []
    for number, sent in enumerate(body.claims):
        if sent.id in ids:
            raise BadInput(f"claims[{number}].id", "another claim has the same id")
        ids.add(sent.id)
        statements.append(_statement(number, sent, languages, settings.max_claim_chars))
    began = perf_counter()
    timed = _make_timed(served.learned.ranker, settings.search_seconds)
    try:
        ranked = rank(timed, statements)[: body.top]
    except CutOffError as error:
        raise TimedOutError(
            f"{error.line} ({settings.search_seconds:g} seconds); send fewer claims at once"
        ) from None
    done, explained = perf_counter(), 0
    with suppress(CutOffError):  # the note reports it
        for place, claim in enumerate(ranked if body.words else ()):
            ranked[place] = claim._replace(words=explain(timed, claim.statement, body.words))
            explained += 1
    weighed = perf_counter()
    checked = _find_checked(call, ranked) if body.checked else []
    took = RankTook(
        rank=milliseconds(began, done),
        explain=milliseconds(done, weighed),
        checked=milliseconds(weighed, perf_counter()),
    )
    call.note([claim.text for claim in statements], SimpleNamespace(took=took, retriever=""))
    notes, late = [], len(ranked) - explained
    if body.words and not served.learned.ranker.explains:
        notes.append(f"{manifest.model} does not use words, so no word has a weight")
    elif body.words and late:
        notes.append(
            f"the time was too short to weigh the words of the last {late} of {len(ranked)} claims"
        )
    if body.checked and (late := len(ranked) - len(checked)):
        notes.append(
            "the time was too short to look for fact-checks of the last "
            f"{late} of {len(ranked)} claims"
        )
    checked += [None] * (len(ranked) - len(checked))
    return RankAnswer(
        request_id=call.request_id,
        ranker=served.name,
        manifest_id=served.manifest_id,
        task=manifest.task,
        model=manifest.model,
        languages=list(languages),
        took_ms=took,
        note="\n".join(notes),
        claims=[
            _answer(claim, languages, body.claims, review)
            for claim, review in zip(ranked, checked, strict=True)
        ],
    )


def _find_checked(call: Call, ranked: Sequence[Ranked]) -> list[CheckedBefore | None]:
    """Return the fact-check of each claim, as far as there is time."""
    indexes = {served.name: served.index for served in call.serving.indexes.values()}
    texts = [claim.statement.text for claim in ranked]
    return list(find_checked(indexes, texts, call.limit()))


def _statement(number: int, body: ClaimRequest, languages: Sequence[str], most: int) -> Statement:
    """Return a claim with its language: given, or detected as the command line detects it for a
    single line.
    """
    place = f"claims[{number}]"
    text = body.text.strip()
    if not text:
        raise BadInput(f"{place}.text", "contains no text")
    if len(body.text) > most:
        raise BadInput(
            f"{place}.text", f"has {len(body.text)} characters, but at most {most} are allowed"
        )
    if body.language and languages and body.language not in languages:
        known = ", ".join(languages)
        raise BadInput(
            f"{place}.language",
            f"{body.language!r} is not a language of the ranker, which knows {known}",
        )
    language = body.language or (language_of([text], languages) if languages else "")
    return Statement(
        body.id, text, speaker=body.speaker.strip(), language=language, place=str(number)
    )


def _answer(
    ranked: Ranked,
    languages: Sequence[str],
    body: Sequence[ClaimRequest],
    checked: CheckedBefore | None,
) -> RankedClaim:
    statement = ranked.statement
    named = body[int(statement.place)].language
    foreign = "" if named else foreign_language(statement.text, languages)
    return RankedClaim(
        rank=ranked.rank,
        score=ranked.score,
        # A probability that was learned from other languages says nothing about this text.
        probability=None if foreign else ranked.probability,
        id=statement.qid,
        language=statement.language,
        speaker=statement.speaker,
        text=statement.text,
        words=[WordWeight(word=word, weight=weight) for word, weight in ranked.words],
        checked_before=checked,
        note=f"the text is in {foreign}, but the ranker learned from {', '.join(languages)}"
        if foreign
        else "",
    )
