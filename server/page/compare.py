"""The tab Compare: two runs, or two settings, on one set of queries, out of the report of ``factseek compare``."""

from __future__ import annotations

import msgspec
from flask import request

from ...retrieval.errors import QueryError
from ..api.comparisons import ComparisonReport, report_of, served_reports
from ..contract.errors import BadInput
from ..contract.requests import RequestFields
from .shell import blueprint, file_of, page_of
from .state import PageState, read_parameters


class CompareState(RequestFields):
    """What the tab was asked: a report that is served, by its name, or one that was pasted."""

    report: str = ""
    pasted: str = ""
    index: list[str] = msgspec.field(default_factory=list)
    lang: str = ""


@blueprint.route("/compare", methods=["GET", "POST"])
def compare_page() -> tuple[str, int]:
    """Show a comparison: one that is served, the first unless one is named, or one that was pasted or uploaded."""
    asked = CompareState()
    try:
        asked = read_parameters(request.values, CompareState, CompareState.__struct_fields__)
        name, report = _report(asked)
    except QueryError as error:
        reason = error.unnamed if isinstance(error, BadInput) else f"this {error.line}"
        return page_of("compare.html", PageState(lang=asked.lang), 400, problem=reason, reports=list(served_reports()))
    return page_of("compare.html", PageState(lang=asked.lang), report=report, name=name, reports=list(served_reports()))


def _report(asked: CompareState) -> tuple[str, ComparisonReport | None]:
    file = file_of("file")
    if file:
        return file.filename or "", report_of(file.read())
    if asked.pasted:
        return "", report_of(asked.pasted.encode())
    reports = served_reports()
    name = asked.report or next(iter(reports), "")
    if name and name not in reports:
        raise BadInput("report", f"there is no report {name[:80]!r}; served are: {', '.join(reports) or 'none'}")
    return name, reports.get(name)
