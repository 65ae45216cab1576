"""The training data of a model: judged queries, or titles and sentences of documents, each with the hits of a search.

Some of these hits are the hard negatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...retrieval.domain import Document, Qrels
from ...retrieval.errors import NotFoundError, QueryError
from ...retrieval.lucene.index import flat_text
from ...retrieval.progress import Progress
from ...retrieval.search.options import Search
from ...retrieval.sentences import SentenceSpan, sentences
from ...retrieval.store.signatures import disagreements, most_disagreements, signatures_of
from ..run.batch import SearchQuery, with_evidence

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

Text = Callable[[str, str], str]
"""A function from the title of a document and the text of its passage to the text that a model reads."""
NEAR_COPY = 0.8
"""The share of common words above which a candidate counts as a near-duplicate of a relevant passage."""
_READ = 2_000
"""The number of characters of a document that are read."""
_SHORTEST = 20
"""The minimum number of characters of a title or a sentence that becomes a query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJudged:
    """Queries with their relevant documents; ``own_texts`` has, by qid, the text of a document without the query."""

    queries: tuple[SearchQuery, ...]
    qrels: Qrels
    search: Search
    text: Text = flat_text
    own_texts: Mapping[str, str] = field(default_factory=dict)


def of_documents(index: Index, sample: int, seed: int) -> TrainingJudged:
    """Return queries made of at most ``sample`` documents, drawn with ``seed``.

    The query is the document's title, and the document's text is the relevant passage. A document without a title gives
    one sentence of its beginning as the query, and the rest of its beginning as the passage. The model reads no titles,
    because a title would repeat the query.

    Raises QueryError if no document has a title or a second sentence.
    """
    chance = np.random.default_rng((seed, 5))
    # Reservoir sampling: documents are drawn while they stream by, each with the same chance.
    reservoir: list[Document] = []
    for number, document in enumerate(_askable(index)):
        if number < sample:
            reservoir.append(document)
        elif (place := int(chance.integers(number + 1))) < sample:
            reservoir[place] = document
    queries, own_texts = [], {}
    for document in sorted(reservoir, key=lambda document: document.docid):
        query, rest = document.title, document.text[:_READ]
        if not _has_title(query, rest):
            spans = _sentences(rest)
            span = spans[int(chance.integers(len(spans)))]
            query = rest[span.start : span.end]
            rest = f"{rest[: span.start].rstrip()} {rest[span.end :].lstrip()}".strip()
        own_texts[document.docid] = rest
        queries.append(SearchQuery(document.docid, query, None))
    if not queries:
        raise QueryError(
            "no document has a title or a second sentence: there is nothing to learn from", place=index.info.place
        )
    return TrainingJudged(
        queries=tuple(queries),
        qrels={query.qid: {query.qid: 1} for query in queries},
        search=Search(),
        text=lambda title, text: text,
        own_texts=own_texts,
    )


def _askable(index: Index) -> Iterator[Document]:
    """Yield the documents with a title or a second sentence, unless title or text is too long for a query."""
    longest = index.settings.search.max_query_chars
    for document in index.documents():
        text = document.text[:_READ]
        if _has_title(document.title, text):
            if len(document.title) <= longest:
                yield document
        elif len(_sentences(text)) > 1 and len(text) <= longest:
            yield document


def _has_title(title: str, text: str) -> bool:
    return len(title) >= _SHORTEST and len(text) >= _SHORTEST


def _sentences(text: str) -> list[SentenceSpan]:
    return [span for span in sentences(text) if span.end - span.start >= _SHORTEST]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The first hits of a query, best first, and its relevant documents, each with the text of one passage.

    The passage of a relevant document is its hit's passage, or its first passage if it has no hit. ``scores`` are the
    scores of the hits.
    """

    qid: str
    query: str
    hits: Mapping[str, str]
    relevant: Mapping[str, str]
    scores: Mapping[str, float] = field(default_factory=dict)

    def negatives(self) -> list[str]:
        """Return the texts of the non-relevant hits, best first, without near-duplicates of relevant passages."""
        others = [text for docid, text in self.hits.items() if docid not in self.relevant]
        if not others or not self.relevant:
            return others
        signatures = signatures_of(others)
        nearest = [disagreements(signatures, signature) for signature in signatures_of(list(self.relevant.values()))]
        least = most_disagreements(NEAR_COPY)
        return [text for at, text in enumerate(others) if min(int(far[at]) for far in nearest) > least]


def read_candidates(index: Index, judged: TrainingJudged, depth: int, progress: Progress) -> list[Candidates]:
    """Return the candidates of each judged query, in the order of the queries: its first ``depth`` documents."""
    search = judged.search._replace(k=depth, group=True, stages=())
    resolved = index.resolve(search)
    made = []
    for query, ranked, evidence in with_evidence(index, judged.queries, search, progress):
        hits = {hit.docid: judged.text(hit.title, hit.passage.text) for hit in evidence}
        relevant = {
            docid: text
            for docid, grade in sorted(judged.qrels[query.qid].items())
            if grade > 0 and (text := _relevant_text(index, judged, query.qid, docid, hits)) is not None
        }
        scores = {hit.docid: hit.score for hit in ranked}
        text = resolved.text(query.text)
        made.append(Candidates(qid=query.qid, query=text, hits=hits, relevant=relevant, scores=scores))
    return made


def _relevant_text(index: Index, judged: TrainingJudged, qid: str, docid: str, hits: Mapping[str, str]) -> str | None:
    text = judged.own_texts.get(qid, hits.get(docid))
    if text is not None:
        return text
    try:
        document, passages = index.document(docid), index.passages(docid)
    except NotFoundError:
        return None
    return judged.text(document.title, passages[0].text) if passages else None


Triple = tuple[str, str, tuple[str, ...]]
"""A query, a relevant passage, and non-relevant passages."""


def triples(learned: Sequence[Candidates], negatives: int, seed: int, epochs: int | None = None) -> list[Triple]:
    """Return a row for each relevant passage, with negatives drawn with ``seed`` from the first hits.

    With ``epochs``, return a row for each query and epoch instead, and draw negatives for each row. The relevant
    passages of a query take turns, so that a query with hundreds of them does not outweigh the others.

    A query with too few negatives borrows from the other queries, so that a row lacks negatives only if there are too
    few in all.
    """
    chance = np.random.default_rng((seed, 6))
    own = [query.negatives() for query in learned]
    every = sorted({text for texts in own for text in texts})
    rows = []

    def sample(texts: Sequence[str], size: int) -> list[str]:
        return [texts[at] for at in chance.permutation(len(texts))[:size].tolist()]

    for query, texts in zip(learned, own, strict=True):
        relevant = set(query.relevant.values())
        positives = list(query.relevant.values())
        if epochs is not None:
            turns = np.resize(chance.permutation(len(positives)), epochs)
            positives = [positives[at] for at in turns.tolist()]
        for positive in positives:
            drawn = sample(texts, negatives)
            if len(drawn) < negatives:
                drawn += sample([text for text in every if text not in relevant], negatives - len(drawn))
            rows.append((query.query, positive, tuple(drawn)))
    return rows
