"""The routes that change an index: documents put and deleted, bulks and the jobs that they become."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, cast

import msgspec
from flask import Blueprint, Response, g, request, url_for

from ...indexer import jobs
from ...indexer.jobs import Job
from ...retrieval.errors import NotFoundError
from ..api.routes import document_state
from ..contract.answers import DocumentWritten, JobAnswer, RefusedDocument, json_answer
from ..contract.errors import UnknownJobError
from ..contract.requests import BulkParameters, DocumentRequest, from_body, from_query
from ..upkeep.service import index_named, service
from .bulk import lines_of
from .changing import change_to, deletion_of, hand_over, perform, writable

blueprint = Blueprint("writing", __name__)
Put = Literal["created", "replaced", "unchanged"]


@blueprint.put("/v1/<name>/documents/<docid:docid>")
def put_document(name: str, docid: str) -> Response:
    """Put a document in place of the one of its docid, or add it.

    It answers when the change is published and the next search finds it. ``If-Match`` with an ETag asks that the
    document be in that state, ``If-None-Match: *`` that there be none.
    """
    served = writable(name)
    change = change_to(docid, from_body(request, DocumentRequest), served.index.info.published)
    result = perform(served, change)
    now = index_named(name)
    answer = DocumentWritten(
        request_id=g.request_id, index=name, manifest_id=now.manifest_id, docid=docid, result=cast(Put, result)
    )
    response = json_answer(answer, 201 if result == "created" else 200)
    if result == "created":
        response.headers["Location"] = url_for("api.document", name=name, docid=docid)
    try:
        response.set_etag(document_state(now.index, docid), weak=True)
    except NotFoundError:
        response.headers.pop("ETag", None)  # somebody has deleted it meanwhile
    return response


@blueprint.delete("/v1/<name>/documents/<docid:docid>")
def delete_document(name: str, docid: str) -> Response:
    """Delete a document.

    It answers when the deletion is published and no search finds the document. ``If-Match`` with an ETag asks that the
    document be in that state.
    """
    perform(writable(name), deletion_of(docid))
    return Response(status=204)


@blueprint.post("/v1/<name>/documents")
def post_documents(name: str) -> Response:
    """Add many documents: answers at once with a job, which says what becomes of them.

    A document that makes no sense, or contradicts one before it, is refused alone, and the job says why.
    """
    served = writable(name)
    mode = from_query(request.args, BulkParameters).mode
    job = hand_over(served, mode, lines_of(request, service().config.server.max_bulk))
    response = json_answer(_job(name, job), 202)
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return response


@blueprint.get("/v1/jobs/<job>")
def job_state(job: str) -> Response:
    """Answer how far a job is, and what became of its documents."""
    serving = service()
    folders = {name: served.index.info.place for name, served in serving.indexes.items()}
    folders.update({name: Path(folder) for name, folder in serving.config.server.indexes.items()})
    for name, folder in folders.items():
        record = jobs.read(folder, job)
        if record is not None:
            return json_answer(_job(name, record))
    raise UnknownJobError(f"there is no job {job[:80]!r}; one that ended is forgotten after a while")


def _job(name: str, job: Job) -> JobAnswer:
    fields = msgspec.structs.asdict(job)
    for name_of_list in ("refusals", "skips"):
        fields[name_of_list] = [RefusedDocument(**msgspec.structs.asdict(item)) for item in fields[name_of_list]]
    del fields["attempts"]
    return JobAnswer(request_id=g.request_id, index=name, **fields)
