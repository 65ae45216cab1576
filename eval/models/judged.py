"""The queries that a model is trained on: those that were judged, or titles and sentences of the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...retrieval.domain import Document, Qrels
from ...retrieval.errors import QueryError
from ...retrieval.lucene.index import flat_text
from ...retrieval.searcher import Search, Searcher
from ...retrieval.sentences import SentenceSpan, sentences
from ..running.batch import SearchQuery
from ..running.judged import Judged

Text = Callable[[str, str], str]
"""From the title of a document and the text of its passage to what a model reads."""
_READ = 2_000
"""Characters of a document that are read."""
_SHORTEST = 20
"""Characters that a title or a sentence needs to be asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJudged:
    """Queries with their relevant documents, by qid.

    ``own_texts`` holds the text of the relevant document of each query that was cut out of it.
    """

    asked: tuple[SearchQuery, ...]
    qrels: Qrels
    search: Search
    text: Text = flat_text
    own_texts: Mapping[str, str] = field(default_factory=dict)


def of_judgements(judged: Judged) -> TrainingJudged:
    """Return what somebody judged."""
    return TrainingJudged(asked=judged.asked, qrels=judged.qrels, search=judged.search)


def of_documents(index: Searcher, sample: int, seed: int) -> TrainingJudged:
    """Return queries made of at most ``sample`` documents, drawn with ``seed``.

    The query is the title, which is to find the text; of a document without one it is a sentence of its beginning,
    which is to find the rest of that. A model reads no titles then, so that it cannot find a query by the query itself.

    Raises QueryError if no document has a title or a second sentence.
    """
    chance = np.random.default_rng((seed, 5))
    drawn = _drawn(_askable(index), sample, chance)
    asked, own_texts = [], {}
    for document in drawn:
        query, own_texts[document.docid] = _apart(document.title, document.text[:_READ], chance)
        asked.append(SearchQuery(document.docid, query, None))
    if not asked:
        raise QueryError(
            "no document has a title or a second sentence: there is nothing to learn from", place=index.info.place
        )
    return TrainingJudged(
        asked=tuple(asked),
        qrels={query.qid: {query.qid: 1} for query in asked},
        search=Search(),
        text=_text_alone,
        own_texts=own_texts,
    )


def _drawn(documents: Iterator[Document], sample: int, chance: np.random.Generator) -> list[Document]:
    """Draw documents while they stream by, each with the same chance; in the order of their docids."""
    reservoir: list[Document] = []
    for number, document in enumerate(documents):
        if number < sample:
            reservoir.append(document)
        elif (place := int(chance.integers(number + 1))) < sample:
            reservoir[place] = document
    return sorted(reservoir, key=lambda document: document.docid)


def _askable(index: Searcher) -> Iterator[Document]:
    """Yield the documents with a title or a second sentence, not longer than a query may be."""
    longest = index.settings.search.max_query_chars
    for document in index.documents():
        text = document.text[:_READ]
        if _has_title(document.title, text):
            if len(document.title) <= longest:
                yield document
        elif len(_sentences(text)) > 1 and len(text) <= longest:
            yield document


def _apart(title: str, text: str, chance: np.random.Generator) -> tuple[str, str]:
    """Return a query and the text that it is to find."""
    if _has_title(title, text):
        return title, text
    spans = _sentences(text)
    span = spans[int(chance.integers(len(spans)))]
    return text[span.start : span.end], f"{text[: span.start].rstrip()} {text[span.end :].lstrip()}".strip()


def _has_title(title: str, text: str) -> bool:
    return len(title) >= _SHORTEST and len(text) >= _SHORTEST


def _sentences(text: str) -> list[SentenceSpan]:
    return [span for span in sentences(text) if span.end - span.start >= _SHORTEST]


def _text_alone(title: str, text: str) -> str:
    return text
