"""The tab Add: a text, a saved web page or an upload becomes a document, after a look at what was taken from it."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from flask import request, url_for

from ...retrieval.errors import QueryError
from ..contract.errors import BadInput, RefusedError
from ..contract.requests import DocumentRequest, RequestFields
from ..upkeep.service import Served, service
from ..writing.changing import ConditionError, change_to, perform, writable
from ..writing.extracting import docid_of, page_document, passages_of
from .shell import blueprint, chosen_indexes, file_of, page_of
from .state import IndexNames, Language, PageState, read_parameters

_FIELDS = ("title", "text", "url", "date", "source", "language", "topic")


class ForeignFormError(RefusedError):
    """A form of another site was sent with this browser's key."""

    status, slug = 403, "foreign-form"


class AddState(RequestFields):
    """What the form holds: a document, HTML of one, and what is to be done."""

    docid: str = ""
    title: str = ""
    text: str = ""
    html: str = ""
    url: str = ""
    date: str = ""
    source: str = ""
    language: str = ""
    topic: str = ""
    replace: Literal["", "yes"] = ""
    act: Literal["", "preview", "add"] = ""
    index: IndexNames = msgspec.field(default_factory=list)
    lang: Language = ""


@blueprint.route("/add", methods=["GET", "POST"])
def add_page() -> tuple[str, int]:
    """Show the form; what would be added; and, when it is added, where it is found."""
    asked, served = AddState(), None
    try:
        asked = read_parameters(request.values, AddState, AddState.__struct_fields__)
        served = chosen_indexes(PageState(index=asked.index[:1]))[0]
        if request.method == "POST":
            _from_here()
            return _page(asked, served, **_done(asked, writable(served.name)))
        return _page(asked, served)
    except (QueryError, RefusedError) as error:
        served = served or chosen_indexes(PageState())[0]
        reason = error.unnamed if isinstance(error, BadInput) else error.line
        shown = {"preview": _preview(asked)} if asked.act == "add" and asked.text else {}
        return _page(asked, served, getattr(error, "status", 400), problem=reason, **shown)


def _done(asked: AddState, served: Served) -> dict[str, Any]:
    """Return what became of the form: a preview, or a document that is added."""
    _extract(asked, served)
    if not asked.text:
        raise BadInput("text", "there is nothing to add: paste a text, the HTML of a page, or choose a file")
    asked.docid = asked.docid or docid_of(asked.title, asked.url, asked.text)
    asked.source = asked.source or (urlsplit(asked.url).hostname or "" if "//" in asked.url else "")
    if asked.act == "add":
        _add(asked, served)
        return {"added": url_for("page.document_page", name=served.name, docid=asked.docid)}
    return {"preview": _preview(asked)}


def _preview(asked: AddState) -> list[str]:
    settings = service().config.passages
    return passages_of(asked.text, settings.words, settings.overlap_sentences)


def _extract(asked: AddState, served: Served) -> None:
    """Take title, text and the rest out of a file or of HTML; what was typed goes before what was found."""
    file = file_of("file")
    content = file.read() if file else asked.html.encode()
    if not content and not file:
        return
    name = (file.filename or "the file") if file else "the HTML"
    document = page_document(content, name, served.index.info.language)
    for field in _FIELDS:
        setattr(asked, field, getattr(asked, field) or getattr(document, field))
    asked.html = ""


def _add(asked: AddState, served: Served) -> None:
    fields = {name: getattr(asked, name) for name in _FIELDS}
    change = change_to(asked.docid, DocumentRequest(**fields), served.index.info.published)
    try:
        perform(served, msgspec.structs.replace(change, absent=not asked.replace))
    except ConditionError:
        reason = f"there is a document {asked.docid[:80]!r} already; call this one otherwise, or tick to replace it"
        raise BadInput("docid", reason) from None


def _from_here() -> None:
    """Raise ForeignFormError unless the form is this server's: a browser sends its key with any site's form."""
    site, origin = request.headers.get("Sec-Fetch-Site", ""), request.headers.get("Origin", "")
    if site in ("same-origin", "none") or (not site and origin and urlsplit(origin).netloc == request.host):
        return
    raise ForeignFormError("this form was not sent from this server's own page; open the page, and send it from there")


def _page(asked: AddState, served: Served, status: int = 200, **shown: Any) -> tuple[str, int]:
    settings = service().config.server
    return page_of(
        "add.html",
        PageState(index=asked.index, lang=asked.lang),
        status,
        asked=asked,
        served=served,
        may_write=settings.writes and bool(settings.keys),
        most=settings.max_body_bytes,
        **shown,
    )
