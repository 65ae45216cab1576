"""Texts of Alegre stored and deleted: changes of one document, which depend on what it was before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ...indexer.changes import Change
from ...retrieval.domain import Document
from ...retrieval.errors import NotFoundError
from ...retrieval.searcher import Searcher
from ..api.routes import document_state
from ..contract.errors import BadInput
from ..upkeep.service import index_named, service
from ..writing.changing import (
    ConditionError,
    NotWrittenError,
    delete_change,
    document_at,
    perform,
    put_change,
)
from ._alegre_texts import Context, StoredText

Removed = Literal["deleted", "updated"]
_TRIES = 4
"""Once, and thrice more while others change the text."""


def document_of(index: Searcher, docid: str, text: StoredText) -> Document:
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

    def put(index: Searcher, before: Document | None, states: tuple[str, ...]) -> Change:
        whole = text.after(StoredText.of(before)) if before is not None else text
        return put_change(document_of(index, docid, whole), states, absent=before is None)

    _changed(name, docid, put)


def remove(name: str, docid: str, context: Context) -> Removed:
    """Delete a text or, where it is stored under others as well, this context of it; return which of them was done.

    Raises NotFoundError if there is no such text, NotWrittenError.
    """
    removed: Removed = "deleted"
    service().refresh(name)  # another worker may have stored it a moment ago

    def take_away(index: Searcher, before: Document | None, states: tuple[str, ...]) -> Change:
        nonlocal removed
        if before is None:
            raise NotFoundError(f"there is no document {docid!r} in this index")
        text = StoredText.of(before)
        others = [other for other in text.contexts if other != context]
        removed = "updated" if context in text.contexts and others else "deleted"
        if removed == "deleted":
            return delete_change(docid, states)
        return put_change(document_of(index, docid, text._replace(contexts=others)), states)

    _changed(name, docid, take_away)
    return removed


def _changed(name: str, docid: str, change_of: Callable[[Searcher, Document | None, tuple[str, ...]], Change]) -> None:
    """Make the change that follows from a document as it is now, anew if it was changed meanwhile.

    Raises NotWrittenError if it always was.
    """
    for _ in range(_TRIES):
        served = index_named(name)
        before = _document(served.index, docid)
        states = () if before is None else (document_state(served.index, docid),)
        try:
            perform(served, change_of(served.index, before, states))
        except ConditionError:
            service().refresh(name)
        else:
            return
    raise NotWrittenError("others change this text at the same time; nothing was changed, ask again")


def _document(index: Searcher, docid: str) -> Document | None:
    try:
        return index.document(docid)
    except NotFoundError:
        return None
