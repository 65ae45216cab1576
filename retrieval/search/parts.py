"""Answers beside the hits: a document as a query, notes, spellings, the weights of words, the size of a retriever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from ..config import BM25Settings
from ..domain import DocumentQuery, Filter, Hit
from ..encoders.sources import languages
from ..folding import folded
from ..languages import unknown_language
from ..lucene.analysis import TermCache, words_of
from ..lucene.index import Weights, flat_text
from ..lucene.spelling import admitted_edits, nearest, suspects, words_in
from ..stages.collapse import NEAR
from ..store.manifest import DOCUMENTS, LUCENE, VECTORS, WORDS, EncoderInfo, Manifest
from ..store.signatures import most_disagreements
from ..terminal import listed
from ..views import view
from .index_state import IndexState
from .options import Footprint, IndexInfo, ResolvedSearch

QUERY_WORDS = 25
"""Words that a document is searched for by: what Lucene and those who build on it take."""
READ_CHARS = 100_000
"""Characters of a document that its words are chosen from."""
READ_TERMS = 5_000
"""Terms of them that are looked at: Lucene's number."""


def like(state: IndexState, docid: str, *, copies: bool) -> tuple[DocumentQuery, set[str]]:
    """Return a document as a query, and the documents to leave out: itself, with ``copies`` its near-duplicates too.

    Raises NotFoundError if there is no such document.
    """
    document = state.document(docid)
    text = flat_text(document.title, document.text)[:READ_CHARS]
    words = _words(interesting_terms(state, text), text, state.terms)
    return DocumentQuery(" ".join(words), docid), {docid, *(near_copies(state, docid) if copies else ())}


def near_copies(state: IndexState, docid: str) -> set[str]:
    """Return the documents with a passage that is a near-duplicate of one of a document's, that one among them."""
    signatures = state.signatures([(docid, passage.number) for passage in state.passages(docid)])
    return set().union(*state.near_copies(signatures, most_disagreements(NEAR), None))


def interesting_terms(state: IndexState, text: str) -> list[str]:
    """Return the heaviest terms of a text that two passages or more have, the heaviest first.

    Equally heavy terms stand in alphabetical order; a term of one passage alone finds nothing else.
    """
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
    """Return for each term a word of the text that the analyzer makes it of, or the term if it stands for itself.

    In a script without blanks a word of the text may be a whole sentence, of many terms; there terms stand for
    themselves.
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
    """Return the note on a query, else ``""``; ``views`` names those that a retriever of the index reads.

    In stop words nothing can be looked for word by word, and an encoder does not know every language.
    """
    if set(resolved.views) == {LUCENE}:
        if any(terms(word) for chunk in query.split() for word in words_of(chunk)):
            return ""
        return f"the analyzer {info.published.analyzer} drops every word of this query"
    encoders = info.encoders
    for name in sorted(set(resolved.views) & encoders.keys()):
        encoder = encoders[name]
        known = languages(encoder.name, resolved.settings.encoder)
        language = unknown_language(query, known)
        if language:
            return f"{_unknowing(encoder, known, language)}; {_advice(name, info, views)}"
    return ""


def _unknowing(encoder: EncoderInfo, known: Sequence[str], language: str) -> str:
    return f"the encoder {encoder.name} knows only {', '.join(known)}, the query looks like {language}"


def _advice(view: str, info: IndexInfo, views: Callable[[str], Sequence[str]]) -> str:
    """Return what to do where the encoder of a view does not know the language of a query."""
    doubtful = sorted(name for name in info.retrievers if view in views(name))
    others = sorted(set(info.retrievers).difference(doubtful))
    trusted = f"trust {listed(others)} more than {listed(doubtful, 'or')}, or " if others else ""
    return f"{trusted}build the index with a multilingual encoder"


def left_out(undated: int) -> str:
    """Return the note on documents that a date bound leaves out because they have no date, else ``""``."""
    if not undated:
        return ""
    documents = "1 document has no date and is" if undated == 1 else f"{undated:,} documents have no date and are"
    return f"{documents} left out by the date filter; undated: keep (--undated keep) includes them"


_MOST = 8
"""Misspelt words of a query that are looked into: a text of more is not of this index's language."""


def spellings(state: IndexState, text: str, where: Filter | None) -> Mapping[str, str]:
    """Return the misspelt words of a text, each with the word that is meant, where a passage under the filter has that.

    So the text matches more with it. An index without the view ``words`` knows no words.
    """
    if WORDS not in state.manifest.views:
        return {}
    text = folded(text)
    words = words_in(text.lower())
    suspected = suspects(text, state.manifest.language)
    unknown = state.unwritten(list(suspected))
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
    # To tell the language takes long, and of a few unknown words nothing is mostly to be suggested anyway.
    return {} if meant and is_foreign() else meant


def word_weights(state: IndexState, text: str, hits: Sequence[Hit], settings: BM25Settings) -> list[dict[str, float]]:
    """Return of each hit the words of ``text`` that its passage holds, each with its weight.

    Of several words with the same term the first stands for all; a term of no word stands for itself.
    """
    weights = Weights(settings.k1, settings.b, settings.title_weight, settings.text_weight)
    places = [(hit.docid, hit.passage) for hit in hits]
    words: dict[str, str] = {}
    for word in words_of(text):
        for term in state.terms(word):
            words.setdefault(term, word)
    return [_by_word(terms, words) for terms in state.term_weights(text, places, weights)]


def _by_word(terms: dict[str, float], words: dict[str, str]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for term, weight in sorted(terms.items()):
        word = words.get(term, term)
        weights[word] = weights.get(word, 0.0) + weight
    return weights


def footprint(manifest: Manifest, names: Sequence[str]) -> Footprint:
    """Return the bytes and the seconds of the documents and of the views of these names."""
    read = [view(name, manifest) for name in names]
    files = [(name, file.bytes) for segment in manifest.segments for name, file in segment.files.items()]
    seconds = sum(segment.text_seconds for segment in manifest.segments)
    if any(name.startswith(VECTORS) for name in names):
        seconds += sum(segment.vector_seconds for segment in manifest.segments)
    taken = (size for file, size in files if file == DOCUMENTS or any(each.owns(file) for each in read))
    return Footprint(sum(taken), seconds)
