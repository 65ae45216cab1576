"""The training data of a model: judged queries, or titles and sentences of documents, each with the
hits of a search.

The queries are split into parts that share no relevant document: a model could recognise a document
that it learned for another query, for example by its length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ...core.domain import Document, Qrels
from ...core.errors import NotFoundError, QueryError
from ...core.progress import Progress
from ...retrieval.lucene.index import flat_text
from ...retrieval.search.index import Index
from ...retrieval.search.options import Search
from ...retrieval.sentences import SentenceSpan, sentences
from ...retrieval.store.signatures import disagreements, most_disagreements, signatures_of
from ..run.batch import Judged, SearchQuery, with_evidence

# The share of common words above which a candidate counts as a near-duplicate of a relevant
# passage.
NEAR_COPY = 0.8
_READ = 2_000  # the number of characters of a document that are read
_SHORTEST = 20  # the minimum number of characters of a title or a sentence that becomes a query


def of_documents(index: Index, sample: int, seed: int) -> Judged:
    """Return queries made of at most ``sample`` documents, drawn with ``seed``.

    A query is a document's title, and the document's text is the relevant passage. A document
    without a title gives one sentence of its beginning as the query, and the rest of its beginning
    as the passage. The model reads no titles, because a title would repeat the query. Raises
    QueryError if no document has a title or a second sentence.
    """
    chance = np.random.default_rng((seed, 5))
    longest = index.settings.search.max_query_chars
    # Reservoir sampling: documents are drawn while they stream by, each with the same chance.
    reservoir: list[Document] = []
    number = 0
    for document in index.documents():
        text = document.text[:_READ]
        titled = _has_title(document)
        if (
            not (titled or len(_sentences(text)) > 1)
            or len(document.title if titled else text) > longest
        ):
            continue
        if number < sample:
            reservoir.append(document)
        elif (place := int(chance.integers(number + 1))) < sample:
            reservoir[place] = document
        number += 1
    queries, own_texts = [], {}
    for document in sorted(reservoir, key=lambda document: document.docid):
        query, rest = document.title, document.text[:_READ]
        if not _has_title(document):
            spans = _sentences(rest)
            span = spans[int(chance.integers(len(spans)))]
            query = rest[span.start : span.end]
            rest = f"{rest[: span.start].rstrip()} {rest[span.end :].lstrip()}".strip()
        own_texts[document.docid] = rest
        queries.append(SearchQuery(document.docid, query, None))
    if not queries:
        problem = "no document has a title or a second sentence: there is nothing to learn from"
        raise QueryError(problem, place=index.info.place)
    qrels = {query.qid: {query.qid: 1} for query in queries}
    return Judged(queries=tuple(queries), qrels=qrels, search=Search(), own_texts=own_texts)


def _has_title(document: Document) -> bool:
    return len(document.title) >= _SHORTEST and len(document.text) >= _SHORTEST


def _sentences(text: str) -> list[SentenceSpan]:
    return [span for span in sentences(text) if span.end - span.start >= _SHORTEST]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The first hits of a query, best first, and its relevant documents, each with the text of one
    passage.

    The passage of a relevant document is its hit's passage, or its first passage if it has no hit.
    ``scores`` are the scores of the hits.
    """

    qid: str
    query: str
    hits: Mapping[str, str]
    relevant: Mapping[str, str]
    scores: Mapping[str, float] = field(default_factory=dict)

    def negatives(self) -> list[str]:
        """Return the texts of the non-relevant hits, best first, without near-duplicates of
        relevant passages.
        """
        others = [text for docid, text in self.hits.items() if docid not in self.relevant]
        if not others or not self.relevant:
            return others
        signatures = signatures_of(others)
        nearest = [
            disagreements(signatures, signature)
            for signature in signatures_of(list(self.relevant.values()))
        ]
        least = most_disagreements(NEAR_COPY)
        return [
            text for at, text in enumerate(others) if min(int(far[at]) for far in nearest) > least
        ]


def read_candidates(
    index: Index, judged: Judged, depth: int, progress: Progress
) -> list[Candidates]:
    """Return the candidates of each judged query, in their order; its hits are its first ``depth``
    documents.
    """
    search = replace(judged.search, k=depth, group=True, stages=())
    resolved = index.resolve(search)
    made = []
    for query, ranked, evidence in with_evidence(index, judged.queries, search, progress):
        own = judged.own_texts.get(query.qid)
        # A model does not read the title of a document if the title is the query.
        hits = {
            hit.docid: flat_text(hit.title if own is None else "", hit.passage.text)
            for hit in evidence
        }
        relevant = {}
        for docid in sorted(docid for docid, grade in judged.qrels[query.qid].items() if grade > 0):
            text = own if own is not None else hits.get(docid)
            with suppress(NotFoundError):
                if text is None and (passages := index.passages(docid)):
                    text = flat_text(index.document(docid).title, passages[0].text)
            if text is not None:
                relevant[docid] = text
        scores = {hit.docid: hit.score for hit in ranked}
        query_text = resolved.text(query.text)
        made.append(
            Candidates(qid=query.qid, query=query_text, hits=hits, relevant=relevant, scores=scores)
        )
    return made


Triple = tuple[str, str, tuple[str, ...]]  # a query, a relevant passage, and non-relevant passages


def triples(
    learned: Sequence[Candidates], negatives: int, seed: int, epochs: int | None = None
) -> list[Triple]:
    """Return a row for each relevant passage, with negatives drawn with ``seed`` from the first
    hits.

    With ``epochs``, return a row for each query and epoch instead; the relevant passages of a query
    take turns, so that a query with hundreds of them does not outweigh the others. A query with too
    few negatives borrows some of others.
    """
    chance = np.random.default_rng((seed, 6))
    own = [query.negatives() for query in learned]
    every = sorted({text for texts in own for text in texts})
    rows = []

    def sample(texts: Sequence[str], size: int) -> list[str]:
        return [texts[at] for at in chance.permutation(len(texts))[:size].tolist()]

    for query, texts in zip(learned, own, strict=True):
        positives = list(query.relevant.values())
        relevant = set(positives)
        if epochs is not None:
            turns = np.resize(chance.permutation(len(positives)), epochs)
            positives = [positives[at] for at in turns.tolist()]
        for positive in positives:
            drawn = sample(texts, negatives)
            if len(drawn) < negatives:
                drawn += sample(
                    [text for text in every if text not in relevant], negatives - len(drawn)
                )
            rows.append((query.query, positive, tuple(drawn)))
    return rows


_MOST_SHARE = 0.5
"""The largest share of the queries that one group may have; with larger groups, folds would differ
much in size.
"""
FOLDS = 10  # the number of folds: one of them decides when to stop, and two judge the model
Rows = NDArray[np.intp]


class Splits(NamedTuple):
    """The queries to learn from, to decide when to stop, and to judge the model.

    ``grouped`` is true if no two of them share a relevant document.
    """

    learned: Sequence[Candidates]
    stopping: Sequence[Candidates]
    judging: Sequence[Candidates]
    grouped: bool


def folds_of(queries: int, folds: int, seed: int) -> list[Rows]:
    """Divide the numbers of queries, from 0, into folds drawn with ``seed``; the numbers in a fold
    ascend.
    """
    order = np.random.default_rng((seed, 4)).permutation(queries)
    return [np.sort(order[at::folds]) for at in range(folds)]


def grouped_folds(qrels: Qrels, folds: int, seed: int) -> tuple[list[Rows], bool]:
    """Divide queries, numbered in the order of ``qrels``, into folds that share no relevant
    document, and return true.

    If there are fewer groups than folds, or one group has most queries, divide them one by one, and
    return false.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    relevant = [
        (query, docid)
        for query, of in enumerate(qrels.values())
        for docid, grade in of.items()
        if grade > 0
    ]
    nodes = {
        docid: node
        for node, docid in enumerate(dict.fromkeys(docid for _, docid in relevant), len(qrels))
    }
    places = [query for query, _ in relevant], [nodes[docid] for _, docid in relevant]
    links = coo_matrix((np.ones(len(relevant)), places), shape=[len(qrels) + len(nodes)] * 2)
    groups = connected_components(links, directed=False)[1][: len(qrels)]
    sizes = np.bincount(groups)
    if len(sizes) < folds or sizes.max() > max(_MOST_SHARE * len(groups), 1):
        return folds_of(len(groups), folds, seed), False
    return [
        np.flatnonzero(np.isin(groups, part)) for part in folds_of(len(sizes), folds, seed)
    ], True


def split(candidates: Sequence[Candidates], qrels: Qrels, seed: int) -> Splits:
    """Split at random the queries that have a relevant document; raise QueryError if there are
    fewer than ten.
    """
    teaching = [candidate for candidate in candidates if candidate.relevant]
    if len(teaching) < FOLDS:
        needed = f"{FOLDS}: to learn from, to decide when to stop, and to measure the result"
        raise QueryError(
            f"queries with a relevant document in the index: {len(teaching)}, but training needs "
            f"{needed}"
        )
    folds, grouped = grouped_folds(
        {candidate.qid: qrels[candidate.qid] for candidate in teaching}, FOLDS, seed
    )
    stopping, first, second, *learned = ([teaching[row] for row in fold.tolist()] for fold in folds)
    return Splits([query for fold in learned for query in fold], stopping, first + second, grouped)
