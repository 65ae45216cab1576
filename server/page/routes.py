"""The search page, one list of evidence or the rankings of an index side by side, and the page of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple
from urllib.parse import urljoin

import msgspec
from flask import request, url_for
from werkzeug.wrappers import Response

from ...retrieval.deadline import HIGHLIGHTS
from ...retrieval.errors import NotFoundError, QueryError
from ...retrieval.lucene.analysis import Highlighter, highlighter, in_time
from ...retrieval.search.evidence import Evidence
from ...retrieval.search.options import Search
from ...retrieval.text import web_link
from ..errors import BadInput
from ..memory import charged_document
from ..runtime import ServedIndex, index_named, registry, suited_indexes
from ..search import limit_of
from .cards import LONGEST_EXCERPT, Card, Copy, blocks, cited, elsewhere, excerpt, title_of
from .exporting import FORMATS, HITS, json_address
from .facets import chips_of, facets_of
from .layout import asked_parameters, blueprint, chosen_indexes, page_of, short_of
from .reasons import Reason
from .searching import (
    MANY,
    IndexSearch,
    ShownRanking,
    asked_of,
    kinds_of,
    late_labels,
    ranking,
    ranking_of_many,
    rankings,
    suggestions,
    undated,
)
from .state import LONGEST_ADDRESS, READ, SIDE, PageState, read_state

SHORT_EXCERPT = 220
"""Characters of an excerpt where columns stand side by side."""
_COPIES = 10
"""Near-copies that are named under a hit."""


class Column(NamedTuple):
    """One ranking with its cards."""

    name: str
    label: str
    help: str
    ranking: ShownRanking
    cards: list[Card]

    @property
    def firm(self) -> list[Card]:
        """The cards before those at its end that are all weak."""
        return self.cards[: len(self.cards) - len(self.weak)]

    @property
    def weak(self) -> list[Card]:
        """The cards at its end that are all weak: a hit of one ranking may follow weak ones of another."""
        return list(takewhile(lambda card: card.hit.weak, reversed(self.cards)))[::-1]

    @property
    def late(self) -> str:
        """The labels of what was cut off."""
        return late_labels(self.ranking.late)


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


@blueprint.route("/", methods=["GET", "POST"])
def search_page() -> tuple[str, int] | Response:
    """Show the box and, if there is a query, its evidence; a form leads to the address of its state."""
    try:
        state = read_state(asked_parameters())
    except BadInput as error:
        return page_of("search.html", PageState(), 400, problem=error.unnamed)
    away = short_of(state.address(offset=state.offset))
    if away:
        return away
    if not (state.query or state.like):
        examples = [example for example in EXAMPLES if example.index in registry().indexes]
        return page_of("search.html", state, examples=examples)
    served = chosen_indexes(state)
    try:
        shown = _results(served, state)
    except QueryError as error:
        # The page calls a field by its label, not by its name in the address.
        reason = error.unnamed if isinstance(error, BadInput) else error.line
        return page_of("search.html", state, 400, problem=reason, chips=list(chips_of(state)))
    return page_of("search.html", state, **shown)


def _results(served: Sequence[ServedIndex], state: PageState) -> dict[str, Any]:
    """Return what is shown of a search: its columns, the facets, where the list goes on.

    Raises QueryError if the search makes no sense.
    """
    asked = asked_of(served, state)
    several = len(asked) > 1
    if several:
        shown = [ranking_of_many(asked, state)]
    elif state.view == SIDE:
        shown = rankings(asked[0])
    else:
        shown = [ranking(asked[0])]
    columns, size = _columns(asked, state, shown), asked[0].size
    after = state.offset + size
    # No index answers a page that ends below its last hit.
    reached = all(after + part.size <= part.served.index.settings.search.max_k for part in asked)
    return {
        "columns": columns,
        "several": several,
        "timed": msgspec.structs.asdict,
        "stages": STAGES,
        "note": next((ranked.note for ranked in shown if ranked.note), ""),
        "undated": undated(asked),
        "suited": [] if several else suited_indexes(served[0], state.query),
        "meant": _meant(asked, state),
        "likeness": _title(asked[0].served, state.like) if state.like else "",
        "chips": list(chips_of(state)),
        "facets": facets_of(asked, state),
        "formats": FORMATS,
        "export_hits": HITS,
        "json_address": json_address(state, served),
        "next": state.address(offset=after) if reached and any(ranked.more for ranked in shown) else "",
        "previous": state.address(offset=max(0, state.offset - size)) if state.offset else "",
    }


def _meant(asked: Sequence[IndexSearch], state: PageState) -> str:
    """Return the query with its misspelt words put right, if it has any and an address can hold it."""
    meant = next(suggestions(asked, state), "")
    return meant if len(state.address(query=meant)) <= LONGEST_ADDRESS else ""


def _title(served: ServedIndex, docid: str) -> str:
    document = charged_document(served.index, docid)
    return title_of(document.title, document.text, docid)


def _columns(asked: Sequence[IndexSearch], state: PageState, shown: Sequence[ShownRanking]) -> list[Column]:
    hits: Mapping[str, Sequence[Evidence]] = {ranked.name: ranked.hits for ranked in shown}
    cards = _CardMaker(asked, state, hits, LONGEST_EXCERPT if len(shown) == 1 else SHORT_EXCERPT)
    columns: list[Column] = []
    for ranked in shown:
        kind = kinds_of(asked[0].served).get(ranked.name) if ranked.name != MANY else None
        label, help_ = (kind.LABEL, kind.HELP) if kind else ("All indexes", "one list over all of them, by rank")
        columns.append(Column(ranked.name, label, help_, ranked, cards.of(ranked)))
    return columns


class _CardMaker(NamedTuple):
    """Makes the cards of a page: ``hits`` are those of all columns."""

    asked: Sequence[IndexSearch]
    state: PageState
    hits: Mapping[str, Sequence[Evidence]]
    longest: int

    def of(self, ranking: ShownRanking) -> list[Card]:
        """Return the cards of a ranking."""
        pairs = zip(ranking.hits, ranking.reasons, strict=True)
        return [self._card(ranking.name, hit, reason) for hit, reason in pairs]

    def _card(self, column: str, hit: Evidence, reason: Reason) -> Card:
        served = self._index_of(hit)
        address = self.state.document(served.name, hit.docid, hit.passage.number)
        own = urljoin(request.url_root, url_for("page.document_page", name=served.name, docid=hit.docid))
        link = web_link(hit.url)
        return Card(
            hit=hit,
            anchor=f"{column}-{hit.rank}",
            pieces=excerpt(hit.passage.text, hit.passage.highlights, self.longest),
            link=link,
            elsewhere=elsewhere(hit.docid, column, self.hits),
            address=address if len(address) <= LONGEST_ADDRESS else own,
            reason=reason,
            cited=cited(hit, link or own),
            like=self.state.more_like(served.name, hit.docid),
            copies=[self._copy(served, docid) for docid in (hit.copies.docids[:_COPIES] if hit.copies else ())],
        )

    def _index_of(self, hit: Evidence) -> ServedIndex:
        return next((ranked.served for ranked in self.asked if ranked.served.name == hit.index), self.asked[0].served)

    def _copy(self, served: ServedIndex, docid: str) -> Copy:
        try:
            document = charged_document(served.index, docid)
        except NotFoundError:
            return Copy(docid, "")
        about = ", ".join(
            filter(None, (title_of(document.title, document.text, docid), document.source, document.date))
        )
        return Copy(about, url_for("page.document_page", name=served.name, docid=docid))


@blueprint.get("/documents/<name>/<docid:docid>")
def document_page(name: str, docid: str) -> tuple[str, int]:
    """Show a document with its passages."""
    state = read_state(request.args, READ)
    served = index_named(name)
    document = charged_document(served.index, docid)
    passages = served.index.passages(docid)
    chosen = int(state.passage) if state.passage.isascii() and state.passage.isdigit() else None
    shown = blocks(document, passages, chosen, _highlighter(served, state))
    back = state.index or [served.name]
    return page_of(
        "document.html",
        state.changed(index=back),
        served=served,
        document=document,
        title=title_of(document.title, document.text, document.docid),
        blocks=shown,
        count=len(passages),
        matching=[block for block in shown if block.marked and block.number is not None],
        link=web_link(document.url),
        back=state.query or state.like,
        like=PageState(index=[name], lang=state.lang, like=docid).address(),
        address=state.address(index=back, offset=state.offset),
    )


def _highlighter(served: ServedIndex, state: PageState) -> Highlighter:
    """Return what highlights the lines of a document while there is time."""
    if not state.query:
        return _unmarked
    asked = Search(profile=state.profile or None)
    marked, limit = highlighter(served.index.resolve(asked).text(state.query), served.index.terms), limit_of()
    return in_time(marked, partial(limit.is_over, HIGHLIGHTS))


def _unmarked(_: str) -> list[tuple[int, int]]:
    return []
