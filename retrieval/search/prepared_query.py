"""A query in the form in which retrievers search for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from ..dense.vectors import Vectors
from ..sparse.impacts import SparseVector
from .collection_statistics import CollectionStatistics


class PreparedQuery(msgspec.Struct, frozen=True, eq=False):
    """A query to search for as it is: its text, and what else is known about it.

    A word retriever uses ``terms``, else the words of ``text``. A vector retriever uses the first
    of these that the query has: ``vectors``, ``vector``, the vectors of ``docid``, ``text``.

    It crosses processes: the shards of an index receive it.
    """

    text: str
    """The text after the profile, or the words of a document with the highest weights."""
    hashtags: tuple[tuple[str, str], ...] = ()
    """The hashtags of several words in the text: each whole, and as the words that follow it."""
    docid: str = ""
    """The document of the index that is the query; ``""`` if the query is a text."""
    vector: tuple[float, ...] | None = None
    """The caller's vector of the query; its norm may have any value except 0."""
    vector_view: str = ""
    """The view of vectors that ``vector`` is for; ``""`` means any."""
    terms: tuple[tuple[str, float], ...] = ()
    """Weighted terms of the index, which replace the words of the text; each weight is above 0."""
    statistics: CollectionStatistics | None = None
    """Statistics of the whole collection, which replace those of an index that has only a part."""
    vectors: Mapping[str, Vectors] = msgspec.field(default_factory=dict)
    """The encoded vectors by view; if there are any, they are those of all views to be read."""
    weighed_terms: Mapping[str, SparseVector] = msgspec.field(default_factory=dict)
    """The terms of sparse models by view, as the whole collection weighs them; they replace those
    of ``text``.
    """

    def has_vector_for(self, view: str) -> bool:
        """Return whether the vector of the query in a view is known without encoding its text."""
        if self.docid or view in self.vectors:
            return True
        return self.vector is not None and self.vector_view in ("", view)

    def __str__(self) -> str:
        """Return the text."""
        return self.text


AnyQuery: TypeAlias = str | PreparedQuery
"""A query as the user typed it, or one that is prepared already and is searched as it is."""
