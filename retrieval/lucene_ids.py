"""The id tokens of passages in a Lucene index: read to verify an index, never to search it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import IndexStateError
from .filters import token
from .java import chars, exclusive, guarded, java_class
from .lucene import FILTERS

_NO_MORE_ROWS = 2**31 - 1  # Lucene's own sign for the end
_PREFIX = token("id", "")


@exclusive
def passage_ids(folder: Path) -> list[tuple[str, int]]:
    """Return the id token and the row of every passage of a segment's Lucene index, in the order of the tokens.

    Raises IndexStateError if the index cannot be read.
    """
    return guarded(lambda: list(_ids(folder)), folder, IndexStateError, "cannot be read ({})")


def _ids(folder: Path) -> Iterator[tuple[str, int]]:
    path = java_class("java.nio.file.Paths").get(str(folder.absolute()))
    directory = java_class("org.apache.lucene.store.FSDirectory").open(path)
    reader = java_class("org.apache.lucene.index.DirectoryReader").open(directory)
    try:
        for leaf in reader.leaves().toArray():
            terms = leaf.reader().terms(FILTERS)
            for name, postings in _terms(terms.iterator()) if terms is not None else ():
                while (row := int(postings.nextDoc())) != _NO_MORE_ROWS:
                    yield name, leaf.docBase + row
    finally:
        reader.close()


def _terms(each: Any) -> Iterator[tuple[str, Any]]:
    first = java_class("org.apache.lucene.util.BytesRef")(chars(_PREFIX))
    if each.seekCeil(first).toString() == "END":
        return
    term = each.term()
    while term is not None and (name := str(term.utf8ToString())).startswith(_PREFIX):
        yield name, each.postings(None, 0)
        term = each.next()
