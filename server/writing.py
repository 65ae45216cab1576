"""The routes that change an index: documents, for whose writer a request waits, bulks with their
jobs, and aliases.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Literal, TypeVar, cast

import msgspec
from flask import Request, Response, request, url_for
from werkzeug.exceptions import UnsupportedMediaType

from ..core.domain import Document
from ..core.errors import MachineError, NotFoundError, UserError
from ..indexer.aliases import point
from ..indexer.collections.jsonl import Refused, export_document, read_line, unread_date
from ..indexer.queue import FILE, JOBS, Change, Job, Mode, Queue, Result
from ..indexer.trouble import BUSY, disk_trouble
from ..retrieval.search.opening import published_file
from ..retrieval.store.documents import checksum
from ..retrieval.store.manifest import SHARDS, Manifest
from . import schemas
from .api.operations import CLAIM, Routes
from .api.routes import ETAG, document_state
from .auth import check_key, key_name
from .call import current_call
from .errors import BadInput, RefusedError
from .permissions import folder_of
from .runtime import ServedIndex, index_named, registry
from .schemas import DocumentRequest, body_of, json_answer

api = Routes("writing", __name__, "Writing")
_DOCUMENT = {"title": "Measles vaccine", "text": CLAIM, "date": "2025-03", "topic": "health"}
_IF_MATCH = {
    "If-Match": "an ETag: change the document only if it is in this state; *: only if it exists"
}
_OUTCOME_EVERY = 0.005  # seconds between two checks for the result of a change
_WRITER_EVERY = 0.25  # seconds between two checks that a writer runs
_LINES = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl"})
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_DIVIDED = (
    "the index was divided into shards before this bulk was written; factseek unshard lets the "
    "server go on"
)
_log = logging.getLogger("factseek.server")
_Returned = TypeVar("_Returned")


class ConditionError(RefusedError):
    """A document is not in the state that a change requires."""

    status, slug = 412, "precondition-failed"


class DroppedError(RefusedError):
    """The version of a document that a change restores is not in the index any more."""

    status, slug = 410, "dropped"


class NotWrittenError(RefusedError):
    """A change was not published, or it is unknown whether it was."""

    slug = "not-written"


def document_at(docid: str, sent: DocumentRequest, manifest: Manifest) -> Document:
    """Return the document that a request writes at ``docid``; raise BadInput, with the field, if it
    is invalid.
    """
    if sent.docid not in ("", docid):
        raise BadInput(
            "docid",
            f"is {sent.docid[:80]!r}, but the address has {docid[:80]!r}; leave out the field",
        )
    row = {**msgspec.structs.asdict(sent), "docid": docid}
    document = read_line(msgspec.json.encode(row).decode(), manifest.language)
    if isinstance(document, Refused):
        raise BadInput(document.part, document.reason)
    if document.docid != docid:
        raise BadInput("docid", f"docid {docid[:80]!r} contains white space")
    return document


def put_change(
    document: Document, states: tuple[str, ...] = (), *, absent: bool = False, kind: str = ""
) -> Change:
    """Return the change that writes a document; ``states`` and ``absent`` are its conditions, as in
    :class:`Change`, and ``kind`` is the kind under which it is stored.
    """
    return Change(
        docid=document.docid,
        line=export_document(document),
        checksum=checksum(document),
        by=key_name(),
        kind=kind,
        states=states,
        absent=absent,
    )


def hand_over(served: ServedIndex, mode: Mode, items: Iterable[bytes], kind: str = "") -> Job:
    """Submit documents, each in JSON, and return their job; raise NotWrittenError if it cannot be
    stored.

    ``kind`` is the kind under which they are stored.
    """
    folder, most = folder_of(served), registry().config.server.max_queued
    with _queue(folder) as queue:
        if len(queue.bulks()) >= most:
            raise NotWrittenError(
                f"{most} bulks are already waiting; nothing was accepted; try again"
            )
        # Line ends may occur between the parts of an object, but never inside a string.
        job = queue.submit_bulk(
            mode,
            [item.replace(b"\r", b" ").replace(b"\n", b" ") for item in items],
            key_name(),
            kind,
        )
    _ensure_writer(folder)
    return job


def perform(served: ServedIndex, change: Change) -> Result:
    """Make a change and wait until it is served; raise ConditionError, DroppedError, NotFoundError
    or NotWrittenError.
    """
    folder, patience = folder_of(served), registry().config.server.write_seconds
    deadline = monotonic() + patience
    with _queue(folder, deadline) as queue:
        number = _when_writable(folder, lambda: queue.submit(change), deadline)
        seen = monotonic()
        _ensure_writer(folder)
        while (outcome := queue.outcome(number)) is None:
            now = monotonic()
            if now > deadline:
                raise _not_in_time(queue, number, folder, patience)
            if now > seen + _WRITER_EVERY:
                seen = now
                _ensure_writer(folder)
            sleep(_OUTCOME_EVERY)
    if (result := outcome.result) == "failed":
        raise NotWrittenError(f"the change was not made: {outcome.error}")
    registry().counts.add((("writes_total", served.name, result), 1))
    if result == "conflict":
        raise ConditionError("the document is not in the state that the request requires")
    if result == "dropped":
        raise DroppedError("the earlier version was removed when the index was compacted")
    if result == "absent":
        raise NotFoundError(f"there is no document {change.docid!r} in this index")
    if result == "unsure":
        raise NotWrittenError(
            "the change was interrupted and may have been made: check the document before you retry"
        )
    registry().refresh(served.name)
    return result


@contextmanager
def _queue(folder: Path, deadline: float = 0.0) -> Iterator[Queue]:
    """Open the queue of an index; raise NotWrittenError, after logging the cause, if a change
    cannot be submitted.

    Until ``deadline``, wait for a disk that is full or cannot be written.
    """
    try:
        with _when_writable(folder, lambda: Queue(folder), deadline) as queue:
            yield queue
    except UserError as error:
        _log.error("%s", error.line)
        reason = disk_trouble(folder)
        why = (
            f": {reason}; nothing was changed; try again"
            if reason
            else "; the server's log gives the reason"
        )
        raise NotWrittenError(f"the server cannot store the change{why}") from None


def _when_writable(folder: Path, call: Callable[[], _Returned], deadline: float) -> _Returned:
    """Return the result of ``call``; until ``deadline``, try again if the disk is full or the index
    is missing.
    """
    while True:
        try:
            return call()
        except UserError as error:
            may_pass = isinstance(error, MachineError) or not published_file(folder).is_file()
            if not may_pass or monotonic() > deadline:
                raise
        sleep(_WRITER_EVERY)


def _not_in_time(queue: Queue, number: int, folder: Path, patience: float) -> NotWrittenError:
    """Withdraw a change, and return the error that says whether it may still happen."""
    seconds, withdrawn = f"within {patience:g} seconds", False
    with suppress(MachineError):  # the disk may be too full even for this
        withdrawn = queue.withdraw(number)
    reason = queue.trouble("changes") or disk_trouble(folder) or BUSY
    if withdrawn:
        reason = f"the index could not be written {seconds}: {reason}"
        return NotWrittenError(f"{reason}; nothing was changed; try again")
    reason = f"the change was not published {seconds}, and may still happen"
    return NotWrittenError(f"{reason}: check the document before you retry")


def _ensure_writer(folder: Path) -> None:
    writers = registry().writers
    if writers is not None:
        writers.ensure_writer(folder)


def _conditions() -> tuple[tuple[str, ...], bool]:
    match, none_match = request.if_match, request.if_none_match
    if "If-None-Match" in request.headers and not none_match.star_tag:
        raise BadInput(
            "If-None-Match", "must be *, which requires that the document does not exist"
        )
    states = ("*",) if match.star_tag else tuple(sorted(match.as_set(include_weak=True)))
    if "If-Match" in request.headers and not states:
        raise BadInput("If-Match", "contains no ETag; send the ETag of the document, or *")
    return states, none_match.star_tag


def _items_of(request: Request, most: int) -> list[bytes]:
    if not request.is_json and request.mimetype not in _LINES:
        raise UnsupportedMediaType
    body, place = body_of(request), "is not a JSON array of documents"
    try:
        body.decode("utf-8")
        parts = (
            map(bytes, _ARRAY.decode(body))
            if request.is_json
            else map(bytes.strip, body.split(b"\n"))
        )
        items = [item for item in parts if item]
        if not 1 <= len(items) <= most:
            remedy = " at once" if items else ""
            raise BadInput(
                "body", f"the bulk contains {len(items)} documents; send 1 to {most}{remedy}"
            )
        for number, item in enumerate(items, 1):
            place = f"item {number} is not a JSON object"
            _OBJECT.decode(item)
    except UnicodeDecodeError as error:
        raise BadInput("body", f"is not UTF-8 (byte {error.start + 1})") from None
    except (msgspec.DecodeError, RecursionError) as error:
        reason = (
            "it is nested too deeply"
            if isinstance(error, RecursionError)
            else str(error).replace("`", "")
        )
        raise BadInput("body", f"{place}: {reason}") from None
    return items


@api.route("PUT", "/v1/aliases/<name>", {"index": "monday"}, changes=True)
def point_alias(served: ServedIndex, body: schemas.AliasRequest) -> schemas.AliasAnswer:
    """Point an alias to another served index, in one step.

    The answer comes after this worker serves the other index; other workers follow within a second.
    Requests that began earlier continue with the previous index.
    """
    alias = served.name
    if body.index == alias:
        raise BadInput("index", "an alias cannot point to itself")
    target, folders = index_named(body.index).name, registry().config.server.indexes
    if alias not in folders or not Path(folders[alias]).is_symlink():
        raise BadInput("name", f"{alias} is an index itself, not an alias")
    point(Path(folders[alias]), Path(folders[target]))
    registry().refresh(alias)
    now = index_named(alias)
    return schemas.AliasAnswer(
        request_id=current_call().request_id, alias=alias, index=target, manifest_id=now.manifest_id
    )


@api.route(
    "PUT",
    "/v1/<name>/documents/<docid:docid>",
    _DOCUMENT,
    changes=True,
    problems=(412,),
    conditions={**_IF_MATCH, "If-None-Match": "*: write only if there is no such document"},
    headers=ETAG,
    answer=schemas.DocumentWritten,
    also={201: schemas.DocumentWritten},
)
def put_document(served: ServedIndex, body: DocumentRequest, docid: str) -> Response:
    """Add a document, or replace the document that has this docid.

    The answer comes after the change is published, so the next search finds the document.
    ``If-Match`` with an ETag requires that the document is in that state. ``If-None-Match: *``
    requires that no document has this docid.
    """
    name = served.name
    document = document_at(docid, body, served.index.info.published)
    states, absent = _conditions()
    result = perform(served, put_change(document, states, absent=absent))
    now = index_named(name)
    answer = schemas.DocumentWritten(
        request_id=current_call().request_id,
        index=name,
        manifest_id=now.manifest_id,
        docid=docid,
        result=cast(Literal["created", "replaced", "unchanged"], result),
        unread_date=unread_date(document) or msgspec.UNSET,
    )
    response = json_answer(answer, 201 if result == "created" else 200)
    if result == "created":
        response.headers["Location"] = url_for("api.document", name=name, docid=docid)
    with suppress(NotFoundError):  # the document may have been deleted in the meantime
        response.set_etag(document_state(now.index, docid), weak=True)
    return response


@api.route(
    "DELETE",
    "/v1/<name>/documents/<docid:docid>",
    changes=True,
    problems=(400, 412),
    conditions=_IF_MATCH,
    status=204,
)
def delete_document(served: ServedIndex, docid: str) -> Response:
    """Delete a document.

    The answer comes after the deletion is published, so no search finds the document. ``If-Match``
    with an ETag requires that the document is in that state.
    """
    states, absent = _conditions()
    perform(served, Change(docid=docid, states=states, absent=absent))
    return Response(status=204)


@api.route(
    "POST",
    "/v1/<name>/documents",
    {"docid": "measles-1", **_DOCUMENT},
    changes=True,
    many=DocumentRequest,
    headers={"Location": "the address of the job's status"},
    status=202,
    answer=schemas.JobAnswer,
)
def post_documents(served: ServedIndex, parameters: schemas.BulkParameters) -> Response:
    """Submit many documents, and return at once a job that reports on them.

    Each document is checked separately. An invalid document is refused. A document is also refused
    if an earlier one has the same docid and other content. The job gives the reasons.
    """
    items = _items_of(request, registry().config.server.max_bulk)
    job = hand_over(served, parameters.mode, items)
    response = json_answer(_job(served.name, job), 202)
    response.headers["Location"] = url_for("writing.job_state", job=job.id)
    return response


@api.route("GET", "/v1/jobs/<job>", problems=(404,))
def job_state(job: str) -> schemas.JobAnswer:
    """Return the progress of a job, and the results of its documents."""
    serving = registry()
    if serving.config.server.keys:
        check_key()
    folders = {name: served.index.info.place for name, served in serving.indexes.items()}
    folders.update({name: Path(folder) for name, folder in serving.config.server.indexes.items()})
    # An alias is a link to the folder of an index: prefer the name of the index.
    for name, folder in sorted(folders.items(), key=lambda pair: pair[1].is_symlink()):
        if not (folder / JOBS / FILE).is_file():
            continue
        with Queue(folder, to_read=True) as queue:
            record, waits = queue.job(job), queue.trouble("bulks")
        if record is None:
            continue
        if not record.ended and (folder / SHARDS).is_file():
            record.state, record.error = "queued", _DIVIDED
        elif not record.ended:
            _say_why_it_waits(record, waits or disk_trouble(folder))
        return _job(name, record)
    reason = f"there is no job {job[:80]!r}; the server forgets a job some time after its end"
    raise RefusedError(reason, 404, "unknown-job")


def _say_why_it_waits(job: Job, reason: str) -> None:
    """Give a job the reason that keeps the writer from it; the disk may be too full to store that
    the job waits.
    """
    if reason:
        job.state = "queued"
        job.error = f"the index cannot be written: {reason}; the server tries again"


def _job(name: str, job: Job) -> schemas.JobAnswer:
    fields = {**msgspec.to_builtins(job), "request_id": current_call().request_id, "index": name}
    del fields["attempts"], fields["by"], fields["kind"]
    return msgspec.convert(fields, schemas.JobAnswer)
