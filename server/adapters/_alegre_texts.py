"""Alegre's texts as documents of an index: what is stored of one, and which of them a context admits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...retrieval.domain import Document
from ...retrieval.filters import metadata_values
from ..contract.requests import DocumentRequest

Context = dict[str, Any]

CONTEXTS, CREATED = "contexts", "created_at"
_OWN = frozenset({CONTEXTS, CREATED})
_OF_ONE_ITEM = frozenset({"project_media_id", "has_custom_id", "field"})
"""Words of a context that name the item that was stored, and that Alegre does not search by."""


class StoredText(NamedTuple):
    """A text with what belongs to it."""

    text: str
    contexts: list[Context]
    created_at: str
    language: str

    @staticmethod
    def of(document: Document) -> StoredText:
        """Return the text of a document; one that came otherwise than through Alegre has no context."""
        known = document.metadata
        contexts, created = known.get(CONTEXTS), known.get(CREATED)
        listed = contexts if isinstance(contexts, list) else []
        return StoredText(
            text=document.text,
            contexts=[context for context in listed if isinstance(context, dict)],
            created_at=created if isinstance(created, str) else "",
            language=document.language,
        )

    @property
    def context(self) -> Context:
        """The context that it was stored under last."""
        return self.contexts[0] if self.contexts else {}

    def after(self, before: StoredText) -> StoredText:
        """Return it with the contexts, and the language if it has none, that the text had before."""
        former = [context for context in before.contexts if context not in self.contexts]
        return self._replace(contexts=self.contexts + former, language=self.language or before.language)

    def request(self, declared: Iterable[str]) -> DocumentRequest:
        """Return the document that holds it; by ``declared`` fields of its contexts the index itself can filter."""
        metadata: dict[str, Any] = {CONTEXTS: self.contexts, CREATED: self.created_at}
        for name in frozenset(declared) - _OWN:
            if values := [value for context in self.contexts for value in metadata_values(context.get(name))]:
                metadata[name] = list(dict.fromkeys(values))
        return DocumentRequest(text=self.text, language=self.language, metadata=metadata)


def wanted(context: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the values that each word of a context admits, as texts; without the words that are not searched by."""
    return {name: _texts(value) for name, value in context.items() if name not in _OF_ONE_ITEM}


def declared_values(context: Mapping[str, Any], declared: Sequence[str]) -> dict[str, list[str]]:
    """Return the part of a context that the index itself can filter by."""
    values = {name: metadata_values(context[name]) for name in wanted(context) if name in declared}
    return {name: several for name, several in values.items() if several and name not in _OWN}


def is_admitted(contexts: Iterable[Context], values: Mapping[str, Sequence[str]]) -> bool:
    """Return whether one of these contexts has, of each word that is asked for, a value that is."""
    if not values:
        return True
    return any(
        all(not set(_texts(context.get(name))).isdisjoint(several) for name, several in values.items())
        for context in contexts
    )


def _texts(value: object) -> list[str]:
    several = value if isinstance(value, list) else [value]
    return [str(part) for part in several if part is not None]
