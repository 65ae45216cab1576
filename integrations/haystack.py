"""A retriever component for Haystack: the passages of an index as its documents."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.core.errors import ComponentError
from haystack.errors import FilterError
from haystack.utils import Secret

from ..retrieval.errors import FactseekError, QueryError
from ._haystack_filters import choices_of
from ._records import RankedPassage, SearchChoices, chosen
from ._source import open_source

LIBRARY = "haystack"
EXTRA = "haystack"


@component
class FactseekRetriever:
    """Retrieve the passages of an index, best first, each with docid, score, source, date, URL and highlights.

    ``index`` is a folder, or the address of a served index (``http://HOST:PORT/v1/NAME``). Filters are Haystack's:
    comparisons of ``meta.source``, ``meta.topic``, ``meta.language``, ``meta.kind``, ``meta.date``, and of the index's
    declared metadata fields. Raises FilterError for a filter that the index cannot express, ValueError for a wrong
    argument, ComponentError if a search fails.
    """

    def __init__(
        self,
        index: str,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        *,
        retriever: str | None = None,
        profile: str | None = None,
        stages: list[str] | None = None,
        collapse: str | None = None,
        api_key: Secret | None = None,
        timeout: float = 30.0,
    ) -> None:
        """Find the index; it is opened at the first search.

        Raises ValueError if ``index`` is a web address but not one of a served index, or if ``top_k`` is below 1.
        Raises FilterError if the index cannot express ``filters``.
        """
        choices_of(filters)
        self.index = index
        self.filters = filters
        self.top_k = top_k
        self.retriever = retriever
        self.profile = profile
        self.stages = stages
        self.collapse = collapse
        self.api_key = api_key
        self.timeout = timeout
        key = (api_key.resolve_value() if api_key else "") or ""
        try:
            chosen(top_k, {})
            self._source = open_source(index, api_key=key, timeout=timeout)
        except FactseekError as error:
            raise ValueError(error.line) from error

    def to_dict(self) -> dict[str, Any]:
        """Return the component for a saved pipeline; a key is saved as the name of its environment variable."""
        component_as_dict: dict[str, Any] = default_to_dict(
            self,
            index=self.index,
            filters=self.filters,
            top_k=self.top_k,
            retriever=self.retriever,
            profile=self.profile,
            stages=self.stages,
            collapse=self.collapse,
            api_key=self.api_key.to_dict() if self.api_key else None,
            timeout=self.timeout,
        )
        return component_as_dict

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> FactseekRetriever:
        """Return the component of a saved pipeline."""
        restored: FactseekRetriever = default_from_dict(cls, data)
        return restored

    def close(self) -> None:
        """Close the index; the next search opens its newest state."""
        self._source.close()

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Return the passages for a query; ``filters`` and ``top_k`` replace the component's own.

        Raises FilterError, ValueError or ComponentError, as the class describes.
        """
        if top_k is not None and top_k < 0:
            raise ValueError(f"top_k must be greater than or equal to 0, but got {top_k}")
        if top_k == 0:
            return {"documents": []}
        asked = self._choices(filters if filters is not None else self.filters, top_k or self.top_k)
        try:
            (ranked,) = self._source.passages([query], asked)
        except QueryError as error:
            raise ValueError(error.line) from error
        except FactseekError as error:
            raise ComponentError(error.line) from error
        return {"documents": [_document(hit) for hit in ranked]}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Return the passages for a query; the search runs in a thread.

        Raises what :meth:`run` raises.
        """
        documents: dict[str, list[Document]] = await asyncio.to_thread(self.run, query, filters, top_k)
        return documents

    def _choices(self, filters: Mapping[str, Any] | None, top_k: int) -> SearchChoices:
        return choices_of(filters)._replace(
            k=top_k, retriever=self.retriever, profile=self.profile, stages=self.stages, collapse=self.collapse
        )


def _document(hit: RankedPassage) -> Document:
    return Document(id=f"{hit.docid}#{hit.passage.number}", content=hit.passage.text, meta=hit.facts(), score=hit.score)


__all__ = ["EXTRA", "LIBRARY", "FactseekRetriever", "FilterError"]
