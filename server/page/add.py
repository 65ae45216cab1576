"""The tab Add.

After a preview, a text, a saved page, an e-mail, a Word document or a PDF becomes one document, and
a table becomes several.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from time import monotonic, sleep
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from flask import request, url_for
from msgspec import Meta
from werkzeug.datastructures import FileStorage

from ...core.domain import Document
from ...core.errors import QueryError, SourceError
from ...core.records.table_shape import LOOKED_AT, shape_of_start
from ...indexer.collections import (
    ALL_SHEETS,
    ReadOptions,
    Record,
    claimreview,
    reader,
    webpages,
)
from ...indexer.collections._archives import SUFFIXES as ARCHIVES
from ...indexer.collections._documents import check_docid, next_field, other_language
from ...indexer.collections._formats import ENDINGS
from ...indexer.collections._kinds import kind_of_table
from ...indexer.collections._office import PDF, SHEETS
from ...indexer.collections._tables import is_table, start_of
from ...indexer.collections.jsonl import export_document, is_exported, unread_date
from ...indexer.passages import split
from ...indexer.queue import Job, Mode, Queue
from ...retrieval.filters import last_day
from ..auth import check_key
from ..call import current_call
from ..errors import BadInput, RefusedError
from ..permissions import folder_of, writable
from ..runtime import ServedIndex, registry
from ..schemas import DocumentRequest, RequestFields
from ..uploads import (
    ADDRESS,
    UploadTooLargeError,
    megabytes,
    most_of_documents,
    most_of_form,
    room_reported,
)
from ..writing import ConditionError, document_at, hand_over, perform, put_change
from .forms import FIELDS, check_sent_from_page
from .layout import blueprint, chosen_indexes, file_of, page_of, reason_of
from .state import IndexNames, Language, PageState, read_parameters

_TABLES = ("snippets", "claims", "claimreview", "webpages")
# Several documents, or pages.
_TEXTS = (PDF, *ENDINGS, *ARCHIVES)
_PAGES = (".html", ".htm", ".xhtml")
_SEVERAL = (".csv", ".tsv", ".json", ".jsonld", ".jsonl", ".ndjson", *SHEETS, *_TEXTS)
_CHOSEN = (*_PAGES, ".txt", *_SEVERAL, ".gz")
"""The endings of the files that the form offers."""
_LACKS_TEXTS = re.compile(
    r'has no "text"|has no column "text"|no column|has no tab|not name column'
)
_NAME_TEXTS = "name the column of the texts below, as in text=Finding"
_LOOK_EVERY = 0.1
_READ_AT_ONCE = 2
# How often the content of a file is in memory while it is read: as it is, and as documents.
_COPIES = 2
_UNSAFE, _LONGEST_NAME = re.compile(r"[^\w. -]"), 60
_UNFIT = re.compile(r"[\W_]+")
# Several documents take only the last two.
_OF_ONE = ("docid", "title", "url", "date", "source", "topic")


class AddState(RequestFields):
    """The content of the form: a document or the HTML of a page, the action, and the claim for
    other tabs.

    ``rows`` has the documents of a file as JSON, and ``kind`` is the kind of source that read them.
    ``column`` is a list such as ``text=Finding, date=When``.
    """

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
    claim: str = ""
    column: str = ""
    rows: str = ""
    kind: Annotated[str, Meta(max_length=64)] = ""
    act: Literal["", "preview", "add"] = ""
    index: IndexNames = msgspec.field(default_factory=list)
    lang: Language = ""


@blueprint.before_request
def _admit_file() -> None:
    """Let the form of this tab be as large as a file may be."""
    if request.endpoint == "page.add_page":
        most = most_of_form(registry().config.server)
        request.max_content_length = request.max_form_memory_size = most


@blueprint.route(ADDRESS, methods=["GET", "POST"])
def add_page() -> tuple[str, int]:
    """Show the form, then a preview and, after the document was added, a link to it."""
    form, served, status, shown = AddState(), None, 200, dict[str, Any]()
    settings = registry().config.server
    may_write = settings.writes and bool(settings.keys)
    if may_write:
        check_key()  # so that a browser asks for the key before the user types anything
    try:
        with room_reported():
            form = read_parameters(request.values, AddState)
            served = chosen_indexes(PageState(index=form.index[:1]))[0]
            if request.method == "POST":
                check_sent_from_page()
                shown = _handle_post(form, writable(served.name))
    except (QueryError, RefusedError) as error:
        served = served or chosen_indexes(PageState())[0]
        status, shown = getattr(error, "status", 400), {"problem": reason_of(error)}
        if form.act == "add" and form.text:
            shown["preview"] = _preview(form)
    return page_of(
        "add.html",
        PageState(index=form.index, lang=form.lang),
        status,
        form=form,
        served=served,
        may_write=may_write,
        most=megabytes(settings.max_upload_bytes),
        most_bytes=settings.max_upload_bytes,
        endings=",".join(_CHOSEN),
        **shown,
    )


def _handle_post(form: AddState, served: ServedIndex) -> dict[str, Any]:
    current_call().memory.spend(_COPIES * len(form.rows))
    if file := file_of("file"):
        _check_size(file)
        # gzip is read like no packing.
        name = (file.filename or "").lower().removesuffix(".gz")
        start = file.stream.read(LOOKED_AT)
        file.stream.seek(0)
        is_text_table = name.endswith(".txt") and is_table(start, shape_of_start(start))
        is_review = name.endswith(_PAGES) and claimreview.has_review(file.stream.read())
        file.stream.seek(0)
        if name.endswith(_SEVERAL) or is_text_table or is_review:
            documents, notes = _read_several(file, form, served)
            return {"documents": documents, "notes": notes}
    if form.rows:
        return {"job": _add_several(form, served)}
    _extract(form, served)
    if form.act != "add":
        return {"preview": _preview(form)}
    fields = {name: getattr(form, name) for name in FIELDS}
    document = document_at(form.docid, DocumentRequest(**fields), served.index.info.published)
    if unread_date(document):
        raise BadInput(
            "date", f"{form.date[:40]!r} is not a date; write it as 2020-03-01, 2020-03 or 2020"
        )
    try:
        # The preview has shown its passages, so it is divided into them.
        perform(served, put_change(document, absent=not form.replace, kind="webpages"))
    except ConditionError:
        reason = (
            f"there is already a document {form.docid[:80]!r}; choose another name, or tick "
            "the box to replace it"
        )
        raise BadInput("docid", reason) from None
    return {
        "added": url_for(
            "page.document_page", name=served.name, docid=form.docid, lang=form.lang or None
        )
    }


def _check_size(file: FileStorage) -> None:
    """Charge the memory to read a file; raise UploadTooLargeError, or NoMemoryError while other
    requests use the memory.
    """
    size = file.stream.seek(0, os.SEEK_END)
    file.stream.seek(0)
    most = registry().config.server.max_upload_bytes
    if size > most:
        raise UploadTooLargeError(most)
    current_call().memory.spend(_COPIES * size)


def _read_several(
    file: FileStorage, form: AddState, served: ServedIndex
) -> tuple[list[Document], list[str]]:
    """Return the documents of a file as ``factseek index`` reads it, and notes for the user.

    Store the documents in the form.
    """
    # Docids contain this name.
    name = _UNSAFE.sub("_", Path(file.filename or "").name)[-_LONGEST_NAME:]
    options = _options_of(form, served)
    with TemporaryDirectory(prefix="factseek-") as folder:
        path = Path(folder, name)
        file.save(path)
        try:
            form.kind = _kind_of(path, options)
            read = reader(form.kind).read
            with _turn():
                documents = _first_documents(read([path], options))
        except SourceError as error:
            # Other remedies are options of the command line.
            remedy = _NAME_TEXTS if _LACKS_TEXTS.search(error.what) else ""
            reason = SourceError(error.what, place=error.place, remedy=remedy).line
            raise BadInput("file", reason.removeprefix(f"{folder}/")) from None
    # What the user typed beside a file: all fields fit one document, only some fit several.
    if len(documents) == 1:
        documents = [
            documents[0]._replace(
                **{name: typed for name in _OF_ONE if (typed := getattr(form, name))}
            )
        ]
        if form.date and not last_day(form.date):
            raise BadInput(
                "date", f"{form.date[:40]!r} is not a date; write it as 2020-03-01, 2020-03 or 2020"
            )
        if form.docid and (fault := check_docid(form.docid)):
            raise BadInput("docid", fault)
    else:
        documents = [
            each._replace(source=each.source or form.source, topic=each.topic or form.topic)
            for each in documents
        ]
    unused = [
        name
        for name in ("text", *(() if len(documents) == 1 else _OF_ONE[:4]))
        if getattr(form, name)
    ]
    notes = [f"not used, because a file was chosen: {', '.join(unused)}"] if unused else []
    form.rows = f"[{','.join(map(export_document, documents))}]"
    if fault := _unfit(documents, form.rows):
        form.rows = ""
        raise BadInput("file", f"{name[:80]} {fault}")
    notes += [note.removeprefix(f"{folder}/").partition("; ")[0] for note in options.notes]
    for reason, count in options.skipped.items():
        first = next((left.place for left in options.left_out if left.reason == reason), name)
        notes.append(f"left out: {count} {reason}, the first at {first.removeprefix(f'{folder}/')}")
    dates = options.unread_dates
    if dates.count:
        notes.append(
            f"dates that are not understood: {dates.count}, such as "
            f"{dates.example.partition(' (')[0]}"
        )
    language = served.index.info.language
    if looks_like := other_language([document.text for document in documents[:20]], language):
        notes.append(f"the texts look like {looks_like}, but the index is for {language}")
    return documents, notes


def _first_documents(records: Iterator[Record]) -> list[Document]:
    """Return the documents of a file, no more than shows that they are too many for a form: a
    packed file may contain gigabytes.
    """
    settings = registry().config.server
    documents: list[Document] = []
    size = 0
    for record in records:
        documents.append(record.document)
        size += len(record.document.text)
        if len(documents) > settings.max_bulk or size > most_of_documents(settings):
            break
    return documents


def _options_of(form: AddState, served: ServedIndex) -> ReadOptions:
    """Return how to read a file: with the columns, the sheet and the header row that the user
    named.
    """
    options = ReadOptions(language=form.language or served.index.info.language)
    columns: dict[str, str] = {}
    for pair in filter(str.strip, form.column.split(",")):
        written, _, value = pair.rpartition("=")
        field, name = written.strip() or "text", value.strip()
        if field == "sheet":
            options.sheet = name
        elif field == "header-row":
            options.header_row = int(name) if name.isdecimal() else 0
        else:
            columns[next_field(field, columns)] = name
    options.columns = columns
    return options


def _unfit(documents: Sequence[Document], rows: str) -> str:
    """Return why these documents of a file cannot be added in a form, ``""`` if they can."""
    settings = registry().config.server
    remedy = "index it with factseek index KIND FILE --append --index DIR, which has no such limit"
    if not documents:
        return "contains nothing to add"
    if len(documents) > settings.max_bulk:
        return (
            f"has more than {settings.max_bulk:,} documents, the most of a form "
            f"(server.max_bulk); {remedy}"
        )
    if len(rows.encode()) > most_of_documents(settings):
        most = megabytes(most_of_documents(settings))
        return f"gives more than {most} MB of documents as JSON, the most of a form; {remedy}"
    return ""


def _kind_of(path: Path, options: ReadOptions) -> str:
    """Return the kind of source that reads a file, ``snippets`` for an unknown table."""
    name = path.name.lower().removesuffix(".gz")
    ending = Path(name).suffix
    if name.endswith(_TEXTS):
        return "webpages"
    if ending in _PAGES:  # one with a review
        return "claimreview"
    start = start_of(path, "" if options.sheet == ALL_SHEETS else options.sheet)
    if ending in (".json", ".jsonld") and b"ClaimReview" in start:
        return "claimreview"
    kind, shape = kind_of_table(path, options)
    return kind if kind in _TABLES or is_exported(shape.names) else "snippets"


@contextmanager
def _turn() -> Iterator[None]:
    """Wait until less than two files are being read by the servers of this user.

    Reading a file may take gigabytes for minutes, and a server has several processes. Raises
    RefusedError if no file is finished in time.
    """
    until = monotonic() + registry().config.server.write_seconds
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with ExitStack() as opened:
        handles = []
        for number in range(_READ_AT_ONCE):
            lock = Path(gettempdir(), f"factseek-{os.getuid()}-reads-{number}")
            handles.append(os.open(lock, flags, 0o600))
            opened.callback(os.close, handles[-1])  # this also unlocks it
        while not any(map(_lock, handles)):
            if monotonic() > until:
                raise RefusedError("two other files are being read now; try again later")
            sleep(_LOOK_EVERY)
        yield


def _lock(handle: int) -> bool:
    """Lock an open file for this process, and return whether no other one had locked it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _add_several(form: AddState, served: ServedIndex) -> Job:
    try:
        rows = msgspec.json.decode(form.rows, type=list[msgspec.Raw])
    except msgspec.DecodeError:
        raise BadInput("rows", "the form is damaged; choose the file again") from None
    mode: Mode = "update" if form.replace else "append"
    job = hand_over(served, mode, map(bytes, rows), form.kind)
    until = monotonic() + registry().config.server.write_seconds
    with Queue(folder_of(served), to_read=True) as queue:
        while job.state in ("queued", "running") and monotonic() < until:
            sleep(_LOOK_EVERY)
            job = queue.job(job.id) or job
    registry().refresh(served.name)
    return job


def _extract(form: AddState, served: ServedIndex) -> None:
    file = file_of("file")
    content = file.read() if file else form.html.encode()
    if content or file:
        name = (file.filename or "the file") if file else "the HTML"
        if not content.strip():
            raise BadInput("file", f"{name[:80]} is empty")
        options = ReadOptions(language=served.index.info.language)
        with TemporaryDirectory(prefix="factseek-") as folder:
            path = Path(folder, "page.txt" if name.lower().endswith(".txt") else "page.html")
            path.write_bytes(content)
            try:  # as factseek index webpages does
                record = next(iter(webpages.read([path], options)), None)
            except SourceError as error:
                raise BadInput("file", f"{name[:80]} {error.what}") from None
        if record is None:
            reason = next((left.reason for left in options.left_out), "no main content")
            raise BadInput("file", f"{name[:80]} has {reason}; paste its text instead")
        for field in FIELDS:
            setattr(form, field, getattr(form, field) or getattr(record.document, field))
        form.html = ""
    if not form.text:
        raise BadInput(
            "text", "there is nothing to add: paste a text or the HTML of a page, or choose a file"
        )
    if not form.docid:  # words of the title, and a digest of the address or the text
        slug = _UNFIT.sub("-", (form.title or form.text)[:60]).strip("-").lower() or "document"
        content = (form.url or form.text).encode("utf-8", "replace")
        form.docid = f"{slug}-{hashlib.sha256(content).hexdigest()[:8]}"
    form.source = form.source or (urlsplit(form.url).hostname or "" if "//" in form.url else "")


def _preview(form: AddState) -> list[str]:
    settings = registry().config.passages
    return [
        form.text[span.start : span.end]
        for span in split(form.text, settings.words, settings.overlap_sentences)
    ]
