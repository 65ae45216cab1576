"""Did you mean: the words of a query that are nowhere in an index, each with the word of the index that is meant.

A word is known if it is written anywhere, or a form of it is: if the analyzer makes a term of it that a passage has.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..domain import Filter
from ..languages import unknown_language
from ..live.snapshot import Snapshot
from ..lucene import PassageSearcher
from ..manifest import LUCENE, WORDS
from ..spelling import admitted_edits, words_in
from ..views.words import WordIndex

_MOST = 8
"""Misspelt words of a query that are looked into: a text of more is not of this index's language."""


def spellings(snapshot: Snapshot, text: str, where: Filter | None) -> Mapping[str, str]:
    """Return the misspelt words of a text, each with the word that is meant, where a passage under the filter has that.

    So the text matches more with it. An index without the view ``words`` knows no words.
    """
    if WORDS not in snapshot.manifest.views:
        return {}
    words: WordIndex = snapshot.view(WORDS)
    unknown = _unknown(snapshot, words, text)
    if not unknown or len(unknown) > _MOST or unknown_language(text, (snapshot.manifest.language,)):
        return {}
    meant = {word: words.nearest(word, admitted_edits(word)) for word in unknown}
    return {word: spelling for word, spelling in meant.items() if spelling and _has(snapshot, spelling, where)}


def _unknown(snapshot: Snapshot, words: WordIndex, text: str) -> list[str]:
    """Return the words of a text, in lower case and each once, that are nowhere in the index."""
    unwritten = [word for word in dict.fromkeys(words_in(text.lower())) if not words.holds(word)]
    if not unwritten:
        return []
    searcher: PassageSearcher = snapshot.view(LUCENE)
    return [word for word in unwritten if snapshot.terms(word) and not searcher.having_words(word).any()]


def _has(snapshot: Snapshot, word: str, where: Filter | None) -> bool:
    """Return whether a passage under a filter of documents holds a word."""
    searcher: PassageSearcher = snapshot.view(LUCENE)
    having, keep = searcher.having_words(word), snapshot.mask(where.of_documents if where else None)
    return bool((having if keep is None else having & keep).any())
