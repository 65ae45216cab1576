"""A retriever component for Haystack: it returns the passages of an index as Haystack's
documents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.core.errors import ComponentError
from haystack.errors import FilterError
from haystack.utils import Secret

from ..core.errors import FactseekError, QueryError
from ..retrieval.search.evidence import Evidence
from ._choices import keyword_types, parse_choices
from ._source import errors_as, facts, open_source

LIBRARY = "haystack"
EXTRA = "haystack"
_EXPRESSED = ("k", "filter", "as_of", "since", "undated")


@component
class FactseekRetriever:
    """Retrieve the passages of an index, best first, each with docid, score, source, date, URL and
    highlights.

    ``index`` is a folder, or the address of a served index (``http://HOST:PORT/v1/NAME``). Filters
    are Haystack's: comparisons of ``meta.source``, ``meta.topic``, ``meta.language``,
    ``meta.kind``, ``meta.date``, and of the index's declared metadata fields. Raises FilterError
    for a filter that the index cannot express, ValueError for a wrong argument, ComponentError if a
    search fails.
    """

    def __init__(
        self,
        index: str,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        *,
        api_key: Secret | None = None,
        timeout: float = 30.0,
        **choices: Any,
    ) -> None:
        """Set up the component; the first search opens the index.

        ``choices`` are the other options of a search: ``retriever``, ``profile``, ``stages``,
        ``collapse``. Raises ValueError if ``index`` is a web address but not that of a served
        index, or if ``top_k`` is below 1; FilterError if the index cannot express ``filters``.
        """
        choices_of(filters)
        self.index, self.filters, self.top_k = index, filters, top_k
        self.api_key, self.timeout = api_key, timeout
        names = _own_names()
        if unknown := sorted(choices.keys() - set(names)):
            raise TypeError(f"FactseekRetriever has no argument {unknown[0]!r}")
        for name in names:
            setattr(self, name, choices.get(name))
        key = (api_key.resolve_value() if api_key else "") or ""
        with errors_as(ValueError):
            parse_choices(top_k, choices)
            self._source = open_source(index, api_key=key, timeout=timeout)

    def to_dict(self) -> dict[str, Any]:
        """Return the component for a saved pipeline; a key is saved as the name of its environment
        variable.
        """
        names = ("index", "filters", "top_k", *_own_names(), "timeout")
        api_key = self.api_key.to_dict() if self.api_key else None
        saved: dict[str, Any] = default_to_dict(
            self, **{name: getattr(self, name) for name in names}, api_key=api_key
        )
        return saved

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
        named = {name: getattr(self, name) for name in _own_names()}
        named |= choices_of(filters if filters is not None else self.filters)
        try:
            choices = parse_choices(top_k or self.top_k, named)
            (ranked,) = self._source.passages([query], choices)
        except QueryError as error:
            raise ValueError(error.line) from error
        except FactseekError as error:
            raise ComponentError(error.line) from error
        return {"documents": [_document(hit) for hit in ranked]}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Return the passages for a query as :meth:`run` does; the search runs in a thread."""
        documents: dict[str, list[Document]] = await asyncio.to_thread(
            self.run, query, filters, top_k
        )
        return documents


def _own_names() -> list[str]:
    """Return the options that Haystack's own arguments, ``top_k`` and ``filters``, do not
    express.
    """
    return [name for name in keyword_types() if name not in _EXPRESSED]


def choices_of(filters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the options that express Haystack's filters, by name.

    Raises FilterError if an index cannot express them: ``OR``, ``NOT``, ``!=``, ``not in``.
    """
    values: dict[str, list[str]] = {}
    bounds: dict[str, str] = {}
    for field, operator, value in _comparisons(filters or {}):
        if field == "date":
            name = {"<=": "as_of", ">=": "since"}.get(operator, "")
            if not name:
                how = "by '<=' or '>=' with a day, month or year"
                raise FilterError(f"meta.date is compared {how}, not {operator!r}")
            if name in bounds:
                raise FilterError(
                    f"meta.date is bounded twice by {operator!r}; give the stricter bound alone"
                )
            if not value:
                raise FilterError(f"meta.date {operator} is empty; give a day, month or year")
            bounds[name] = str(value)
        elif field in values:
            raise FilterError(f"meta.{field} is compared twice; use 'in' with all allowed values")
        elif operator not in ("==", "in"):
            raise FilterError(f"meta.{field} is compared by '==' or 'in', not {operator!r}")
        else:
            values[field] = list(value) if operator == "in" and isinstance(value, list) else [value]
            if not values[field] or not all(isinstance(each, str) for each in values[field]):
                remedy = "give one text with '==', or a list of texts with 'in'"
                raise FilterError(f"meta.{field}: {value!r} is not text; {remedy}")
    return {"filter": values, **bounds}


def _comparisons(filters: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    if not filters:
        return
    operator = str(filters.get("operator", ""))
    if "conditions" in filters:
        if operator != "AND":
            raise FilterError(f"operator {operator!r} is not supported; join conditions with 'AND'")
        for condition in filters["conditions"]:
            yield from _comparisons(condition)
        return
    missing = [name for name in ("field", "operator", "value") if name not in filters]
    if missing:
        raise FilterError(f"{missing[0]!r} is missing in the filter {dict(filters)!r}")
    yield (
        str(filters["field"]).removeprefix("meta.").removeprefix("metadata."),
        operator,
        filters["value"],
    )


def _document(hit: Evidence) -> Document:
    return Document(
        id=f"{hit.docid}#{hit.passage.number}",
        content=hit.passage.text,
        meta=facts(hit),
        score=hit.score,
    )


__all__ = ["EXTRA", "LIBRARY", "FactseekRetriever", "FilterError"]
