"""An index as a dataset of ir_datasets: its documents, in order and by id, with queries and
judgements from files.

``register("mine", "indexes/mine")`` gives the index the name ``mine`` in this process, for every
library that uses ir_datasets, such as PyTerrier.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import ir_datasets
from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, GenericQrel, GenericQuery
from ir_datasets.indices import Docstore

from ..core.domain import Document
from ..core.errors import NotFoundError
from ..core.records.qrels import read_qrels
from ..core.text import refuse_text
from ..retrieval.search.index import open_index

if TYPE_CHECKING:
    from ..retrieval.search.index import Index

LIBRARY = "ir_datasets"
EXTRA = "ir-datasets"


class FactseekDoc(NamedTuple):
    """A document of an index in the form of ir_datasets; unknown fields are ``""``."""

    doc_id: str
    title: str
    text: str
    url: str
    date: str
    language: str
    source: str
    topic: str

    def default_text(self) -> str:
        """Return title and text, as the index holds them."""
        return f"{self.title}\n{self.text}" if self.title else self.text


class FactseekDocs(BaseDocs):
    """The documents of an open index."""

    def __init__(self, index: Index) -> None:
        """Take an open index; it must stay open as long as the dataset is used."""
        self._index = index

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Let a copy, also in another process, open the index again."""
        return _reopen_docs, (str(self._index.info.place.absolute()),)

    def docs_iter(self) -> _Documents:
        """Return the documents in the order of the index; a slice of them can be iterated and
        sliced again.
        """
        return _Documents(self._index, slice(0, self._index.info.documents, 1))

    def docs_store(self) -> FactseekDocstore:
        """Return the documents by id."""
        return FactseekDocstore(self._index)

    def docs_count(self) -> int:
        """Return the number of documents."""
        return self._index.info.documents

    def docs_cls(self) -> type[FactseekDoc]:
        """Return the type of a document."""
        return FactseekDoc

    def docs_namespace(self) -> str:
        """Return the namespace of the docids: the name of the index."""
        return f"factseek/{self._index.info.name}"

    def docs_lang(self) -> str:
        """Return the language of the index."""
        return self._index.info.language


class FactseekDocstore(Docstore):
    """The documents of an open index by id; unknown ids are left out."""

    def __init__(self, index: Index) -> None:
        """Take an open index."""
        super().__init__(FactseekDoc)
        self._index = index

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Let a copy, also in another process, open the index again."""
        return _reopen_docstore, (str(self._index.info.place.absolute()),)

    def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[FactseekDoc]:
        """Yield the documents with these ids."""
        refuse_text("doc_ids", doc_ids)
        for docid in doc_ids:
            try:
                yield _doc(self._index.document(docid))
            except NotFoundError:
                continue


class _Documents:
    """A range of the documents of an index: an iterator that can be sliced, as in ir_datasets."""

    def __init__(self, index: Index, stretch: slice) -> None:
        self._index = index
        self._stretch = stretch
        self._running: Iterator[Document] | None = None

    def __iter__(self) -> _Documents:
        return self

    def __next__(self) -> FactseekDoc:
        if self._running is None:
            places = self._stretch
            self._running = islice(self._index.documents(), places.start, places.stop, places.step)
        return _doc(next(self._running))

    def __getitem__(self, key: int | slice) -> Any:
        """Return the document at a position, or the documents of a slice.

        Raises IndexError if there is no such document.
        """
        if isinstance(key, slice):
            return _Documents(self._index, ir_datasets.util.apply_sub_slice(self._stretch, key))
        place = ir_datasets.util.slice_idx(self._stretch, key)
        for document in (
            _Documents(self._index, place) if place.start >= self._stretch.start else ()
        ):
            return document
        raise IndexError(key)


class _Queries(BaseQueries):
    def __init__(self, queries: Iterable[tuple[str, str]]) -> None:
        self._queries = [GenericQuery(qid, text) for qid, text in queries]

    def queries_iter(self) -> Iterator[GenericQuery]:
        return iter(self._queries)

    def queries_count(self) -> int:
        return len(self._queries)


class _Qrels(BaseQrels):
    def __init__(self, path: Path) -> None:
        self._path = path

    def qrels_iter(self) -> Iterator[GenericQrel]:
        for qid, judged in read_qrels(self._path).items():
            for docid, relevance in judged.items():
                yield GenericQrel(qid, docid, relevance)

    def qrels_path(self) -> str:
        return str(self._path)

    def qrels_defs(self) -> dict[int, str]:
        return {}


def dataset(
    index: str | Path | Index,
    *,
    queries: Iterable[tuple[str, str]] = (),
    qrels: str | Path | None = None,
) -> ir_datasets.Dataset:
    """Return a dataset of the documents of an index; ``index`` is its folder or the open index.

    ``queries`` are qids and texts, as ``factseek.read_queries`` reads them from a file; ``qrels``
    is a file of judgements. Raises IndexStateError if the folder contains no index.
    """
    docs = FactseekDocs(open_index(index) if isinstance(index, str | Path) else index)
    topics = list(queries)
    return ir_datasets.Dataset(
        docs, _Queries(topics) if topics else None, _Qrels(Path(qrels)) if qrels else None
    )


def register(
    name: str,
    index: str | Path | Index,
    *,
    queries: Iterable[tuple[str, str]] = (),
    qrels: str | Path | None = None,
) -> ir_datasets.Dataset:
    """Register an index with ir_datasets under a name, in this process; return the dataset.

    Raises what :func:`dataset` raises, and RuntimeError if the name is taken.
    """
    ir_datasets.registry.register(name, dataset(index, queries=queries, qrels=qrels))
    return ir_datasets.load(name)


def _reopen_docs(folder: str) -> FactseekDocs:
    return FactseekDocs(open_index(folder))


def _reopen_docstore(folder: str) -> FactseekDocstore:
    return FactseekDocstore(open_index(folder))


def _doc(document: Document) -> FactseekDoc:
    return FactseekDoc(
        document.docid, *(getattr(document, name) for name in FactseekDoc._fields[1:])
    )
