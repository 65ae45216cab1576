"""Features of a claim and its evidence for a classifier: named numbers, the same for every
language.

The features of a sentence are its similarity to the claim, the claim's words that it holds, and
whether quantities, negation and direction (more or less) agree. Of each feature, a row has the
value of the first sentence, the highest value and the mean. The features of the claim itself and of
the search follow.

Models can add features. An encoder's contrast says how much nearer a sentence is to the claim than
to the nearest of the claim's opposites. Entailment gives the log-odds that a sentence entails the
claim and that it contradicts it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...core.caching import cache_method
from ...core.errors import MachineError, SourceError
from ...retrieval.config import AUTO, EncoderSettings
from ...retrieval.encoders.cross_encoder import EntailmentInfo, OnnxEntailment, revision_of
from ...retrieval.encoders.runtime import OnnxEncoder, open_onnx_encoder
from ...retrieval.encoders.sources import (
    MULTILINGUAL,
    MissingModelError,
    choose_model,
    find_model,
    of_index,
)
from ...retrieval.store.manifest import EncoderInfo
from ..settings import Config
from ..text.polarity import OPPOSING, Lexicon, Polarity, opposites, polarity
from ..text.quantities import Quantity, find_unstated, quantities
from ..text.words import Analyzer, coverage, terms
from .sentences import ClaimEvidence, EvidenceSentence

PAIR = (
    "similarity",
    "coverage",
    "precision",
    "word pairs",
    "missing words",
    "length",
    "numbers repeated",
    "numbers contradicted",
    "negated",
    "negation differs",
    "both negated",
    "direction agrees",
    "direction differs",
    "direction agrees, likely",
    "direction differs, likely",
)
"""Features of a claim and one sentence; the last two are weighted by the similarity."""
# The features of :data:`PAIR` that say which text negates.
NEGATION = ("negated", "negation differs", "both negated")
CLAIM = ("claim negated", "claim length", "claim numbers", "claim says more", "claim says less")
SEARCH = ("bm25", "dense", "spread", "covered by all", "pages", "sentences")
OF = ("first", "highest", "mean")
"""How features of sentences are combined: the first sentence's value, the highest value, the
mean.
"""
NAMES = (*(f"{name}, {which}" for which in OF for name in PAIR), *CLAIM, *SEARCH)
"""The names of the columns of a matrix of features."""


class Reading(NamedTuple):
    """The terms, quantities and polarity of a text."""

    terms: list[str]
    quantities: list[Quantity]
    polarity: Polarity


def _read(text: str, analyzer: Analyzer, lists: Lexicon) -> Reading:
    return Reading(terms(text, analyzer), quantities(text), polarity(text, lists))


def matrix(
    claims: Sequence[str], evidence: Sequence[ClaimEvidence], analyzer: Analyzer, lists: Lexicon
) -> NDArray[np.float64]:
    """Return the features, shape (len(claims), len(NAMES))."""
    pairs = zip(claims, evidence, strict=True)
    rows = [
        _row(_read(claim, analyzer, lists), of_claim, analyzer, lists) for claim, of_claim in pairs
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, len(NAMES))


def _row(
    claim: Reading, evidence: ClaimEvidence, analyzer: Analyzer, lists: Lexicon
) -> list[float]:
    read = [_read(sentence.text, analyzer, lists) for sentence in evidence.sentences]
    lacking = find_unstated(
        claim.quantities, [number for text in read for number in text.quantities]
    )
    both = zip(evidence.sentences, read, strict=True)
    pairs = np.array([_pair(claim, sentence, text, lacking) for sentence, text in both])
    parts = (
        (pairs[0], pairs.max(axis=0), pairs.mean(axis=0))
        if len(pairs)
        else [[0.0] * len(PAIR)] * len(OF)
    )
    direction, distinct = claim.polarity.direction, frozenset(claim.terms)
    return [
        *(float(value) for part in parts for value in part),
        float(claim.polarity.negations > 0),
        math.log1p(len(claim.terms)),
        float(bool(claim.quantities)),
        float(direction > 0),
        float(direction < 0),
        evidence.bm25 / max(len(distinct), 1),
        evidence.dense,
        evidence.spread,
        coverage(distinct, [term for text in read for term in text.terms]),
        float(len({sentence.docid for sentence in evidence.sentences})),
        float(len(evidence.sentences)),
    ]


def _pair(
    claim: Reading, sentence: EvidenceSentence, text: Reading, lacking: Sequence[Quantity]
) -> list[float]:
    likely = max(sentence.similarity, 0.0)
    stated, missing = len(claim.quantities), len(find_unstated(claim.quantities, text.quantities))
    units = {written.unit for written in text.quantities} - {""}
    negated, claimed = text.polarity.negations > 0, claim.polarity.negations > 0
    same_way = claim.polarity.direction * text.polarity.direction
    wanted = frozenset(claim.terms)
    return [
        sentence.similarity,
        coverage(wanted, text.terms),
        coverage(text.terms, wanted),
        coverage(pairwise(claim.terms), pairwise(text.terms)),
        math.log1p(len(wanted.difference(text.terms))),
        math.log1p(len(text.terms)),
        (stated - missing) / stated if stated else 0.0,
        # Another value of the same unit contradicts a quantity, unless a sentence of the evidence
        # repeats it.
        float(any(unrepeated.unit in units for unrepeated in lacking)),
        float(negated),
        float(negated != claimed),
        float(negated and claimed),
        float(same_way > 0),
        float(same_way < 0),
        likely * (same_way > 0),
        likely * (same_way < 0),
    ]


CONTRASTED = tuple(f"nearer than its opposites, {which}" for which in OF)
ENTAILED = tuple(f"{name}, {which}" for which in OF for name in ("entails", "contradicts"))
"""The columns that each extractor adds to a matrix of features."""
_MOST = 8.0  # the limit of log-odds; above it a probability carries no more information
_KEPT = 4096
"""The number of cached results.

A sentence that is judged with others and then alone is computed only once.
"""


class ContrastExtractor:
    """Computes the contrast features with an encoder, for one language. Safe for threads."""

    def __init__(self, encoder: OnnxEncoder, language: str) -> None:
        self.info = encoder.info
        self._encoder = encoder
        self._language = language
        self._vector = cache_method(_KEPT, self._encode)

    def matrix(
        self, claims: Sequence[str], evidence: Sequence[ClaimEvidence]
    ) -> NDArray[np.float64]:
        """Return the features, shape (len(claims), len(CONTRASTED)); zeros without a sentence or an
        opposite.
        """
        features = np.zeros((len(claims), len(CONTRASTED)))
        for row, claim, of_claim in zip(features, claims, evidence, strict=True):
            turned = opposites(claim, self._language)
            if turned and of_claim.sentences:
                sentences = np.array(
                    [self._vector(sentence.text) for sentence in of_claim.sentences]
                )
                apart = self._vector(claim) - np.array([self._vector(text) for text in turned])
                nearer = (sentences @ apart.T).min(axis=1)
                row[:] = nearer[0], nearer.max(), nearer.mean()
        return features

    def _encode(self, text: str) -> NDArray[np.float64]:
        # Encode every text as a query: claim and sentence have the same role, and neither is
        # searched for in the other.
        return np.asarray(self._encoder.encode_query([text])[0], dtype=np.float64)


class EntailmentExtractor:
    """Computes the entailment features with an entailment model. Safe for threads."""

    def __init__(self, model: OnnxEntailment) -> None:
        self.info = model.info
        self._model = model
        self._log_odds = cache_method(_KEPT, self._judge)

    def matrix(
        self, claims: Sequence[str], evidence: Sequence[ClaimEvidence]
    ) -> NDArray[np.float64]:
        """Return the features, shape (len(claims), len(ENTAILED)); zeros without a sentence."""
        features = np.zeros((len(claims), len(ENTAILED)))
        for row, claim, of_claim in zip(features, claims, evidence, strict=True):
            if of_claim.sentences:
                pairs = np.array(
                    [self._log_odds(sentence.text, claim) for sentence in of_claim.sentences]
                )
                row[:] = np.concatenate([pairs[0], pairs.max(axis=0), pairs.mean(axis=0)])
        return features

    def _judge(self, text: str, claim: str) -> tuple[float, float]:
        judged = self._model.judge(text, claim)
        return _log_odds(judged.entails), _log_odds(judged.contradicts)


def _log_odds(probability: float) -> float:
    least = 1 / (1 + math.exp(_MOST))
    probability = min(max(probability, least), 1 - least)
    return math.log(probability / (1 - probability))


class FeatureExtractors(NamedTuple):
    """The extractors that a model of verdicts was trained with; None for an unused one."""

    contrast: ContrastExtractor | None = None
    entailment: EntailmentExtractor | None = None

    def matrix(
        self, claims: Sequence[str], evidence: Sequence[ClaimEvidence]
    ) -> NDArray[np.float64]:
        """Return the features of all extractors, shape (len(claims), columns); an unused extractor
        has no columns.
        """
        parts = [extractor.matrix(claims, evidence) for extractor in self if extractor]
        return np.hstack([np.empty((len(claims), 0)), *parts])


NO_EXTRACTORS = FeatureExtractors()


def open_contrast(config: Config, language: str) -> ContrastExtractor | None:
    """Open the extractor of ``verdict.contrast``; None if it is not set, or the language has no
    lists of opposites.

    ``auto`` is the multilingual encoder, which was trained on entailment, if it is on this machine.
    Raises MachineError if a named encoder is not.
    """
    name = config.verdict.contrast
    if not name or language not in OPPOSING:
        return None
    if name == AUTO:
        try:
            find_model(MULTILINGUAL)
        except MissingModelError:
            return None
        name = MULTILINGUAL
    return ContrastExtractor(_encoder(choose_model(config.encoder, name)), language)


def reopen(
    contrast: EncoderInfo | None,
    entailment: EntailmentInfo | None,
    config: Config,
    language: str,
    place: Path,
) -> FeatureExtractors:
    """Open the extractors of the model of verdicts at ``place``; ``config`` names the folders of
    exported models.

    Raises MachineError if one is not on this machine, SourceError if the one on this machine
    differs.
    """

    def differs(info: object, there: str) -> SourceError:
        reason = f"the model was trained with {info}, but the model of this name here {there}"
        return SourceError(
            reason, place=place, remedy="restore the earlier one, or train the model again"
        )

    contrasts = entailments = None
    if contrast:
        with _learned_with(contrast, place):
            encoder = _encoder(of_index(contrast, config.encoder))
        there = encoder.info
        if there.identity != contrast.identity:
            raise differs(contrast, f"is {there}")
        contrasts = ContrastExtractor(encoder, language)
    if entailment:
        settings = msgspec.structs.replace(
            entailment.settings, cache=config.verdict.entailment.cache
        )
        with _learned_with(entailment, place):
            revision = revision_of(settings)
            model = OnnxEntailment(settings) if revision == entailment.revision else None
        if model is None:
            raise differs(entailment, f"has revision {revision}")
        entailments = EntailmentExtractor(model)
    return FeatureExtractors(contrasts, entailments)


@contextmanager
def _learned_with(info: object, place: Path) -> Iterator[None]:
    """If a model cannot be opened, say in the error that the model of verdicts at ``place`` was
    trained with it.
    """
    try:
        yield
    except MachineError as error:
        why = f"{error.place}: {error.what}" if error.place else error.what
        reason = f"the model was trained with {info}, which cannot be used: {why}"
        raise MachineError(reason, place=place, remedy=error.remedy) from None


@lru_cache(maxsize=2)
def _encoder(settings: EncoderSettings) -> OnnxEncoder:
    """Open an encoder once for all models of verdicts of a process, to save memory; it loads at its
    first use.
    """
    return open_onnx_encoder(msgspec.structs.replace(settings, similarity="cosine"))
