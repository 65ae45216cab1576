"""Lucene's indexes: write the index of one segment, and search several as one.

A call from Python into Java is expensive. So one call adds some hundred passages, and a search is
one call that returns one string for any number of hits.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from ...core.caching import cache_method
from ...core.domain import Filter
from ...core.errors import ClosedError, IndexStateError, MachineError, QueryError
from ...core.folding import fold
from ..config import BM25Settings
from ..filters import FIELDS, METADATA, days_of, title_choices, token
from ..search.collection_statistics import CollectionStatistics, FieldStatistics, Term, TermCount
from ..search.cut import Rows, order_ties
from ..search.prepared_query import PreparedQuery
from ..store.integrity import REMEDY
from .analysis import (
    Analysis,
    analysable,
    analysable_form,
    excluded_forms,
    open_analyzer,
    parts_in,
    parts_in_form,
    query_spellings,
    spellings_in_folded,
    terms_of,
)
from .jvm import call_java, java, java_text, pack, unpack

Fields = Literal["flat", "title_text"]
Ranked = tuple[list[float], list[int]]  # Scores and rows, best first
FLAT, TITLE, TEXT, PARTS, FILTERS = "contents", "title", "text", "parts", "filters"
# The limits of one call that adds passages in Java.
_PASSAGES_AT_ONCE, _CHARACTERS_AT_ONCE = 256, 1 << 20
_TOKENS_AT_ONCE = 100_000  # the number of filter tokens to read from Lucene at a time
_MANY_TIES = "\1"
_LIGHT = " \2 "  # the words of a query after it weigh less
_RANKED_UP_TO = 50_000  # passages of an index in which Java itself orders equal scores
_UNRANKED_SEARCHES = 8  # the searches before it does
_UNREADABLE = "cannot be read ({})", REMEDY
_Returned = TypeVar("_Returned")


def flat_text(title: str, text: str) -> str:
    """Return a passage as indexed in a single text field: title, newline and text."""
    return f"{title}\n{text}" if title else text


class PassageWriter:
    """Writes the Lucene index of one segment: passages in the order of their addition, in one leaf.

    It collects passages and adds some hundred at a time; Java threads add them while Python
    continues to read. Its methods raise MachineError if the disk is full, but perhaps only when
    later passages are added.
    """

    def __init__(
        self,
        folder: Path,
        analysis: Analysis,
        fields: Fields,
        buffer_mb: int = 128,
        *,
        phrases: bool = False,
        parts: bool = False,
    ) -> None:
        """Open the index for writing; ``phrases`` adds the positions of words, ``parts`` the parts
        of joined words.
        """
        self._folder, self._analysis, self._is_flat, self._parts = (
            folder,
            analysis,
            fields == "flat",
            parts,
        )
        names = pack((*_names(fields), PARTS, FILTERS))
        place = _java_path(folder)
        opened = open_analyzer(analysis.analyzer)
        self._writer = self._call_java(
            lambda: java("PassageWriter").open(place, opened, names, buffer_mb, phrases)
        )
        self._gathered: list[str] = []
        self._size = 0
        self._ended = False

    def add_passage(self, title: str, text: str, filters: str) -> None:
        """Add the next passage; ``filters`` is the string of
        :func:`factseek.retrieval.filters.tokens`.
        """
        analysis, whole = self._analysis, flat_text(title, text)
        folded = fold(whole)
        form = analysable_form(analysis, folded)
        fields = [form] if self._is_flat else [analysable(analysis, each) for each in (title, text)]
        parts = parts_in_form(analysis, form, whole, numbers=True) if self._parts else ""
        spellings = spellings_in_folded(analysis, folded)
        self._gathered += (*fields, f"{parts} {spellings}" if spellings else parts, filters)
        self._size += len(title) + len(text)
        if len(self._gathered) >= 4 * _PASSAGES_AT_ONCE or self._size >= _CHARACTERS_AT_ONCE:
            self._hand_over()

    def end(self) -> None:
        """Start the last work in the background: merge the passages into one leaf, make it durable,
        close the index.
        """
        if not self._ended:
            self._hand_over()
            self._call_java(partial(java("PassageWriter").end, self._writer))
            self._ended = True

    def finish(self) -> None:
        """Wait until the work that :meth:`end` started is done."""
        self.end()
        self._call_java(partial(java("PassageWriter").finish, self._writer))

    def abandon(self) -> None:
        """Close without keeping anything; a writer that has failed is already closed."""
        with suppress(MachineError):
            self._call_java(partial(java("PassageWriter").abandon, self._writer))

    def _hand_over(self) -> None:
        if self._gathered:
            passages, self._gathered, self._size = pack(self._gathered), [], 0
            self._call_java(lambda: java("PassageWriter").add(self._writer, passages))

    def _call_java(self, call: Callable[[], _Returned]) -> _Returned:
        return call_java(call, self._folder, MachineError, "cannot be written ({})")


class PassageSearcher:
    """Searches the Lucene indexes of several segments as one, with global statistics.

    Rows number the passages of all segments in order. It is safe for threads, which search in
    parallel. Its methods raise IndexStateError if the index is damaged, ClosedError if it is
    closed.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        analysis: Analysis,
        fields: Fields,
        deleted: Sequence[int] = (),
        *,
        parts: bool = False,
    ) -> None:
        """Open the indexes in ``folders``; ``deleted`` lists the rows of deleted passages.

        ``parts`` says that the indexes have the parts of joined words.
        """
        self._parts = parts
        self._place = os.path.commonpath(folders) if folders else ""
        self._fields = _names(fields)
        # A document's id in Lucene includes its segment's name, which is the name of the parent
        # folder.
        self._segments = tuple(folder.parent.name for folder in folders)
        self._analysis = analysis
        self._readers: list[int] = []
        self._closed = False
        try:
            for folder in folders:
                self._readers.append(_open_reader(folder))
        except BaseException:
            self._close_readers()
            raise
        self._java = java("PassageSearcher")
        self.segment_rows: list[int] = [self._java.rows(reader) for reader in self._readers]
        """The number of passages of each segment."""
        self.rows = sum(self.segment_rows)
        self._searcher: int = self._java.open(
            self._readers,
            open_analyzer(analysis.analyzer),
            pack(self._fields),
            np.asarray(deleted, dtype="<i4").tobytes(),
        )
        self._clauses = cache_method(256, self._packed_clauses)
        self._ranked, self._searches = False, 0
        self._ranking = threading.Lock()

    def search(
        self,
        query: PreparedQuery,
        n: int,
        where: Filter | None = None,
        weights: BM25Settings = BM25Settings(),  # noqa: B008  it is immutable
        *,
        seconds: float | None = None,
        rows: Rows | None = None,
    ) -> Ranked | None:
        """Return scores and rows of the ``n`` best passages by score descending, then row
        ascending.

        Scores are float32 values. ``rows`` maps rows to docids. If it is given, passages with equal
        scores are in the total order of :mod:`factseek.core.order`. This order also decides which
        of them are among the ``n`` best. Return None if the search takes longer than ``seconds``.
        """
        milliseconds = -1 if seconds is None else max(0, int(seconds * 1000))
        arguments = (
            *self._java_texts(query),
            _packed_terms(query.terms) if query.terms else b"",
            n,
            *astuple(weights),
            self._clauses(where),
            _packed_statistics(query.statistics) if query.statistics else b"",
            milliseconds,
        )
        search: Callable[[bool], str | None] = partial(
            self._java.search, self._searcher, *arguments
        )
        if rows is not None and not self._ranked and self.rows <= _RANKED_UP_TO:
            self._searches += 1
            if self._searches > _UNRANKED_SEARCHES:
                self._rank(rows)
        ranked = rows is not None and self._ranked
        packed = self._call_java(partial(search, ranked))
        if packed is not None and rows is not None and not ranked and packed[0] == _MANY_TIES:
            self._rank(rows)
            packed, ranked = self._call_java(partial(search, True)), True
        if packed is None:
            return None
        content = packed.encode("latin-1")
        size = (len(content) - 4) // 12
        places: list[int] = np.frombuffer(content, "<i4", size, 4).tolist()
        scores: list[float] = np.frombuffer(content, "<f8", size, 4 + 4 * size).tolist()
        if rows is not None and not ranked:
            order_ties(scores, places, rows)
        return scores[:n], places[:n]

    def _rank(self, rows: Rows) -> None:
        """Send Java the docids, once, to order equal scores; sorting a million docids takes a
        second or two.
        """
        with self._ranking:
            if not self._ranked:
                docids, order = list(rows.docids), list(range(self.rows))
                if rows.split:
                    order.sort(key=rows.numbers.__getitem__)
                order.sort(key=docids.__getitem__, reverse=True)
                packed = np.array(order, dtype="<i4").tobytes()
                self._call_java(lambda: self._java.rank(self._searcher, packed))
                self._ranked = True

    def matching(self, where: Filter) -> NDArray[np.bool_]:
        """Return a mask of the passages that pass a filter and are not deleted.

        Raises QueryError if a phrase, an excluded phrase or a title of the filter contains no
        searchable word.
        """
        clauses = self._clauses(where)
        return self._mask(lambda: self._java.passing(self._searcher, clauses))

    def having_words(self, query: PreparedQuery) -> NDArray[np.bool_]:
        """Return a mask of the passages that contain a word or weighted term of the query,
        including deleted ones.
        """
        return self._mask(
            lambda: self._java.holding(
                self._searcher,
                *self._java_texts(query),
                _packed_terms(query.terms) if query.terms else b"",
            )
        )

    def _java_texts(self, query: PreparedQuery) -> tuple[str, str]:
        text = java_text(analysable(self._analysis, self._with_light_words(query)))
        parts = parts_in(self._analysis, query.text, numbers=self._parts)
        return text, java_text(f"{parts} {query_spellings(self._analysis, query.text)}")

    def _with_light_words(self, query: PreparedQuery) -> str:
        """Return the text of a query in which the words of a hashtag weigh less than the hashtag,
        if a passage contains the hashtag as one word.
        """
        text, light = query.text, list[str]()
        for whole, words in query.hashtags:
            if self._contains(query, whole):
                both = rf"(?<!\S){re.escape(f'{whole} {words}')}(?!\S)"
                text = re.sub(both, whole, text)
                light.append(words)
        return f"{text}{_LIGHT}{' '.join(light)}" if light else query.text

    def _contains(self, query: PreparedQuery, word: str) -> bool:
        terms = [
            (field, term)
            for term in sorted(set(terms_of(self._analysis, [word])[0]))
            for field in self._fields
        ]
        known = query.statistics.terms if query.statistics else None
        counts = self.term_counts(terms) if known is None else [known.get(each) for each in terms]
        return any(count is not None and count.passages for count in counts)

    def _mask(self, call: Callable[[], str]) -> NDArray[np.bool_]:
        bits = np.frombuffer(self._call_java(call).encode("latin-1"), np.uint8)
        return np.unpackbits(bits, count=self.rows, bitorder="little").view(np.bool_)

    def holds(self, word: str) -> bool:
        """Return whether a passage, deleted or not, contains a term of a word."""
        return self._contains(PreparedQuery(word), word)

    def term_weights(
        self, query: PreparedQuery, rows: Sequence[int], weights: BM25Settings
    ) -> list[dict[str, float]]:
        """Return, for each of these passages, the query terms that it contains, each with its part
        of the score.
        """
        arguments = (
            *self._java_texts(query),
            *astuple(weights),
            _packed_statistics(query.statistics) if query.statistics else b"",
            np.asarray(rows, dtype="<i4").tobytes(),
        )
        explained = unpack(self._call_java(lambda: self._java.weights(self._searcher, *arguments)))
        of_rows: list[dict[str, float]] = [{} for _ in rows]
        # A term in several fields appears several times.
        for at, term, weight in zip(explained[::3], explained[1::3], explained[2::3], strict=True):
            of_rows[int(at)][term] = of_rows[int(at)].get(term, 0.0) + float(weight)
        return of_rows

    def field_statistics(self) -> list[FieldStatistics]:
        """Return the statistics of the searched text fields; for a field that no passage has, they
        are 0.
        """
        numbers = _numbers(self._call_java(lambda: self._java.fieldStatistics(self._searcher)), 3)
        return sorted(
            FieldStatistics(name, self.rows, *of)
            for name, of in zip(self._fields, numbers, strict=True)
        )

    def term_counts(self, terms: Sequence[Term]) -> list[TermCount]:
        """Return, for each term, the number of passages that contain it and the number of its
        occurrences.
        """
        pairs = pack([text for term in terms for text in term])
        counts = _numbers(self._call_java(lambda: self._java.termCounts(self._searcher, pairs)), 2)
        return [TermCount(*of) for of in counts]

    def close(self) -> None:
        """Close the readers; a search that still runs raises ClosedError."""
        self._closed = True
        java("Handles").close(self._searcher)
        self._close_readers()

    def _close_readers(self) -> None:
        for reader in self._readers:
            java("Handles").close(reader)
        self._readers.clear()

    def _packed_clauses(self, where: Filter | None) -> bytes:
        """Return the conditions that a passage must meet, in the format of Java's
        ``restricted``.
        """
        if where is None:
            return b""
        clauses: list[str] = []
        if where.excluded:  # first, because Java does not cache such a filter
            ids = [
                token("id", f"{segment}:{docid}")
                for segment in self._segments
                for docid in where.excluded
            ]
            clauses += ("none", str(len(ids)), *ids)
        for name, admitted in where.values():
            field = name if name in FIELDS else f"{METADATA}.{name}"
            clauses += ("any", str(len(admitted)), *(token(field, value) for value in admitted))
        if where.as_of or where.since:
            first, last = days_of(where.since, where.as_of)
            days = token("date", first or "0"), token("date", last or "9999-12-31")
            clauses += ("between", *days, token("date", "") if where.undated else "")
        for kind, words in [("phrase", each) for each in where.phrases] + [
            ("without", each) for each in where.without
        ]:
            if not terms_of(self._analysis, [words])[0]:
                what = (
                    f'"{words[:60]}" contains only words that the analyzer drops, so it '
                    "matches nothing"
                )
                raise QueryError(what, remedy="remove the quotes or the minus")
            forms = excluded_forms(self._analysis, words)
            for form in forms if kind == "without" else forms[:1]:
                clauses += (kind, form)
        for words in where.title:
            choices = title_choices(words, self._analysis)
            if not choices:
                raise QueryError(f"title:{words[:60]!r} contains no searchable word")
            clauses += [part for names in choices for part in ("any", str(len(names)), *names)]
        return pack(clauses)

    def _call_java(self, call: Callable[[], _Returned]) -> _Returned:
        try:
            return call_java(call, self._place, IndexStateError, *_UNREADABLE)
        except IndexStateError:
            if self._closed:
                raise ClosedError(place=self._place) from None
            raise


def passage_ids(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the id token and the row of every passage of a segment's Lucene index, in the order of
    the tokens.
    """
    reader, prefix = _open_reader(folder), token("id", "")
    start = prefix
    try:
        while True:
            read = partial(java("PassageSearcher").filterTokens, reader, start, _TOKENS_AT_ONCE)
            found = unpack(call_java(read, folder, IndexStateError, "cannot be read ({})"))
            for name, row in zip(found[::2], found[1::2], strict=True):
                if not name.startswith(prefix):
                    return
                yield name, int(row)
            if not found:
                return
            start = f"{found[-2]}\0"
    finally:
        java("Handles").close(reader)


def _names(fields: Fields) -> tuple[str, ...]:
    return (FLAT,) if fields == "flat" else (TITLE, TEXT)


def _open_reader(folder: Path) -> int:
    path = _java_path(folder)
    reader: int = call_java(
        lambda: java("PassageSearcher").openReader(path), folder, IndexStateError, *_UNREADABLE
    )
    return reader


def _java_path(folder: Path) -> str:
    """Return the absolute path of a folder: Java keeps its initial working folder, even if Python
    changes its own.
    """
    if os.fsencode(folder).decode("utf-8", "replace") != str(folder):
        raise MachineError(
            "a name in this path is not UTF-8 text", place=folder, remedy="rename it"
        )
    return str(folder.absolute())


def _packed_statistics(statistics: CollectionStatistics) -> bytes:
    """Return the statistics of a whole collection in the format of Java's
    ``CollectionSearcher``.
    """
    terms = [text for term, count in statistics.terms.items() for text in (*term, *count)]
    return pack(
        list(map(str, [len(statistics.fields), *chain.from_iterable(statistics.fields), *terms]))
    )


def _packed_terms(terms: Sequence[tuple[str, float]]) -> bytes:
    """Return weighted terms in the format of Java's ``counts``."""
    return pack([text for term, weight in terms for text in (term, repr(weight))])


def _numbers(packed: str, columns: int) -> list[list[int]]:
    numbers: list[list[int]] = (
        np.frombuffer(packed.encode("latin-1"), "<i8").reshape(-1, columns).tolist()
    )
    return numbers
