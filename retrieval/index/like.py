"""More like this: a document of an index as the query.

Its words are the terms that tell it best from the other passages, each in a form in which the document has it, so that
whatever reads a query (BM25, highlights, counts, explanations) reads these words. Terms are chosen as Lucene's
``MoreLikeThis`` chooses them: a term counts as often as the text has it, times the logarithm of how rare it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..domain import DocumentQuery
from ..index_state import IndexState
from ..lucene.analysis import TermCache
from ..lucene.index import flat_text
from ..signatures import most_disagreements
from ..stages.collapse import NEAR

WORDS = 25
"""Words that a document is searched for by: what Lucene and those who build on it take."""
READ_CHARS = 100_000
"""Characters of a document that its words are chosen from."""
READ_TERMS = 5_000
"""Terms of them that are looked at: Lucene's number."""


def like(state: IndexState, docid: str, *, copies: bool) -> tuple[DocumentQuery, set[str]]:
    """Return a document as a query, and the documents to leave out: itself, with ``copies`` its near-copies too.

    Raises NotFoundError if there is no such document.
    """
    document = state.document(docid)
    text = flat_text(document.title, document.text)[:READ_CHARS]
    words = _words(interesting_terms(state, text), text, state.terms)
    return DocumentQuery(" ".join(words), docid), {docid, *(near_copies(state, docid) if copies else ())}


def near_copies(state: IndexState, docid: str) -> set[str]:
    """Return the documents with a passage that is a near-copy of one of a document's, that one among them."""
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
    return sorted(weights, key=lambda term: (-weights[term], term))[:WORDS]


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
