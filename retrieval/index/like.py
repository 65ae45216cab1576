"""More like this: a document of an index as the query.

Its words are the terms that tell it best from the other passages, each in a form in which the document has it, so that
whatever reads a query (BM25, highlights, counts, explanations) reads these words.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..domain import DocumentQuery
from ..live.snapshot import Snapshot
from ..lucene import PassageSearcher, flat_text
from ..manifest import LUCENE, SIGNATURES
from ..signatures import most_disagreements
from ..stages.collapse import NEAR
from ..vocabulary import Vocabulary

WORDS = 25
"""Words that a document is searched for by: what Lucene and those who build on it take."""
READ_CHARS = 100_000
"""Characters of a document that its words are chosen from."""


def like(snapshot: Snapshot, docid: str, *, copies: bool) -> tuple[DocumentQuery, set[str]]:
    """Return a document as a query, and the documents to leave out: itself, with ``copies`` its near-copies too.

    Raises NotFoundError if there is no such document.
    """
    document = snapshot.document(docid)[1]
    searcher: PassageSearcher = snapshot.view(LUCENE)
    text = flat_text(document.title, document.text)[:READ_CHARS]
    words = _words(searcher.interesting_terms(text, WORDS), text, snapshot.terms)
    return DocumentQuery(" ".join(words), docid), {docid, *(near_copies(snapshot, docid) if copies else ())}


def near_copies(snapshot: Snapshot, docid: str) -> set[str]:
    """Return the documents with a passage that is a near-copy of one of a document's, that one among them."""
    signatures, rows = snapshot.view(SIGNATURES), snapshot.rows
    most, live = most_disagreements(NEAR), snapshot.mask(None)
    near = (signatures.near(signature, most, live) for signature in signatures.of_rows(snapshot.rows_of(docid)))
    return {rows.docids[row] for of_passage in near for row in of_passage}


def _words(terms: Sequence[str], text: str, vocabulary: Vocabulary) -> list[str]:
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
