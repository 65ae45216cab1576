"""The note on a query: what a reader of its hits should know of how it could be searched for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..encoders.choice import languages
from ..languages import unknown_language
from ..lucene.analysis import TermCache, words_of
from ..manifest import LUCENE, EncoderInfo
from ..searcher import IndexInfo, ResolvedSearch
from ..terminal import listed


def note(
    query: str, resolved: ResolvedSearch, info: IndexInfo, terms: TermCache, views: Callable[[str], Sequence[str]]
) -> str:
    """Return the note on a query, else ``""``; ``views`` names those that a retriever of the index reads.

    In stop words nothing can be looked for word by word, and an encoder does not know every language.
    """
    if set(resolved.views) == {LUCENE}:
        if any(terms(word) for chunk in query.split() for word in words_of(chunk)):
            return ""
        return f"the analyzer {info.published.analyzer} leaves no word of this query to search for"
    encoders = info.encoders
    for view in sorted(set(resolved.views) & encoders.keys()):
        encoder = encoders[view]
        known = languages(encoder.name, resolved.settings.encoder)
        language = unknown_language(query, known)
        if language:
            return f"{_unknowing(encoder, known, language)}; {_advice(view, info, views)}"
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
    return f"{documents} left out by the date bound; undated: keep (--undated keep) shows them too"
