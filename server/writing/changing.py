"""A change of one document, handed to the writer of its index and waited for; a bulk, which is not waited for."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import msgspec
from flask import current_app, request

from ...indexer import changes, jobs
from ...indexer.changes import Change, Result
from ...indexer.document_line import Refused, exported, read_line
from ...indexer.jobs import Job, Mode
from ...retrieval.documents import checksum
from ...retrieval.domain import Document
from ...retrieval.errors import NotFoundError, UserError
from ...retrieval.manifest import Manifest
from ..contract.errors import BadInput, RefusedError
from ..contract.requests import DocumentRequest
from ..upkeep.metrics import metrics_of
from ..upkeep.service import Served, index_named, service

_LOOK_EVERY = 0.005
_SEE_EVERY = 0.25
_log = logging.getLogger("factseek.server")


class WritesOffError(RefusedError):
    """This server changes nothing."""

    status, slug = 403, "writes-off"


class ConditionError(RefusedError):
    """A document is not in the state that a change was to find it in."""

    status, slug = 412, "precondition-failed"


class NotWrittenError(RefusedError):
    """A change was not published, or nobody can say whether it was."""

    status, slug = 503, "not-written"


def writable(name: str) -> Served:
    """Return the index that is served under this name, if it may be changed.

    Raises WritesOffError if this server changes nothing, UnknownIndexError or IndexStateError as for a search.
    """
    settings = service().config.server
    # Without keys anybody could write: such a server does not start, and nothing else that serves may do so either.
    if not settings.writes or not settings.keys:
        raise WritesOffError("this server changes nothing; start it with --allow-writes, or server.writes: true")
    return index_named(name)


def folder_of(served: Served) -> Path:
    """Return the directory of an index."""
    return served.index.info.place.resolve()


def document_at(docid: str, asked: DocumentRequest, manifest: Manifest) -> Document:
    """Return the document that a request asks to be put at ``docid``.

    Raises BadInput, naming the field, if it makes no sense.
    """
    if asked.docid not in ("", docid):
        raise BadInput("docid", f"is {asked.docid[:80]!r}, the address says {docid[:80]!r}; leave it out")
    row = {**msgspec.structs.asdict(asked), "docid": docid}
    document = read_line(msgspec.json.encode(row).decode(), manifest.language)
    if isinstance(document, Refused):
        raise BadInput(document.part, document.reason)
    if document.docid != docid:
        raise BadInput("docid", f"docid {docid[:80]!r} holds white space")
    return document


def put_change(document: Document, states: tuple[str, ...] = (), *, absent: bool = False) -> Change:
    """Return the change that puts a document, if the one in its place is in one of these states, or there is none."""
    return Change(
        docid=document.docid, line=exported(document), checksum=checksum(document), states=states, absent=absent
    )


def delete_change(docid: str, states: tuple[str, ...] = ()) -> Change:
    """Return the change that deletes the document at ``docid``, if it is in one of these states."""
    return Change(docid=docid, states=states)


def change_to(docid: str, asked: DocumentRequest, manifest: Manifest) -> Change:
    """Return the change that puts a document at ``docid``, under the conditions of the current request.

    Raises BadInput, naming the field, if the document makes no sense.
    """
    document = document_at(docid, asked, manifest)
    states, absent = _conditions()
    return put_change(document, states, absent=absent)


def deletion_of(docid: str) -> Change:
    """Return the change that deletes the document at ``docid``, under the conditions of the current request."""
    states, absent = _conditions()
    return Change(docid=docid, states=states, absent=absent)


def hand_over(served: Served, mode: Mode, lines: Sequence[bytes]) -> Job:
    """Leave many documents, each a line of JSON, for the writer; return the job that says what becomes of them.

    Raises NotWrittenError if too many bulks wait, or they cannot be kept.
    """
    folder, most = folder_of(served), service().config.server.max_queued
    if len(jobs.waiting(folder)) >= most:
        raise NotWrittenError(f"{most} bulks wait already; nothing was taken, ask again")
    with handover_errors_reported():
        job = jobs.submit(folder, mode, lines)
    ensure_writer(folder)
    return job


def perform(served: Served, change: Change) -> Result:
    """Hand a change to the writer; return its result when this worker serves the changed index.

    Raises ConditionError if the document is not in the state that was asked for, NotFoundError if there is none to
    delete, NotWrittenError if the change was not published in time.
    """
    result = _published(folder_of(served), change)
    metrics_of(current_app).writes(served.name, result).inc()
    if result == "conflict":
        raise ConditionError("the document is not in the state that the condition of the request names")
    if result == "absent":
        raise NotFoundError(f"there is no document {change.docid!r} in this index")
    if result == "unsure":
        raise NotWrittenError("the change was interrupted and may have been made: look before asking again")
    service().refresh(served.name)
    return result


@contextmanager
def handover_errors_reported() -> Iterator[None]:
    """Raise NotWrittenError, after logging the cause, if a change cannot be left for the writer."""
    try:
        yield
    except UserError as error:
        _log.error("%s", error.line)
        raise NotWrittenError("the change cannot be kept; the server's log says why") from None


def _published(folder: Path, change: Change) -> Result:
    with handover_errors_reported():
        ticket = changes.submit(folder, change)
    began = seen = monotonic()
    patience = service().config.server.write_seconds
    ensure_writer(folder)
    while (outcome := changes.outcome(folder, ticket)) is None:
        now = monotonic()
        if now > began + patience:
            raise _late(folder, ticket, patience)
        if now > seen + _SEE_EVERY:
            seen = now
            ensure_writer(folder)
        sleep(_LOOK_EVERY)
    if outcome.result == "failed":
        raise NotWrittenError(f"the change was not made: {outcome.error}")
    return outcome.result


def ensure_writer(folder: Path) -> None:
    """Start a writer for the index in ``folder`` if a change or a job waits and there is none."""
    writers = service().writers
    if writers is not None:
        writers.ensure_writer(folder)


def _late(folder: Path, ticket: str, patience: float) -> NotWrittenError:
    if changes.withdraw(folder, ticket):
        reason = f"the index could not be written within {patience:g} seconds: another process may be at it"
        return NotWrittenError(f"{reason}; nothing was changed, ask again")
    return NotWrittenError(
        f"the change is being made, but was not published within {patience:g} seconds: look before asking again"
    )


def _conditions() -> tuple[tuple[str, ...], bool]:
    """Return the states that ``If-Match`` names, and whether ``If-None-Match`` says that there must be no document.

    A weak name counts as well: it names the document, and only the answers around it differ.
    """
    match, none_match = request.if_match, request.if_none_match
    if "If-None-Match" in request.headers and not none_match.star_tag:
        raise BadInput("If-None-Match", "only * is understood here: the document must not be there")
    states = ("*",) if match.star_tag else tuple(sorted(match.as_set(include_weak=True)))
    if "If-Match" in request.headers and not states:
        raise BadInput("If-Match", "names no state; send the ETag of the document, or *")
    return states, none_match.star_tag
