"""The pages that edit and delete a document, and undo either."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from flask import redirect, request, url_for
from msgspec import Meta
from werkzeug.wrappers import Response

from ...core.domain import Document
from ...core.errors import NotFoundError, QueryError
from ...indexer.collections.jsonl import unread_date
from ...indexer.queue import Change
from ..api.routes import document_state
from ..auth import key_name
from ..call import current_call
from ..errors import BadInput, RefusedError
from ..memory import charged_document
from ..permissions import writable
from ..runtime import ServedIndex, index_named
from ..schemas import DocumentRequest, RequestFields
from ..writing import ConditionError, DroppedError, document_at, perform, put_change
from .cards import title_of
from .forms import FIELDS, check_sent_from_page
from .layout import blueprint, page_of, reason_of
from .state import IndexNames, Language, PageState, read_parameters

StateId = Annotated[str, Meta(pattern="^[0-9a-f]{0,32}$")]
"""The id of a document's state, which its ETag contains too."""


class EditState(RequestFields):
    """The content of the form: the fields of a document, and the state that the user has seen."""

    title: str = ""
    text: str = ""
    url: str = ""
    date: str = ""
    source: str = ""
    language: str = ""
    topic: str = ""
    state: StateId = ""
    act: Literal["", "save"] = ""
    index: IndexNames = msgspec.field(default_factory=list)
    lang: Language = ""


class DeleteState(RequestFields):
    """The state of the document that the user has seen."""

    state: StateId = ""
    index: IndexNames = msgspec.field(default_factory=list)
    lang: Language = ""


class UndoState(RequestFields):
    """The state to restore, and the state of the document since the change, ``""`` if it was
    deleted.
    """

    restore: StateId = ""
    state: StateId = ""
    index: IndexNames = msgspec.field(default_factory=list)
    lang: Language = ""


@blueprint.route("/edit/<name>/<docid:docid>", methods=["GET", "POST"])
def edit_page(name: str, docid: str) -> tuple[str, int]:
    """Show the form with a document, and save the document if the form was sent."""
    served = _changeable(name)
    form, shown, status = EditState(), dict[str, Any](), 200
    document, state = _stored(served, docid)
    try:
        form = read_parameters(request.values, EditState)
        if request.method == "POST":
            saved = _save(served, document, form)
            shown = {"done": "edited", "restore": form.state, **saved}
    except ConditionError:
        status = 409
        document, state = _stored(index_named(name), docid)
        shown["problem"] = (
            "this document was changed while you edited it; what it says now is below, and if you "
            "save again, your version replaces it"
        )
    except (QueryError, RefusedError) as error:
        status, shown["problem"] = getattr(error, "status", 400), reason_of(error)
    if not form.act:
        form = EditState(**{field: getattr(document, field) for field in FIELDS}, lang=form.lang)
    form.state = state
    return _page(served, document, form.lang, status, form=form, **shown)


def _save(served: ServedIndex, document: Document, form: EditState) -> dict[str, Any]:
    """Replace a document by the form's content, and return what the page shows of it."""
    fields = {field: getattr(form, field) for field in FIELDS}
    # Browsers send every line end of a form as two characters.
    fields["text"] = fields["text"].replace("\r\n", "\n")
    sent = DocumentRequest(**fields, metadata=dict(document.metadata))
    new = document_at(document.docid, sent, served.index.info.published)
    if unread_date(new) and form.date != document.date:
        raise BadInput(
            "date", f"{form.date[:40]!r} is not a date; write it as 2020-03-01, 2020-03 or 2020"
        )
    kind = served.index.addition(document.docid).kind
    result = perform(served, put_change(new, (form.state,), kind=kind))
    now = index_named(served.name)
    return {"result": result, "state_now": document_state(now.index, document.docid)}


@blueprint.route("/delete/<name>/<docid:docid>", methods=["GET", "POST"])
def delete_page(name: str, docid: str) -> tuple[str, int]:
    """Show a document, and delete it if the form was sent."""
    served = _changeable(name)
    form, shown, status = DeleteState(), dict[str, Any](), 200
    document, state = _stored(served, docid)
    try:
        form = read_parameters(request.values, DeleteState)
        if request.method == "POST":
            perform(served, Change(docid=docid, states=(form.state,), by=key_name()))
            shown = {"done": "deleted", "restore": form.state, "state_now": ""}
    except ConditionError:
        status = 409
        document, state = _stored(index_named(name), docid)
        shown["problem"] = (
            "this document was changed since you opened this page; read what it says now before "
            "you delete it"
        )
    except (QueryError, RefusedError) as error:
        status, shown["problem"] = getattr(error, "status", 400), reason_of(error)
    return _page(served, document, form.lang, status, state=state, deleting=True, **shown)


@blueprint.route("/undo/<name>/<docid:docid>", methods=["GET", "POST"])
def undo_page(name: str, docid: str) -> tuple[str, int] | Response:
    """Bring the version of a document back that was edited or deleted; without the form, show the
    document.
    """
    if request.method != "POST":
        return redirect(url_for("page.document_page", name=name, docid=docid), 303)
    served = _changeable(name)
    form, status, shown = UndoState(), 200, dict[str, Any]()
    try:
        form = read_parameters(request.values, UndoState)
        if not form.restore:
            raise BadInput("restore", "is missing; open the document, and try again")
        states = (form.state,) if form.state else ()
        change = Change(
            docid=docid,
            restore=form.restore,
            states=states,
            absent=not states,
            by=key_name(),
        )
        perform(served, change)
    except ConditionError:
        status, shown["problem"] = 409, "this document was changed meanwhile; nothing was undone"
    except DroppedError:
        status = 409
        shown["problem"] = (
            "the earlier version is not in the index any more, because the index was compacted "
            "meanwhile; nothing was undone"
        )
    except (QueryError, RefusedError) as error:
        status, shown["problem"] = getattr(error, "status", 400), reason_of(error)
    try:
        document, _ = _stored(index_named(name), docid)
    except NotFoundError:
        document = None
    shown = shown or {"done": "undone"}
    return _page(served, document, form.lang, status, docid=docid, **shown)


def _changeable(name: str) -> ServedIndex:
    """Return an index that the caller may change; raise RefusedError if not, or if another site
    sent the form.
    """
    served = writable(name)
    if request.method == "POST":
        check_sent_from_page()
    return served


def _stored(served: ServedIndex, docid: str) -> tuple[Document, str]:
    """Return a document with the id of its state. Raises NotFoundError."""
    document = charged_document(current_call().memory, served.index, docid)
    return document, document_state(served.index, docid)


def _page(
    served: ServedIndex, document: Document | None, lang: str, status: int, **shown: Any
) -> tuple[str, int]:
    shown.setdefault("docid", document.docid if document else "")
    docid = shown["docid"]
    title = title_of(document.title, document.text, docid) if document else docid
    address = url_for("page.document_page", name=served.name, docid=docid, lang=lang or None)
    state = PageState(index=[served.name], lang=lang)
    return page_of(
        "change.html",
        state,
        status,
        served=served,
        document=document,
        title=title,
        address=address,
        **{"state_id": shown.pop("state", ""), **shown},
    )
