"""Additions to the hits: a document as a query, notes, spelling corrections, word weights, a retriever's size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from ..config import BM25Settings
from ..domain import DocumentQuery, Filter, Hit
from ..encoders.sources import languages
from ..folding import fold
from ..languages import unknown_language
from ..lucene.analysis import TermCache, words_of
from ..lucene.index import Weights, flat_text
from ..lucene.spelling import admitted_edits, nearest, suspects, words_in
from ..stages.collapse import NEAR
from ..store.manifest import DOCUMENTS, LUCENE, VECTORS, WORDS, Manifest
from ..store.signatures import most_disagreements
from ..terminal import join_words
from ..views import view
from .options import Footprint, IndexInfo, IndexState, ResolvedSearch

QUERY_WORDS = 25  # the number of words of a document query; Lucene uses the same number
READ_CHARS = 100_000  # the number of characters at the beginning of a document from which its query words are taken
READ_TERMS = 5_000  # the number of terms in these characters to examine; Lucene uses the same number


def like(state: IndexState, docid: str, *, copies: bool) -> tuple[DocumentQuery, set[str]]:
    """Return a document as a query, and the documents to exclude: itself and, with ``copies``, its near-duplicates."""
    document = state.document(docid)
    text = flat_text(document.title, document.text)[:READ_CHARS]
    words = _words(_interesting_terms(state, text), text, state.terms)
    excluded = {docid}
    if copies:
        signatures = state.signatures([(docid, passage.number) for passage in state.passages(docid)])
        excluded = excluded.union(*state.near_copies(signatures, most_disagreements(NEAR), None))
    return DocumentQuery(" ".join(words), docid), excluded


def _interesting_terms(state: IndexState, text: str) -> list[str]:
    """Return the heaviest terms that two or more passages contain, heaviest first; ties are in alphabetical order."""
    field = state.field_statistics()[0]
    often = Counter(state.terms.tokens(text)[:READ_TERMS])
    terms = sorted(often)
    weights = {
        term: np.float32(often[term] * np.float32(np.log((field.passages + 1) / (count.passages + 1)) + 1))
        for term, count in zip(terms, state.term_counts([(field.field, term) for term in terms]), strict=True)
        if count.passages > 1
    }
    return sorted(weights, key=lambda term: (-weights[term], term))[:QUERY_WORDS]


def _words(terms: Sequence[str], text: str, vocabulary: TermCache) -> list[str]:
    """Return a word of the text for each term, or the term itself.

    A script without spaces needs the term itself: there, a word may be a sentence of many terms.
    """
    of_term: dict[str, str] = {}
    for word, made in sorted(vocabulary.matcher(frozenset(terms))(text).items()):
        if len(made) == 1:
            of_term.setdefault(made[0], word)
    for term in terms:
        if term not in of_term and vocabulary(term) == (term,):
            of_term[term] = term
    return [of_term[term] for term in terms if term in of_term]


def note(
    query: str, resolved: ResolvedSearch, info: IndexInfo, terms: TermCache, views: Callable[[str], Sequence[str]]
) -> str:
    """Return a note if a query has only stop words or an unknown language; ``views`` returns a retriever's views."""
    if set(resolved.views) == {LUCENE}:
        if any(terms(word) for chunk in query.split() for word in words_of(chunk)):
            return ""
        if isinstance(query, DocumentQuery):
            return "no other passage contains a word of this document"
        return f"the analyzer {info.published.analyzer} drops every word of this query"
    encoders = info.encoders
    for name in sorted(set(resolved.views) & encoders.keys()):
        encoder = encoders[name]
        known = languages(encoder.name, resolved.settings.encoder)
        language = unknown_language(query, known)
        if language:
            vectors = f"the vectors of this index are for {', '.join(known)} ({encoder.name})"
            doubtful = sorted(retriever for retriever in info.retrievers if name in views(retriever))
            others = sorted(set(info.retrievers).difference(doubtful))
            are = "is" if len(others) == 1 else "are"
            trusted = (
                f"{join_words(others)} {are} more reliable here than {join_words(doubtful, 'or')}; " if others else ""
            )
            advice = f"{trusted}a multilingual encoder would know the language"
            return f"the query looks like {language}, and {vectors}; {advice}"
    return ""


def left_out(undated: int) -> str:
    """Return the note on documents that a date bound excludes because they have no date, else ``""``."""
    if not undated:
        return ""
    documents = "1 document has no date and is" if undated == 1 else f"{undated:,} documents have no date and are"
    return f"{documents} left out by the date filter; undated: keep (--undated keep) includes them"


_MOST = 8  # the maximum number of misspelt words to correct: a text with more is probably in another language


def spellings(state: IndexState, text: str, where: Filter | None) -> Mapping[str, str]:
    """Return the misspelt words of a text, each with a correction that some passage under the filter contains."""
    if WORDS not in state.manifest.views:
        return {}
    text = fold(text)
    words = words_in(text.lower())
    suspected = suspects(text, state.manifest.language)
    unknown = state.find_unwritten(list(suspected))
    if not unknown or len(unknown) > _MOST:
        return {}
    is_foreign = partial(unknown_language, text, (state.manifest.language,))
    if 2 * len(unknown) > len(words) and is_foreign():
        return {}
    near = {
        word: nearest(word, state.words_near(word, admitted_edits(word)), may_be_name=suspected[word])
        for word in unknown
    }
    meant = {word: spelling for word, spelling in near.items() if spelling and state.has_word(spelling, where)}
    # Language detection is slow, and most queries with a few unknown words have no corrections.
    return {} if meant and is_foreign() else meant


def word_weights(state: IndexState, text: str, hits: Sequence[Hit], settings: BM25Settings) -> list[dict[str, float]]:
    """Return, for each hit, the words of ``text`` in its passage, each with its weight.

    If several words have the same term, the first word represents them.
    """
    weights = Weights(settings.k1, settings.b, settings.title_weight, settings.text_weight)
    places = [(hit.docid, hit.passage) for hit in hits]
    words: dict[str, str] = {}
    for word in words_of(text):
        for term in state.terms(word):
            words.setdefault(term, word)
    of_hits = []
    for terms in state.term_weights(text, places, weights):
        of_words: dict[str, float] = {}
        for term, weight in sorted(terms.items()):
            word = words.get(term, term)
            of_words[word] = of_words.get(word, 0.0) + weight
        of_hits.append(of_words)
    return of_hits


def footprint(manifest: Manifest, names: Sequence[str]) -> Footprint:
    """Return the disk size and build time of the documents and of the views ``names``."""
    read = [view(name, manifest) for name in names]
    files = [(name, file.bytes) for segment in manifest.segments for name, file in segment.files.items()]
    seconds = sum(segment.text_seconds for segment in manifest.segments)
    if any(name.startswith(VECTORS) for name in names):
        seconds += sum(segment.vector_seconds for segment in manifest.segments)
    taken = (size for file, size in files if file == DOCUMENTS or any(each.owns(file) for each in read))
    return Footprint(sum(taken), seconds)
