"""A walk over documents that goes on behind one yields the rest of them, and reads no document twice."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from factseek.retrieval.domain import Document, Filter
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.snapshot import Snapshot
from factseek.retrieval.store.documents_file import DocumentsFile

from .conftest import CONFIG, Remembering

FILTERS = [
    None,
    Filter(topic=("T1", "T3")),
    Filter(as_of="2020-02-29"),
    Filter(metadata=(("author", ("Ada",)),)),
    Filter(excluded=("d1", "d8")),
    Filter(kind=("jsonl",)),
    Filter(kind=("csv",)),
]


@pytest.fixture
def snapshot(whole: Index, encoder: Remembering) -> Iterator[Snapshot]:
    """The state of an index of several segments, some of its documents deleted."""
    opened = Snapshot(whole.info.place, CONFIG, lambda *_: encoder)
    yield opened
    opened.close()


@pytest.mark.parametrize("where", FILTERS, ids=str)
@pytest.mark.parametrize("at_once", [1, 5, 1000])
def test_the_pages_of_a_walk_are_the_walk(snapshot: Snapshot, where: Filter | None, at_once: int) -> None:
    assert len(snapshot.segments) > 2
    assert list(walked(snapshot, where, at_once)) == list(snapshot.documents(where))


@pytest.mark.parametrize("where", FILTERS[:-1], ids=str)
def test_no_document_is_read_twice(snapshot: Snapshot, where: Filter | None, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    stream = DocumentsFile.stream

    def counted(file: DocumentsFile, *query: Any) -> Iterator[Any]:
        nonlocal read
        for row in stream(file, *query):
            read += 1
            yield row

    monkeypatch.setattr(DocumentsFile, "stream", counted)
    there = sum(segment.info.documents for segment in snapshot.segments)
    passing = len(list(walked(snapshot, where, at_once=1)))
    assert passing > 5
    assert read <= there


def walked(snapshot: Snapshot, where: Filter | None, at_once: int) -> Iterator[Document]:
    """Yield the documents in pages of so many, each behind the last document of the one before."""
    after = None
    while page := list(islice(snapshot.documents(where, after), at_once)):
        yield from page
        after = page[-1].docid
