"""Evidence for a claim: the most relevant sentences of an index, best first.

The search ranks single passages. The score of a passage rises if its page holds other good
passages, because the evidence for a claim is seldom in one passage alone. Of a passage with several
sentences, the one most similar to the claim is used, and these are ordered by that similarity: the
passage's score says little about the sentence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...core.deadline import CutOffError, Deadline, losing_hits
from ...core.domain import Filter, Hit
from ...core.order import float32, sort_hits
from ...retrieval.search.evidence import Evidence as Shown
from ...retrieval.search.index import Index
from ...retrieval.search.options import Search, check_whole
from ...retrieval.sentences import sentences
from ..settings import VerdictSettings
from ..text.words import coverage, terms

# The stance of a verdict towards a claim, the same for every task.
Stance = Literal["for", "against", "neither"]
_STANCES: dict[str, Stance] = {
    "SUPPORTS": "for",
    "TRUE": "for",
    "REFUTES": "against",
    "FALSE": "against",
}
_AT_ONCE = 64
# The number of sentences whose vectors are kept: claims of one topic share most of their evidence.
_KEPT = 4096
_STOP = re.compile(r"[.!?؟…。！？][\"'”’»)\]]*$")
# What a sentence and its hit have in common.
_COMMON = ("docid", "score", "title", "url", "date", "source")
_MORE = 2  # the number of passages to read for each sentence, if passages are longer than sentences


_NO_FINDING = re.compile(
    r"\s*(?:OBJECTIVES?|BACKGROUND|AIMS?|PURPOSE|INTRODUCTION|CONTEXT|RATIONALE)\b"
    r"|\s*(?:Objectives?|Background|Aims?|Purpose|Introduction|Context|Rationale):"
    r"|.*\b(?:whether|to (?:determine|investigate|examine|assess|evaluate|test|explore|find "
    r"out|study)\b(?! that)"
    r"|(?:aim|goal|purpose|objective)s? (?:of|was|is|were|are)\b|we "
    r"(?:aim|sought|hypothesi[sz]e)d?)\b"
    r"|.*(?:تهدف|هدفت|هدف)\s+(?:هذه\s+)?الدراسة",
    re.DOTALL,
)


class EvidenceSentence(NamedTuple):
    """A sentence of evidence with its location: document, passage, and start and end in the
    document's text.

    ``similarity`` is the cosine to the claim or, in an index without vectors, the share of the
    claim's words.
    """

    docid: str
    number: int
    text: str
    score: float
    similarity: float
    start: int
    end: int
    title: str
    url: str
    date: str
    source: str


class ClaimEvidence(NamedTuple):
    """The evidence for a claim: sentences, best first, and the highest score of each retriever.

    ``spread`` is how far the scores fall from the first hit to hit ``verdict.sentences``, as a
    share of the first.
    """

    sentences: tuple[EvidenceSentence, ...]
    bm25: float = 0.0
    dense: float = 0.0
    spread: float = 0.0


class Finder:
    """Finds evidence in one open index; ``where`` selects the documents that may be evidence.

    ``limit`` is the time limit of all searches together.
    """

    def __init__(
        self,
        index: Index,
        settings: VerdictSettings,
        where: Filter | None = None,
        limit: Deadline | None = None,
    ) -> None:
        self.index = index
        self._settings = settings
        fusion = index.settings.search.fusion
        equal = dict.fromkeys(fusion.weights, 0.5)
        fusion = msgspec.structs.replace(fusion, kind=settings.fusion, weights=equal)
        self._search = Search(k=settings.depth, where=where, group=False, fusion=fusion)
        self._limit = limit
        self._whole = {
            segment.kind for segment in index.info.published.segments if segment.of_sentences
        }
        self._vectors: dict[str, NDArray[np.float32]] = {}

    @property
    def encoder(self) -> str:
        """The name of the encoder that compares sentences; ``""`` in an index without vectors."""
        made_by = self.index.info.encoder
        return str(made_by) if made_by else ""

    def find(self, claims: Sequence[str]) -> list[ClaimEvidence]:
        """Return the evidence for each claim, in the order of the claims; it is empty for a claim
        without words.

        Raises QueryError if a claim is too long. Raises CutOffError if a ranking took too long,
        PartMissingError if a shard did not answer: each may hold evidence against a claim.
        """
        evidence: list[ClaimEvidence] = []
        resolved = self.index.resolve(self._search)
        for start in range(0, len(claims), _AT_ONCE):
            began, chunk = monotonic(), claims[start : start + _AT_ONCE]
            worded = list(filter(resolved.has_words, chunk))
            hits = (
                dict(zip(worded, self.index.search(worded, self._search, self._limit), strict=True))
                if worded
                else {}
            )
            if self._limit and (late := losing_hits(self._limit.missing)):
                raise CutOffError(
                    f"{', '.join(late)} took longer than the time limit of the search"
                )
            evidence += [self._evidence(claim, hits.get(claim, [])) for claim in chunk]
            check_whole(self.index, began)
        return evidence

    def with_annotated(
        self,
        claims: Sequence[str],
        groups: Sequence[Sequence[tuple[str, int]]],
        retrieved: Sequence[ClaimEvidence],
    ) -> list[ClaimEvidence]:
        """Return the evidence with the annotated sentences, given by docid and passage, instead of
        the retrieved ones.

        A claim with an empty group keeps its retrieved evidence. Raises NotFoundError if there is
        no such document.
        """
        annotated = []
        for claim, group, evidence in zip(claims, groups, retrieved, strict=True):
            hits = [Hit(docid, 0.0, number) for docid, number in group]
            shown = self._read(claim, hits) if hits else []
            annotated.append(
                evidence._replace(sentences=_nearest(self._compare(claim, shown)))
                if hits
                else evidence
            )
        return annotated

    def _evidence(self, claim: str, hits: Sequence[Hit]) -> ClaimEvidence:
        """Return the best sentence of each of the first passages.

        If a passage is longer than a sentence, read more passages and keep the sentences most
        similar to the claim.
        """
        if not hits:
            return ClaimEvidence(())
        number, raised = self._settings.sentences, raised_by_page(hits, self._settings.page_weight)
        shown = self._read(claim, raised[:number])
        if all(passage.kind in self._whole for passage in shown):
            chosen = _nearest(self._compare(claim, shown))
        else:
            shown += self._read(claim, raised[number : number * _MORE])
            nearest = _nearest(self._compare(claim, shown))
            chosen = tuple(sorted(nearest, key=lambda sentence: -sentence.similarity)[:number])
        top, last = hits[0].score, hits[min(len(hits), number) - 1].score
        spread = (top - last) / abs(top) if top else 0.0
        return ClaimEvidence(
            chosen, bm25=self._best(hits, "bm25"), dense=self._best(hits, "dense"), spread=spread
        )

    def _read(self, claim: str, hits: Sequence[Hit]) -> list[Shown]:
        return self.index.evidence(claim, hits, self._search, highlight=False, limit=self._limit)

    def _best(self, hits: Sequence[Hit], retriever: str) -> float:
        if self.index.resolve(self._search).retriever == retriever:
            return max(hit.score for hit in hits)
        return max(
            (part.score for hit in hits for part in hit.parts if part.retriever == retriever),
            default=0.0,
        )

    def _compare(self, claim: str, shown: Sequence[Shown]) -> list[list[EvidenceSentence]]:
        cut = [
            list(_cut(passage_shown, whole=passage_shown.kind in self._whole))
            for passage_shown in shown
        ]
        flat = [sentence for passage in cut for sentence in passage]
        similarities = iter(self._similarities(claim, [sentence.text for sentence in flat]))
        return [
            [sentence._replace(similarity=next(similarities)) for sentence in passage]
            for passage in cut
        ]

    def _similarities(self, claim: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        if not self.encoder:
            wanted = terms(claim, self.index.terms)
            return [coverage(wanted, terms(text, self.index.terms)) for text in texts]
        encoder = self.index.encoder
        vectors = self._vectors if len(self._vectors) < _KEPT else {}
        new = [text for text in dict.fromkeys(texts) if text not in vectors]
        vectors.update(zip(new, encoder.encode_document(new), strict=True))
        self._vectors = vectors  # A thread that uses the former dict still finds its texts there.
        products = np.stack([vectors[text] for text in texts]) @ encoder.encode_query([claim])[0]
        return [float(value) for value in products]


def raised_by_page(hits: Sequence[Hit], weight: float) -> list[Hit]:
    """Return hits in a new order: each score rises by ``weight`` times the sum of the two best
    scores of its page.
    """
    pages: dict[str, list[float]] = defaultdict(list)
    for hit in hits:
        pages[hit.docid].append(hit.score)
    support = {docid: sum(sorted(scores, reverse=True)[:2]) for docid, scores in pages.items()}
    scores = float32(hit.score + weight * support[hit.docid] for hit in hits)
    again = [
        msgspec.structs.replace(hit, score=score) for hit, score in zip(hits, scores, strict=True)
    ]
    return sort_hits(again)


def _cut(shown: Shown, *, whole: bool) -> Iterator[EvidenceSentence]:
    text = shown.passage.text
    stretches = [] if whole else [(sentence.start, sentence.end) for sentence in sentences(text)]
    common: dict[str, Any] = {name: getattr(shown, name) for name in _COMMON} | {
        "number": shown.passage.number
    }
    offset = shown.passage.start
    for start, end in stretches or [(0, len(text))]:
        place: dict[str, Any] = {"start": offset + start, "end": offset + end}
        yield EvidenceSentence(**common, **place, text=text[start:end], similarity=0.0)


def _nearest(passages: Sequence[Sequence[EvidenceSentence]]) -> tuple[EvidenceSentence, ...]:
    """Return the sentence of each passage that is most similar to the claim, without repeated
    texts.

    A sentence without a final stop, usually a heading, is chosen only if there is no other.
    """
    chosen: dict[str, EvidenceSentence] = {}
    for passage in passages:
        best = max(
            passage, key=lambda sentence: (bool(_STOP.search(sentence.text)), sentence.similarity)
        )
        chosen.setdefault(best.text, best)
    return tuple(chosen.values())


def states_finding(text: str) -> bool:
    """Return whether a text states a finding: false for a question, or for the aim or background of
    a study.
    """
    return not _NO_FINDING.match(text) and not text.rstrip().endswith(("?", "؟"))


def stance_of(label: str) -> Stance:
    """Return the stance of a label towards its claim; ``neither`` if the label neither supports nor
    refutes it.
    """
    return _STANCES.get(label, "neither")
