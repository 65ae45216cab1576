"""Clauses of a Lucene query for what a filter asks of words: phrases, words left out, words of the title."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .domain import Filter
from .errors import QueryError
from .filters import title_tokens
from .java import exclusive, java_class


@exclusive
def word_clauses(where: Filter, analyzer: Any, fields: Sequence[str], filters: str) -> list[Any]:
    """Return the clauses that a passage must pass, made with the analyzer of the index over its text ``fields``.

    Raises QueryError if an analyzer leaves nothing of a phrase or a word.
    """
    clauses = [_anywhere(phrase, analyzer, fields) for phrase in where.phrases]
    if where.without:
        clauses.append(without([_anywhere(words, analyzer, fields) for words in where.without]))
    return clauses + [_term(filters, name) for words in where.title for name in _title_words(words)]


def _title_words(words: str) -> list[str]:
    names = title_tokens(words)
    if not names:
        raise QueryError(f"title:{words[:60]!r} holds no word to look for")
    return names


def _anywhere(words: str, analyzer: Any, fields: Sequence[str]) -> Any:
    """Return the query for words that stand side by side in one of the fields."""
    builder = java_class("org.apache.lucene.util.QueryBuilder")(analyzer)
    queries = [builder.createPhraseQuery(field, words) for field in fields]
    if None in queries:
        raise QueryError(
            f'"{words[:60]}" holds only words that the analyzer leaves out, so there is nothing to look for',
            remedy="take the quotes or the minus away",
        )
    either = _builder()
    for query in queries:
        either.add(query, _occur().SHOULD)
    return either.build()


@exclusive
def without(unwanted: Sequence[Any]) -> Any:
    """Return the query for all passages but those that one of the ``unwanted`` queries finds."""
    both = _builder()
    both.add(java_class("org.apache.lucene.search.MatchAllDocsQuery")(), _occur().MUST)
    for query in unwanted:
        both.add(query, _occur().MUST_NOT)
    return both.build()


def _term(field: str, name: str) -> Any:
    term = java_class("org.apache.lucene.index.Term")(field, name)
    return java_class("org.apache.lucene.search.TermQuery")(term)


def _builder() -> Any:
    return java_class("org.apache.lucene.search.BooleanQuery$Builder")()


def _occur() -> Any:
    return java_class("org.apache.lucene.search.BooleanClause$Occur")
