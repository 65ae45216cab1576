"""The pages: search, its rankings side by side, and a document with its passages. They need no JavaScript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
from flask import Blueprint, render_template, request

from ...retrieval import retrievers
from ...retrieval.display import web_link
from ...retrieval.errors import QueryError
from ...retrieval.evidence import Evidence
from ...retrieval.highlight import Highlighter, highlighter
from ...retrieval.limit import HIGHLIGHTS
from ...retrieval.query_syntax import PLAIN, QUERY
from ...retrieval.retrievers import RetrieverKind
from ...retrieval.searcher import Search
from ..contract.errors import BadInput
from ..contract.memory import charged_document
from ..contract.search import RankedEvidence, TimedOutError, limit_of, ranked_evidence, search_of, understood
from ..upkeep.service import Served, index_named, service, suited_indexes
from .cards import LONGEST_EXCERPT, Card, blocks, cards
from .facets import chips_of, facets_of
from .joins import Gap, gap, numbered
from .state import READ, PageState, read_state

blueprint = Blueprint("page", __name__)
SHORT_EXCERPT = 220
"""Characters of an excerpt where columns stand side by side."""


class Column(NamedTuple):
    """One ranking; ``gap`` holds the lines that join it to the ranking on its left, if there is one.

    ``missing`` says what was cut off; a ranking that was cut off itself has no ``evidence``.
    """

    name: str
    kind: RetrieverKind
    evidence: RankedEvidence | None
    cards: list[Card]
    gap: Gap | None
    missing: str


@dataclass(frozen=True, slots=True)
class Example:
    """A claim whose evidence is in a bundled index."""

    index: str
    claim: str


STAGES = {"retrieve": "ranking", "evidence": "evidence"}
EXAMPLES = (
    Example("example-en", "Two doses of the measles vaccine are 97 percent effective."),
    Example("example-en", "Pluto has not been counted among the planets since 2006."),
    Example("example-ar", "نهر النيل أطول من نهر الأمازون."),
)


@blueprint.get("/")
def search_page() -> tuple[str, int]:
    """Show the search box and, if there is a query, the hits of each retriever."""
    try:
        state = read_state(request.args)
    except BadInput as error:
        return render_template("search.html", **_shown(PageState()), problem=error.unnamed), 400
    shown = _shown(state)
    if not state.query:
        examples = [example for example in EXAMPLES if example.index in service().indexes]
        return render_template("search.html", **shown, examples=examples), 200
    served = index_named(shown["chosen"])
    try:
        result = _searched(served, state)
    except QueryError as error:
        # The page calls a field by its label, not by its name in the address.
        reason = error.unnamed if isinstance(error, BadInput) else error.line
        return render_template("search.html", **shown, problem=reason), 400
    return render_template("search.html", **(shown | result)), 200


@blueprint.get("/documents/<name>/<docid:docid>")
def document_page(name: str, docid: str) -> str:
    """Show a document with its passages."""
    state = read_state(request.args, READ)
    served = index_named(name)
    document = charged_document(served.index, docid)
    passages = served.index.passages(docid)
    chosen = int(state.passage) if state.passage.isascii() and state.passage.isdigit() else None
    shown = blocks(document, passages, chosen, _highlighter(served, state))
    return render_template(
        "document.html",
        served=served,
        document=document,
        blocks=shown,
        count=len(passages),
        matching=[block for block in shown if block.marked and block.number is not None],
        link=web_link(document.url),
        back=state.query,
        address=state.address(index=served.name, offset=state.offset),
    )


def _shown(state: PageState) -> dict[str, Any]:
    """Return what every form of the page shows."""
    indexes = service().indexes
    name = state.index or next(iter(indexes), "")
    return {
        "indexes": indexes,
        "chosen": name,
        "state": state,
        "kinds": _kinds(indexes.get(name)),
        "columns": [],
        "chips": list(chips_of(state)) if state.query else [],
    }


def _searched(served: Served, state: PageState) -> dict[str, Any]:
    """Return what is shown of a search: a column a ranking, the facets, where the list goes on.

    Raises QueryError if the search makes no sense.
    """
    asked = search_of(state.options(), served.index, offset=state.offset)
    text, asked, _ = understood(state.query, asked, PLAIN if state.profile == "tweet" else QUERY)
    columns = _columns(served, text, asked)
    size = asked.k or served.index.settings.search.k
    more = any(column.evidence and column.evidence.more for column in columns)
    return {
        "columns": columns,
        "rows": max(len(column.cards) for column in columns),
        "stages": STAGES,
        "timed": msgspec.structs.asdict,
        "note": _note(columns),
        "suited": suited_indexes(served, state.query),
        "facets": facets_of(served.index, text, asked, state, _kinds(served)),
        "next": state.address(offset=state.offset + size) if more else "",
        "previous": state.address(offset=max(0, state.offset - size)) if state.offset else "",
    }


def _columns(served: Served, text: str, asked: Search) -> list[Column]:
    kinds = _kinds(served)
    results = {name: _evidence_in_time(served, text, asked._replace(retriever=name)) for name in kinds}
    if not any(results.values()):
        raise TimedOutError("no ranking was ready in time; try again")
    rankings: dict[str, Sequence[Evidence]] = {name: result.hits if result else [] for name, result in results.items()}
    joins, rows = numbered(rankings), max(map(len, rankings.values()))
    longest = LONGEST_EXCERPT if len(rankings) == 1 else SHORT_EXCERPT
    columns: list[Column] = []
    for name, result in results.items():
        left = rankings[columns[-1].name] if columns else ()
        beside = gap(left, rankings[name], joins, rows, asked.offset) if columns else None
        shown = cards(name, rankings, joins, longest)
        columns.append(Column(name, kinds[name], result, shown, beside, _missing(result, kinds)))
    return columns


def _evidence_in_time(served: Served, query: str, asked: Search) -> RankedEvidence | None:
    """Return the evidence of one column, or None if its search took too long: the others are shown all the same."""
    try:
        return ranked_evidence(served.index, query, asked)
    except TimedOutError:
        return None


def _kinds(served: Served | None) -> dict[str, RetrieverKind]:
    """Return the rankings of an index in the order of their columns.

    What is fused stands behind the first of its sources, so that most lines join neighbours.
    """
    names = sorted(served.retrievers) if served else []
    kinds = {name: retrievers.kind(name) for name in names}
    fused = [name for name in names if kinds[name].FUSES]
    sources = [name for name in names if name not in fused]
    return {name: kinds[name] for name in (*sources[:1], *fused, *sources[1:])}


def _missing(ranking: RankedEvidence | None, kinds: Mapping[str, RetrieverKind]) -> str:
    if ranking is None:
        return "This ranking took too long and was cut off."
    labels = {name: kind.LABEL.lower() for name, kind in kinds.items()}
    late = [labels.get(name, name) for name, state in (ranking.coverage or {}).items() if state != "complete"]
    return f"Without {' and '.join(late)}, which took too long." if late else ""


def _highlighter(served: Served, state: PageState) -> Highlighter:
    """Return what highlights the lines of a document while there is time."""
    if not state.query:
        return _unmarked
    asked = Search(profile=state.profile or None)
    marked, limit = highlighter(served.index.resolve(asked).text(state.query), served.index.terms), limit_of()
    return lambda line: [] if limit.is_over(HIGHLIGHTS) else marked(line)


def _unmarked(_: str) -> list[tuple[int, int]]:
    return []


def _note(columns: list[Column]) -> str:
    return next((column.evidence.note for column in columns if column.evidence and column.evidence.note), "")
