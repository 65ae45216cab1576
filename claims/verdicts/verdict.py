"""Verdicts: a label with its reasons, or the reason for having no label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ...retrieval.domain import Claim
from ...retrieval.errors import QueryError
from ...retrieval.files import storable
from ...retrieval.progress import Bar
from ..evidence.extractors import NO_EXTRACTORS, FeatureExtractors
from ..evidence.features import covered, matrix, numbers_missing
from ..evidence.sentences import ClaimEvidence, Finder
from ..settings import VerdictSettings
from ..text.polarity import lexicon
from ..text.words import terms
from .models import Cases, VerdictModel

AT_ONCE = 64
SUPPORTING = frozenset({"SUPPORTS", "TRUE"})
"""The labels that say that a claim is true."""


class Verdict(NamedTuple):
    """The verdict on a claim, with its reasons.

    ``abstained`` is the reason why the evidence does not allow a decision, or ``""``. In that case ``label`` is the
    task's label for undecided claims, or the most common label if the task has none. ``evidence`` is the evidence that
    was read.
    """

    claim: Claim
    label: str
    probabilities: dict[str, float]
    abstained: str
    evidence: ClaimEvidence


class Verifier:
    """Finds evidence for claims and judges them; ``undecided`` is the label of a claim without a decision."""

    def __init__(
        self,
        model: VerdictModel,
        labels: Sequence[str],
        finder: Finder,
        settings: VerdictSettings,
        *,
        undecided: str,
        reads_evidence: bool = True,
        extractors: FeatureExtractors = NO_EXTRACTORS,
    ) -> None:
        self.labels = tuple(labels)
        self._model = model
        self._finder = finder
        self._settings = settings
        self._undecided = undecided
        self._reads_evidence = reads_evidence
        self._extractors = extractors

    def verify(self, claims: Sequence[Claim], progress: Bar | None = None) -> Iterator[Verdict]:
        """Yield the verdict on each claim, in their order; raise QueryError if one is longer than a query may be."""
        refuse_long(claims, self._finder)
        for start in range(0, len(claims), AT_ONCE):
            chunk = claims[start : start + AT_ONCE]
            yield from self._decided(chunk, self._finder.find([claim.text for claim in chunk]))
            if progress:
                progress.update(len(chunk))

    def by_each(self, verdict: Verdict) -> list[dict[str, float]]:
        """Return the probabilities of the labels for each sentence of a verdict, as if it were the only evidence."""
        alone = [verdict.evidence._replace(sentences=(sentence,)) for sentence in verdict.evidence.sentences]
        if not alone:
            return []
        rows = self._model.probabilities(
            cases_of([verdict.claim] * len(alone), alone, self._finder, self._extractors)
        ).tolist()
        return [dict(zip(self.labels, row, strict=True)) for row in rows]

    def _decided(self, claims: Sequence[Claim], evidence: Sequence[ClaimEvidence]) -> Iterator[Verdict]:
        probabilities = self._model.probabilities(cases_of(claims, evidence, self._finder, self._extractors))
        for claim, of_claim, row in zip(claims, evidence, probabilities.tolist(), strict=True):
            each = dict(zip(self.labels, row, strict=True))
            label = max(each, key=lambda name: each[name])
            reason = self._lack_of_evidence(claim, of_claim, label) if self._reads_evidence else ""
            least = self._settings.min_confidence
            if not reason and each[label] < least:
                reason = f"no label is probable enough: {label} has {each[label]:.2f}, but {least:g} is needed"
            yield Verdict(claim, self._undecided if reason else label, each, reason, of_claim)

    def _lack_of_evidence(self, claim: Claim, evidence: ClaimEvidence, label: str) -> str:
        """Return why there is too little evidence for a label, else ``""``."""
        if not evidence.sentences:
            return "no evidence was found"
        if self._settings.need_numbers and label in SUPPORTING and (missing := numbers_missing(claim.text, evidence)):
            return f"the evidence does not state {missing[0].value:.12g}, a number of the claim"
        analyzer = self._finder.index.terms
        share = covered(claim.text, evidence, analyzer)
        if share >= self._settings.min_coverage:
            return ""
        words = len(set(terms(claim.text, analyzer)))
        return f"the evidence contains {round(share * words)} of the {words} words of the claim that matter"


def refuse_long(claims: Sequence[Claim], finder: Finder) -> None:
    """Raise QueryError, naming the place, before any work, if a claim is longer than a query may be."""
    longest = finder.index.settings.search.max_query_chars
    for claim in claims:
        if len(claim.text) > longest:
            problem = f"the claim has {len(claim.text)} characters, more than the {longest} of search.max_query_chars"
            raise QueryError(problem, place=claim.place)


def cases_of(
    claims: Sequence[Claim],
    evidence: Sequence[ClaimEvidence],
    finder: Finder,
    extractors: FeatureExtractors = NO_EXTRACTORS,
) -> Cases:
    """Return the cases of claims, with their evidence; ``extractors`` add the features of their models."""
    texts = [claim.text for claim in claims]
    lists = lexicon(finder.index.info.language)
    features = matrix(texts, evidence, finder.index.terms, lists)
    return Cases(texts, np.hstack([features, extractors.matrix(texts, evidence)]))


def json_line(verdict: Verdict) -> str:
    """Return a verdict as a JSON line."""
    return msgspec.json.encode(record(verdict)).decode() + "\n"


def record(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON values: probabilities and similarity to four digits, lone surrogates as escapes."""
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
