"""The tab Add: a text, a saved web page or an upload becomes a document, after a look at what was taken from it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from flask import request, url_for

from ...indexer.collections import ReadOptions, webpages
from ...indexer.passages import split
from ...retrieval.domain import Document
from ...retrieval.errors import QueryError, SourceError
from ..errors import BadInput, RefusedError
from ..runtime import ServedIndex, registry
from ..schemas import DocumentRequest, RequestFields
from ..writing import ConditionError, change_to, perform, writable
from .layout import blueprint, chosen_indexes, file_of, page_of
from .state import IndexNames, Language, PageState, read_parameters

_UNFIT = re.compile(r"[\W_]+")
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


def _done(asked: AddState, served: ServedIndex) -> dict[str, Any]:
    """Return what became of the form: a preview, or a document that is added."""
    _extract(asked, served)
    if not asked.text:
        raise BadInput("text", "there is nothing to add: paste a text, the HTML of a page, or choose a file")
    asked.docid = asked.docid or _docid_of(asked.title, asked.url, asked.text)
    asked.source = asked.source or (urlsplit(asked.url).hostname or "" if "//" in asked.url else "")
    if asked.act == "add":
        _add(asked, served)
        return {"added": url_for("page.document_page", name=served.name, docid=asked.docid)}
    return {"preview": _preview(asked)}


def _preview(asked: AddState) -> list[str]:
    settings = registry().config.passages
    return [asked.text[span.start : span.end] for span in split(asked.text, settings.words, settings.overlap_sentences)]


def _extract(asked: AddState, served: ServedIndex) -> None:
    """Take title, text and the rest out of a file or of HTML; what was typed goes before what was found."""
    file = file_of("file")
    content = file.read() if file else asked.html.encode()
    if not content and not file:
        return
    name = (file.filename or "the file") if file else "the HTML"
    document = _page_document(content, name, served.index.info.language)
    for field in _FIELDS:
        setattr(asked, field, getattr(asked, field) or getattr(document, field))
    asked.html = ""


def _add(asked: AddState, served: ServedIndex) -> None:
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


def _page(asked: AddState, served: ServedIndex, status: int = 200, **shown: Any) -> tuple[str, int]:
    settings = registry().config.server
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


def _page_document(content: bytes, name: str, language: str) -> Document:
    """Return the main content of a web page, or of a text, as ``factseek index webpages`` reads a file of this name.

    Raises BadInput if it holds none.
    """
    if not content.strip():
        raise BadInput("file", f"{name[:80]} is empty")
    options = ReadOptions(language=language)
    with TemporaryDirectory(prefix="factseek-") as folder:
        suffix = ".txt" if name.lower().endswith(".txt") else ".html"
        path = Path(folder, f"page{suffix}")
        path.write_bytes(content)
        try:
            record = next(iter(webpages.read([path], options)), None)
        except SourceError as error:
            raise BadInput("file", f"{name[:80]} {error.what}") from None
    if record is None:
        reason = next((left.reason for left in options.left_out), "no main content")
        raise BadInput("file", f"{name[:80]} has {reason}; paste its text instead")
    return record.document._replace(docid="")


def _docid_of(title: str, url: str, text: str) -> str:
    """Return an id for a document that a person adds: words of its title, and a digest of its address or its text."""
    slug = _UNFIT.sub("-", (title or text)[:60]).strip("-").lower() or "document"
    return f"{slug}-{hashlib.sha256((url or text).encode('utf-8', 'replace')).hexdigest()[:8]}"
