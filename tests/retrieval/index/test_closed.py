"""A closed index keeps nothing in memory, without waiting for the collector of circles."""

from __future__ import annotations

import gc
import shutil
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from factseek.retrieval.filters import parse_filter
from factseek.retrieval.search.index import Index, open_index
from factseek.retrieval.search.options import Search


@pytest.fixture
def copied(small: Index, tmp_path: Path) -> Path:
    """A copy of the index, whose files nothing else has mapped."""
    shutil.copytree(small.info.place, tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Collect no circles meanwhile."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def mapped(folder: Path) -> list[str]:
    return [line for line in Path("/proc/self/maps").read_text("utf-8").splitlines() if str(folder) in line]


@pytest.mark.usefixtures("uncollected")
def test_a_closed_index_has_no_file_mapped(copied: Path, small: Index) -> None:
    asked = Search(retriever="dense", k=3, where=parse_filter(["kind=jsonl"]))
    index = open_index(copied, encoders=lambda *_: small.encoder)
    before = index.search(["measles vaccine"], asked)
    index.facets("measles", {"kind": 3}, asked)
    index.count("measles", asked)
    assert mapped(copied)
    index.close()
    assert not mapped(copied)
    assert small.search(["measles vaccine"], asked) == before  # the encoder is of others too
    gone = weakref.ref(index)
    del index
    assert gone() is None
