"""The hits of a search as files for other programs, and the address of the same search as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from flask import Response, url_for

from ...retrieval.errors import QueryError
from ...retrieval.search import listings
from ...retrieval.search.evidence import Evidence
from ...retrieval.search.query_syntax import QUERY
from ..errors import BadInput
from ..runtime import ServedIndex
from .layout import asked_parameters, blueprint, chosen_indexes
from .searching import asked_of, ranking, ranking_of_many
from .state import SEARCHED, PageState, read_state


class FileFormat(NamedTuple):
    """A format by its name, and what it is for, in an English text of the page."""

    label: str
    use: str


HITS = 100
"""Hits of a file, unless an address asks for another number."""
FORMATS = {
    "csv": FileFormat("CSV", "for spreadsheets"),
    "tsv": FileFormat("TSV", "for spreadsheets"),
    "json": FileFormat("JSON", "for programs"),
    "ndjson": FileFormat("NDJSON", "for programs, a hit a line"),
    "ris": FileFormat("RIS", "for reference managers"),
    "bibtex": FileFormat("BibTeX", "for LaTeX"),
    "trec": FileFormat("TREC", "for evaluation"),
    "jsonld": FileFormat("JSON-LD", "for web pages"),
}
"""The formats that the page offers, by name."""


@blueprint.route("/export", methods=["GET", "POST"])
def export() -> Response:
    """Answer the first hits of a state as a file; of several indexes those of the one ranking over all.

    Raises BadInput if there is no query, no such format, or an id cannot stand in it.
    """
    parameters = asked_parameters().copy()
    format = parameters.pop("format", "")
    state = read_state(parameters, (*SEARCHED, "format"))
    if format not in FORMATS:
        raise BadInput("format", f"there is no format {format[:20]!r}; there are {', '.join(FORMATS)}")
    if not (state.query or state.like):
        raise BadInput("query", "there is nothing to export: ask for something first")
    hits = evidence(state)
    if format == listings.JSON:
        return _file(_json(state, hits), "application/json", "json")
    kind = listings.kind(format)
    try:
        return _file(kind.write(hits, "1"), kind.media, kind.suffix)
    except QueryError as error:
        raise BadInput("format", error.line) from None


def evidence(state: PageState) -> list[Evidence]:
    """Return the first hits of a state, by its ranking."""
    served = chosen_indexes(state)
    most = min(each.index.settings.search.max_k for each in served)
    asked = asked_of(served, state.changed(hits=state.hits or min(HITS, most), offset=state.offset))
    return (ranking_of_many(asked, state) if len(asked) > 1 else ranking(asked[0])).hits


def json_address(state: PageState, served: Sequence[ServedIndex]) -> str:
    """Return the address of this search as JSON: the API's, or that of a file where several indexes are asked."""
    if len(served) > 1:
        return url_for("page.export", format=listings.JSON, **state.parameters())
    own = ("index", "view", "lang", "passage", "collapse", "profile")
    asked = {name: value for name, value in state.parameters().items() if name not in own}
    options = state.options(served[0].index)
    if options.collapse:
        asked["collapse"] = options.collapse
    if state.query:
        asked |= {"syntax": "query"} if state.syntax == QUERY else {"profile": "tweet"}
    return url_for("api.search_simply", name=served[0].name, **asked)


def _json(state: PageState, hits: Sequence[Evidence]) -> bytes:
    """Return the hits with their query as JSON."""
    return msgspec.json.encode({"query": {"text": state.query}, "hits": hits})


def _file(content: str | bytes, media: str, suffix: str) -> Response:
    response = Response(content, mimetype=media)
    response.headers["Content-Disposition"] = f'attachment; filename="evidence.{suffix}"'
    return response
