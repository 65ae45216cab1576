"""The hits of a search as a file for other programs, where a request or its ``Accept`` asks for one."""

from __future__ import annotations

from flask import Response, request

from ...retrieval import listings
from ...retrieval.errors import QueryError
from ..contract.errors import BadInput
from ..contract.search import RankedEvidence
from .operations import JSON

_ANYTHING = "*/*"


def format_of(asked: str | None, *, more: bool = False) -> str:
    """Return the format of an answer: what the request names, else what ``Accept`` prefers, else ``json``.

    With ``more`` an answer holds what is no hit. Raises BadInput if a format has no place for that.
    """
    name = asked or _preferred()
    if more and name != listings.JSON:
        raise BadInput(
            "format", f"{name} has no place for explain, passages, count or facets; leave them out, or ask for json"
        )
    return name


def _preferred() -> str:
    """Return the format that ``Accept`` prefers; most clients take anything, and so JSON."""
    if request.environ.get("HTTP_ACCEPT", _ANYTHING) in (_ANYTHING, JSON):
        return listings.JSON
    by_media = {listings.KINDS.load(name).MEDIA: name for name in listings.names()}
    wanted = request.accept_mimetypes.best_match([JSON, *by_media], JSON)
    return by_media.get(wanted or JSON, listings.JSON)


def listing(result: RankedEvidence, name: str, qid: str | None) -> Response:
    """Return the hits as a file; a ranking that was cut off is named in a header, for a file has no place for it.

    Raises BadInput if an id cannot stand in the format.
    """
    kind = listings.KINDS.load(name)
    try:
        content = kind.write(result.hits, qid or "1")
    except QueryError as error:
        raise BadInput("format", error.line) from None
    response = Response(content, mimetype=kind.MEDIA)
    response.headers["Content-Disposition"] = f'attachment; filename="evidence.{kind.SUFFIX}"'
    late = [part for part, state in (result.coverage or {}).items() if state != "complete"]
    if late:
        response.headers["X-Cut-Off"] = ", ".join(late)
    return response
