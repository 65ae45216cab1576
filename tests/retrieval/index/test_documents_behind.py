"""A walk over documents that goes on behind one yields the rest of them, and reads no document
twice.
"""

from collections.abc import Iterator
from itertools import islice

import pytest

from factseek.core.domain import Document, Filter
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.snapshot import Snapshot

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
    opened = Snapshot(whole.info.place, CONFIG, lambda *_: encoder)
    yield opened
    opened.close()


@pytest.mark.parametrize("where", FILTERS, ids=str)
@pytest.mark.parametrize("at_once", [1, 5, 1000])
def test_the_pages_of_a_walk_are_the_walk(
    snapshot: Snapshot, where: Filter | None, at_once: int
) -> None:
    assert len(snapshot.segments) > 2
    assert list(walked(snapshot, where, at_once)) == list(snapshot.documents(where))


def walked(snapshot: Snapshot, where: Filter | None, at_once: int) -> Iterator[Document]:
    after = None
    while page := list(islice(snapshot.documents(where, after), at_once)):
        yield from page
        after = page[-1].docid
