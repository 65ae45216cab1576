"""Verdicts: a label with its reasons, or the reason for having no label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ...core.domain import Claim
from ...core.errors import QueryError
from ...core.files import storable
from ...core.progress import Bar
from ...retrieval.encoders.cross_encoder import EntailmentInfo
from ...retrieval.store.manifest import EncoderInfo
from ..evidence.features import NO_EXTRACTORS, FeatureExtractors, matrix
from ..evidence.sentences import ClaimEvidence, Finder, stance_of
from ..learning.figures import RiskPoint, needed_confidence
from ..learning.models import ModelManifest
from ..settings import VerdictSettings
from ..text.polarity import lexicon
from ..text.quantities import find_unstated, quantities
from ..text.words import coverage, terms
from . import models
from .models import Cases, VerdictModel

AT_ONCE = 64


class Verdict(NamedTuple):
    """The verdict on a claim, with the evidence that was read.

    ``abstained`` is the reason why the evidence does not allow a decision, or ``""``; ``label`` is
    then the task's label for undecided claims, or the most frequent label if the task has none.
    """

    claim: Claim
    label: str
    probabilities: dict[str, float]
    abstained: str
    evidence: ClaimEvidence


RISK = "risk"  # the name of the curve of risk and coverage in the figures of a model


class ClaimsFile(msgspec.Struct, frozen=True, kw_only=True):
    """A training file: its name, its checksum and its number of claims with each label."""

    name: str
    sha256: str
    labels: dict[str, int]


class VerdictManifest(ModelManifest, frozen=True, kw_only=True):
    """The description of a model of verdicts and of its training.

    ``labels`` are its classes in order, ``undecided`` is its label when it abstains. It needs an
    index with the ``language``, ``retriever`` and ``encoder`` of the training index, whose manifest
    id is ``index``. ``contrast`` and ``entailment`` are the models that add features of the
    evidence.
    """

    labels: tuple[str, ...]
    undecided: str
    language: str
    retriever: str
    encoder: str
    index: str
    sources: tuple[ClaimsFile, ...]
    contrast: EncoderInfo | None = None
    entailment: EntailmentInfo | None = None


class TrainedVerdicts(NamedTuple):
    """A model with its manifest and its extractors."""

    model: VerdictModel
    manifest: VerdictManifest
    extractors: FeatureExtractors = NO_EXTRACTORS

    def verifier(
        self, finder: Finder, settings: VerdictSettings, *, for_people: bool = False
    ) -> Verifier:
        """Return the verifier that judges by this model and the evidence of an index.

        With ``for_people``, the least probability of a label is raised so that at most the share
        ``settings.max_risk`` of the verdicts were wrong in the model's cross-validation. Files of a
        task need a label for every claim, so they do without. Raises QueryError if the index is not
        of the kind that the model was trained with.
        """
        for name, there in setting_of(finder).items():
            value = getattr(self.manifest, name)
            if there != value:
                here = f"{finder.index.info.place} has {there or 'none'}"
                remedy = "use an index like that of the training, or train another model"
                raise QueryError(
                    f"the model was trained with {name} {value or 'none'}, but {here}",
                    remedy=remedy,
                )
        surer = (
            needed_confidence(risk_of(self.manifest.figures), settings.max_risk)
            if for_people
            else 0.0
        )
        surer_settings = msgspec.structs.replace(
            settings, min_confidence=max(settings.min_confidence, surer)
        )
        return Verifier(self, finder, surer_settings)


def setting_of(finder: Finder) -> dict[str, str]:
    """Return what a model and its index must have in common."""
    index = finder.index
    return {
        "language": index.info.language,
        "retriever": index.resolve().retriever,
        "encoder": finder.encoder,
    }


def risk_of(figures: dict[str, Any]) -> list[RiskPoint]:
    """Return the risk curve in figures, the surest first, or nothing; raise ValueError if it is not
    a curve.
    """
    try:
        return msgspec.convert(figures.get(RISK, []), list[RiskPoint])
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


class Verifier:
    """Finds evidence for claims and judges them by a model."""

    def __init__(self, learned: TrainedVerdicts, finder: Finder, settings: VerdictSettings) -> None:
        self._learned, self._finder, self._settings = learned, finder, settings

    def verify(self, claims: Sequence[Claim], progress: Bar | None = None) -> Iterator[Verdict]:
        """Yield the verdict on each claim, in their order; raise QueryError if one is longer than a
        query may be.
        """
        refuse_long(claims, self._finder)
        for start in range(0, len(claims), AT_ONCE):
            chunk = claims[start : start + AT_ONCE]
            yield from self._decide(chunk, self._finder.find([claim.text for claim in chunk]))
            if progress:
                progress.update(len(chunk))

    def by_each(self, verdict: Verdict) -> list[dict[str, float]]:
        """Return the probabilities of the labels for each sentence of a verdict, as if it were the
        only evidence.
        """
        alone = [
            verdict.evidence._replace(sentences=(sentence,))
            for sentence in verdict.evidence.sentences
        ]
        return self._probabilities([verdict.claim] * len(alone), alone) if alone else []

    def _probabilities(
        self, claims: Sequence[Claim], evidence: Sequence[ClaimEvidence]
    ) -> list[dict[str, float]]:
        cases = cases_of(claims, evidence, self._finder, self._learned.extractors)
        rows = self._learned.model.probabilities(cases).tolist()
        return [dict(zip(self._learned.manifest.labels, row, strict=True)) for row in rows]

    def _decide(
        self, claims: Sequence[Claim], evidence: Sequence[ClaimEvidence]
    ) -> Iterator[Verdict]:
        manifest, least = self._learned.manifest, self._settings.min_confidence
        reads_evidence = models.kind(manifest.model).READS_EVIDENCE
        for claim, of_claim, each in zip(
            claims, evidence, self._probabilities(claims, evidence), strict=True
        ):
            label = max(each, key=lambda name: each[name])
            reason = self._lack_of_evidence(claim, of_claim, label) if reads_evidence else ""
            if not reason and each[label] < least:
                reason = (
                    f"no label is probable enough: {label} has {each[label]:.2f}, but "
                    f"{least:g} is needed"
                )
            yield Verdict(claim, manifest.undecided if reason else label, each, reason, of_claim)

    def _lack_of_evidence(self, claim: Claim, evidence: ClaimEvidence, label: str) -> str:
        if not evidence.sentences:
            return "no evidence was found"
        texts, analyzer = (
            [sentence.text for sentence in evidence.sentences],
            self._finder.index.terms,
        )
        if self._settings.need_numbers and stance_of(label) == "for":
            there = [number for text in texts for number in quantities(text)]
            if missing := find_unstated(quantities(claim.text), there):
                return (
                    f"the evidence does not state {missing[0].value:.12g}, which is a number "
                    "in the claim"
                )
        wanted = frozenset(terms(claim.text, analyzer))
        share = coverage(wanted, [term for text in texts for term in terms(text, analyzer)])
        if share >= self._settings.min_coverage:
            return ""
        words = len(wanted)
        return (
            f"the evidence contains {round(share * words)} of the {words} words of the claim, "
            "excluding stop words"
        )


def refuse_long(claims: Sequence[Claim], finder: Finder) -> None:
    """Raise QueryError, naming the place, before any work, if a claim is longer than a query may
    be.
    """
    longest = finder.index.settings.search.max_query_chars
    for claim in claims:
        if len(claim.text) > longest:
            problem = (
                f"the claim has {len(claim.text)} characters, more than the {longest} of "
                "search.max_query_chars"
            )
            raise QueryError(problem, place=claim.place)


def cases_of(
    claims: Sequence[Claim],
    evidence: Sequence[ClaimEvidence],
    finder: Finder,
    extractors: FeatureExtractors = NO_EXTRACTORS,
) -> Cases:
    """Return the cases of claims, with their evidence; ``extractors`` add the features of their
    models.
    """
    texts = [claim.text for claim in claims]
    features = matrix(texts, evidence, finder.index.terms, lexicon(finder.index.info.language))
    return Cases(texts, np.hstack([features, extractors.matrix(texts, evidence)]))


def json_line(verdict: Verdict) -> str:
    """Return a verdict as a JSON line."""
    return msgspec.json.encode(record(verdict)).decode() + "\n"


def record(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON values: probabilities and similarity to four digits, lone surrogates
    as escapes.
    """
    return {
        "id": storable(verdict.claim.qid),
        "claim": storable(verdict.claim.text),
        "label": verdict.label,
        "abstained": verdict.abstained,
        "probabilities": {label: round(value, 4) for label, value in verdict.probabilities.items()},
        # ``start`` and ``end`` are character positions in the document's text.
        "evidence": [
            {
                "docid": sentence.docid,
                "passage": sentence.number,
                "start": sentence.start,
                "end": sentence.end,
                "text": sentence.text,
                "similarity": round(sentence.similarity, 4),
                "title": sentence.title,
                "url": sentence.url,
                "date": sentence.date,
                "source": sentence.source,
            }
            for sentence in verdict.evidence.sentences
        ],
    }
