"""The tab Compare: two runs, or two settings, on one set of queries, out of the report of ``factseek compare``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from flask import request

from ...retrieval.errors import QueryError
from ..api.comparisons import ComparisonReport, report_of, served_reports
from ..contract.errors import BadInput
from ..contract.requests import RequestFields
from .shell import blueprint, file_of, page_of
from .speech import speech
from .state import IndexNames, Language, PageState, read_parameters

_EXAMPLE = "example-en"
"""The bundled index whose queries and judgements the page's example compares on."""
_NOTHING = "There is nothing to show: choose the file that factseek compare --json wrote, or paste what it holds"
_FIRST_RELEVANT = "One divided by the rank of the first relevant document: 1 if it stands first, 0.5 if second."
_OF_ALL = {
    "AP": "How far up all relevant documents stand, from 0 to 1: 1 if nothing else stands before or among them.",
    "RR": _FIRST_RELEVANT,
    "nDCG": "How near they come to the best order there is, from 0 to 1; what stands first counts most.",
}
_AT_CUTOFF = {
    "P": "The share of the first {k} documents that are relevant.",
    "R": "The share of the relevant documents that are among the first {k}.",
    "RR": _FIRST_RELEVANT,
    "nDCG": "How near the first {k} come to the best order there is, from 0 to 1; what stands first counts most.",
}


class CompareState(RequestFields):
    """What the tab was asked: a report that is served, by its name, or one that was pasted."""

    report: str = ""
    pasted: str = ""
    index: IndexNames = msgspec.field(default_factory=list)
    lang: Language = ""


@blueprint.route("/compare", methods=["GET", "POST"])
def compare_page() -> tuple[str, int]:
    """Show a comparison: one that is served, the first unless one is named, or one that was pasted or uploaded."""
    asked = CompareState()
    try:
        asked = read_parameters(request.values, CompareState, CompareState.__struct_fields__)
        name, report = _report(asked)
    except QueryError as error:
        reason = error.unnamed if isinstance(error, BadInput) else f"this {error.line}"
        return _page(asked, 400, problem=reason)
    return _page(asked, report=report, name=name, meanings=list(_meanings(report)) if report else [])


def _page(asked: CompareState, status: int = 200, **shown: Any) -> tuple[str, int]:
    state = PageState(lang=asked.lang)
    return page_of("compare.html", state, status, reports=list(served_reports()), example=_EXAMPLE, **shown)


def _meanings(report: ComparisonReport) -> Iterator[tuple[str, str, str]]:
    """Yield the measures of a report that can be explained: the measure, what it says, and how far down it looks."""
    for measure in report.means:
        name, _, cutoff = measure.partition("@")
        if meaning := (_AT_CUTOFF if cutoff else _OF_ALL).get(name):
            yield measure, meaning, cutoff


def _report(asked: CompareState) -> tuple[str, ComparisonReport | None]:
    file = file_of("file")
    if file:
        return file.filename or "", report_of(file.read())
    if asked.pasted:
        return "", report_of(asked.pasted.encode())
    if request.method == "POST":
        raise BadInput("pasted", speech()(_NOTHING))
    reports = served_reports()
    name = asked.report or next(iter(reports), "")
    if name and name not in reports:
        raise BadInput("report", f"there is no report {name[:80]!r}; served are: {', '.join(reports) or 'none'}")
    return name, reports.get(name)
