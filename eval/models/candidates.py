"""Candidates: what a search finds for each judged query, beside what was judged relevant; hard negatives among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...retrieval.errors import NotFoundError
from ...retrieval.progress import Progress
from ...retrieval.searcher import Searcher
from ...retrieval.signatures import disagreements, most_disagreements, signatures_of
from ..running.batch import SearchQuery, with_evidence
from .judged import TrainingJudged

NEAR_COPY = 0.8
"""The share of common words from which a candidate counts as a near-copy of a relevant passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The first hits of a query, best first, and its relevant documents, each with the text of one passage.

    The passage of a relevant document is that of the hit, else its first. ``scores`` are those of the hits.
    """

    qid: str
    query: str
    hits: Mapping[str, str]
    relevant: Mapping[str, str]
    scores: Mapping[str, float] = field(default_factory=dict)

    def negatives(self) -> list[str]:
        """Return the texts of the hits, best first, that are neither relevant nor near-copies of what is relevant."""
        others = [text for docid, text in self.hits.items() if docid not in self.relevant]
        if not others or not self.relevant:
            return others
        signatures = signatures_of(others)
        nearest = [disagreements(signatures, signature) for signature in signatures_of(list(self.relevant.values()))]
        least = most_disagreements(NEAR_COPY)
        return [text for at, text in enumerate(others) if min(int(far[at]) for far in nearest) > least]


def read_candidates(index: Searcher, judged: TrainingJudged, depth: int, progress: Progress) -> list[Candidates]:
    """Return the candidates of each judged query in the order of the queries: its first ``depth`` documents."""
    search = judged.search._replace(k=depth, group=True, stages=())
    resolved = index.resolve(search)
    made = []
    for query, ranked, evidence in with_evidence(index, judged.asked, search, progress):
        hits = {hit.docid: judged.text(hit.title, hit.passage.text) for hit in evidence}
        relevant = dict(_relevant(index, judged, query, hits))
        scores = {hit.docid: hit.score for hit in ranked}
        text = resolved.text(query.text)
        made.append(Candidates(qid=query.qid, query=text, hits=hits, relevant=relevant, scores=scores))
    return made


def _relevant(
    index: Searcher, judged: TrainingJudged, query: SearchQuery, hits: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield each relevant document that the index has, with its text, in the order of the docids."""
    own = judged.own_texts.get(query.qid)
    for docid, grade in sorted(judged.qrels[query.qid].items()):
        if grade <= 0:
            continue
        text = own if own is not None else hits.get(docid)
        if text is None:
            try:
                document, passages = index.document(docid), index.passages(docid)
            except NotFoundError:
                continue
            text = judged.text(document.title, passages[0].text) if passages else None
        if text is not None:
            yield docid, text


def teaching(candidates: Sequence[Candidates]) -> list[Candidates]:
    """Return the queries with a relevant document."""
    return [candidate for candidate in candidates if candidate.relevant]
