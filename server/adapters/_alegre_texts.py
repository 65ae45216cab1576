"""Alegre's texts as documents of an index: stored, deleted, and admitted by a context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ...indexer.changes import Change
from ...retrieval.domain import Document
from ...retrieval.errors import NotFoundError
from ...retrieval.filters import metadata_values
from ..api.routes import document_state
from ..contract.errors import BadInput
from ..contract.requests import DocumentRequest
from ..upkeep.service import index_named, service
from ..writing.changing import (
    ConditionError,
    NotWrittenError,
    delete_change,
    document_at,
    perform,
    put_change,
)

if TYPE_CHECKING:
    from ...retrieval.index.local import Index

Context = dict[str, Any]
Removed = Literal["deleted", "updated"]

CONTEXTS, CREATED = "contexts", "created_at"
_TRIES = 4
"""Once, and thrice more while others change the text."""
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


def _document_of(index: Index, docid: str, text: StoredText) -> Document:
    """Return the document of an index that holds a text.

    Raises BadInput, naming Alegre's own field, if it makes no sense.
    """
    try:
        return document_at(docid, text.request(index.info.filter_fields), index.info.published)
    except BadInput as error:
        raise BadInput("doc_id" if error.field == "docid" else "text", error.unnamed) from None


def store(name: str, docid: str, text: StoredText) -> None:
    """Store a text in the index of this name, in the place of the one of its id, whose contexts it takes over.

    Raises BadInput, NotWrittenError.
    """

    def put(index: Index, before: Document | None, states: tuple[str, ...]) -> Change:
        whole = text.after(StoredText.of(before)) if before is not None else text
        return put_change(_document_of(index, docid, whole), states, absent=before is None)

    _changed(name, docid, put)


def remove(name: str, docid: str, context: Context) -> Removed:
    """Delete a text or, where it is stored under others as well, this context of it; return which of them was done.

    Raises NotFoundError if there is no such text, NotWrittenError.
    """
    removed: Removed = "deleted"
    service().refresh(name)  # another worker may have stored it a moment ago

    def take_away(index: Index, before: Document | None, states: tuple[str, ...]) -> Change:
        nonlocal removed
        if before is None:
            raise NotFoundError(f"there is no document {docid!r} in this index")
        text = StoredText.of(before)
        others = [other for other in text.contexts if other != context]
        removed = "updated" if context in text.contexts and others else "deleted"
        if removed == "deleted":
            return delete_change(docid, states)
        return put_change(_document_of(index, docid, text._replace(contexts=others)), states)

    _changed(name, docid, take_away)
    return removed


def _changed(name: str, docid: str, change_of: Callable[[Index, Document | None, tuple[str, ...]], Change]) -> None:
    """Make the change that follows from a document as it is now, anew if it was changed meanwhile.

    Raises NotWrittenError if it always was.
    """
    for _ in range(_TRIES):
        served = index_named(name)
        try:
            before: Document | None = served.index.document(docid)
        except NotFoundError:
            before = None
        states = () if before is None else (document_state(served.index, docid),)
        try:
            perform(served, change_of(served.index, before, states))
        except ConditionError:
            service().refresh(name)
        else:
            return
    raise NotWrittenError("others change this text at the same time; nothing was changed, ask again")


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
