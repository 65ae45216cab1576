"""The search page with one list of evidence or several rankings side by side, its downloads, and
the document page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

import msgspec
from flask import Response, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from ...core.deadline import HIGHLIGHTS
from ...core.domain import Document, Passage
from ...core.errors import NotFoundError, QueryError
from ...core.text import web_link
from ...retrieval.lucene.analysis import highlighter, in_time
from ...retrieval.lucene.spelling import respelt
from ...retrieval.search import listings
from ...retrieval.search.evidence import Evidence, PassageAnswer
from ...retrieval.search.options import Search
from ...retrieval.search.query_syntax import QUERY, parse_query
from ..auth import key_name
from ..call import current_call
from ..errors import BadInput
from ..memory import charged_document
from ..permissions import is_writable
from ..runtime import ServedIndex, index_named, registry
from .cards import (
    LONGEST_EXCERPT,
    LONGEST_FOUND,
    REVIEW,
    Mark,
    blocks,
    citations,
    claim_beside,
    excerpt,
    explanation_of,
    finding_of,
    review_of,
    title_of,
)
from .exports import ExportedHits, check_format, export_hits
from .forms import ONLY_LINK, is_only_link
from .i18n import direction_of, page_language, translate
from .layout import blueprint, chosen_indexes, page_of, reason_of, short_of, state_parameters
from .rankings import (
    MANY,
    IndexSearch,
    ShownRanking,
    absent_words_of,
    are_unrelated,
    chips_of,
    facets_of,
    labels_of,
    quotations_of,
    ranking,
    rankings,
    searches_of,
)
from .state import (
    FORMATS,
    LIST,
    LONGEST_ADDRESS,
    READ,
    SEARCHED,
    SIDE,
    PageState,
    PlainState,
    read_state,
)

SHORT_EXCERPT = 220  # the maximum number of characters of an excerpt in side-by-side columns
HITS = 100  # the number of hits of a download, unless the address gives another number
_COPIES = 10  # the maximum number of near-duplicates to list under a hit
# The document page leaves out a metadata value with more characters than this.
_LONGEST_DETAIL = 300
STAGES = {"retrieve": "ranking", "evidence": "evidence"}


EXAMPLES = (
    ("example-en", "Two doses of the measles vaccine are 97 percent effective."),
    ("example-en", "Pluto has not been counted among the planets since 2006."),
    ("example-ar", "نهر النيل أطول من نهر الأمازون."),
)
"""Bundled indexes, each with a claim whose evidence it contains."""


@blueprint.route("/", methods=["GET", "POST"])
def search_page() -> tuple[str, int] | AnyResponse:
    """Show the search box and, if there is a query, its evidence; redirect a form to the address of
    its state.
    """
    try:
        state = read_state(state_parameters())
    except BadInput as error:
        return page_of("search.html", PageState(), 400, problem=error.unnamed)
    if away := short_of(state.address(offset=state.offset)):
        return away
    if not (state.query or state.like):
        examples = [(index, claim) for index, claim in EXAMPLES if index in registry().indexes]
        return page_of("search.html", state, examples=examples)
    if is_only_link(state.query):
        return page_of("search.html", state, 400, problem=ONLY_LINK)
    served = chosen_indexes(state)
    try:
        return page_of("search.html", state, **_results(served, state))
    except QueryError as error:
        return page_of("search.html", state, 400, problem=reason_of(error), chips=chips_of(state))


def _results(served: Sequence[ServedIndex], state: PageState) -> dict[str, Any]:
    state, searches, shown, quotations = _search_and_read_quotes(served, state)
    several, after = len(searches) > 1, state.offset + searches[0].size
    # An index answers only pages that end within its first ``max_k`` hits.
    reached = all(after + part.size <= part.served.index.settings.search.max_k for part in searches)
    total, boxes = facets_of(searches, state)
    is_related = any(ranked.related for ranked in shown)
    first_note = next((ranked.note for ranked in shown if ranked.note), "")
    return {
        "columns": _columns(searches, state, shown),
        "several": several,
        "nothing_bears": not state.offset and are_unrelated(shown),
        "absent_words": [] if state.offset else absent_words_of(shown),
        "timed": msgspec.structs.asdict,
        "stages": STAGES,
        "note": "" if several and is_related else first_note,
        "undated": sum(part.served.index.undated(part.search) for part in searches),
        "suited": [] if several or is_related else registry().suited_to(state.query, served[0]),
        "quotations": quotations,
        "meant": _correct_query(searches, state),
        "likeness": _about(served[0], state.like)[0] if state.like else "",
        "chips": chips_of(state),
        "total": total,
        "facets": boxes,
        "formats": FORMATS,
        "export_hits": HITS,
        "json_address": _json_address(state, served),
        "next": state.address(offset=after)
        if reached and any(ranked.more for ranked in shown)
        else "",
        "previous": state.address(offset=max(0, state.offset - searches[0].size))
        if state.offset
        else "",
    }


def _search_and_read_quotes(
    served: Sequence[ServedIndex], state: PageState
) -> tuple[PageState, list[IndexSearch], list[ShownRanking], list[str]]:
    """Return a state with its searches, its rankings, and the quotations that no document contains,
    read as text.
    """
    searches = searches_of(served, state)
    shown = _rank(searches, state)
    quotations = [] if any(ranked.hits for ranked in shown) else quotations_of(state)
    if quotations and state.offset:  # the hits may only have ended before this page
        first = _rank(searches_of(served, state.with_changes()), state)
        quotations = [] if any(ranked.hits for ranked in first) else quotations
    if not quotations:
        return state, searches, shown, []
    plain = PlainState(**msgspec.structs.asdict(state))
    searches = searches_of(served, plain)
    return plain, searches, _rank(searches, plain), quotations


def _rank(searches: Sequence[IndexSearch], state: PageState) -> list[ShownRanking]:
    return rankings(searches) if state.view == SIDE else [ranking(searches)]


def _correct_query(searches: Sequence[IndexSearch], state: PageState) -> str:
    """Return the query with its misspelt words corrected, ``""`` if there is nothing to correct.

    One index may know the right form of a word, and another that of the next one. But a word that
    any of them contains is not misspelt.
    """
    spellings: dict[str, str] = {}
    for part in searches:
        spellings = {**part.served.index.spellings(part.query, part.search), **spellings}
    for part in searches:
        misspelt = part.served.index.find_unwritten(list(spellings))
        spellings = {word: spellings[word] for word in misspelt}
    if not spellings:
        return ""
    meant = respelt(state.query, spellings)
    return meant if len(state.address(query=meant)) <= LONGEST_ADDRESS else ""


def _columns(
    searches: Sequence[IndexSearch], state: PageState, shown: Sequence[ShownRanking]
) -> list[dict[str, Any]]:
    """Return what the templates show of each ranking: a card for each hit, with its ranks in the
    other columns.
    """
    ranks = {  # of the best passage of each document
        ranked.name: {(hit.index, hit.docid): hit.rank for hit in reversed(ranked.hits)}
        for ranked in shown
    }
    by_name = {part.served.name: part.served for part in searches}
    columns = []
    for ranked in shown:
        others = [(name, of_column) for name, of_column in ranks.items() if name != ranked.name]
        cards = []
        for hit, reason in zip(ranked.hits, ranked.reasons, strict=True):
            place = hit.index, hit.docid
            card = _card(by_name.get(hit.index or "", searches[0].served), hit, state)
            card["anchor"] = f"{ranked.name}-{hit.rank}"
            longest = _longest_excerpt(hit, are_columns=len(shown) > 1)
            card["pieces"] = excerpt(hit.passage.text, hit.passage.highlights, longest)
            card["found"] = finding_of(hit, card["pieces"])
            card["places"] = {
                name: of_column[place] for name, of_column in others if place in of_column
            }
            card["reason"] = reason
            cards.append(card)
        label, help_ = labels_of(ranked.name)
        if ranked.name == MANY:
            label, help_ = "All indexes", "one list over all of them, by rank"
        # Weak hits before a better one stay firm: after a fusion, a good hit may follow weak hits
        # of another ranking.
        firm = len(cards) - len([*takewhile(lambda card: card["hit"].weak, reversed(cards))])
        if ranked.related and not firm:
            # A claim in another language than the documents is seldom nearer to a right hit.
            firm = len(cards)
        late = ", ".join(labels_of(name)[0].lower() for name in ranked.late)
        column = {"label": label, "help": help_, "ranking": ranked, "cards": cards, "late": late}
        columns.append({**column, "firm": cards[:firm], "weak": cards[firm:]})
    return columns


def _longest_excerpt(hit: Evidence, *, are_columns: bool) -> int:
    """Return the most characters of the excerpt of a hit."""
    if not are_columns:
        return LONGEST_EXCERPT
    # An excerpt of what a fact-checker found is as long as it would be under the claim.
    return LONGEST_FOUND if hit.claim else SHORT_EXCERPT


def _card(served: ServedIndex, hit: Evidence, state: PageState) -> dict[str, Any]:
    """Return what the templates show of a hit in any column; ``copies`` are near-duplicates grouped
    under it.
    """
    address = state.document(served.name, hit.docid, hit.passage.number)
    own = url_for("page.document_page", name=served.name, docid=hit.docid, _external=True)
    link, example = web_link(hit.url), listings.is_example(served.name, hit.metadata)
    copies = []
    for docid in hit.copies.docids[:_COPIES] if hit.copies else ():
        try:
            about = ", ".join(filter(None, _about(served, docid)))
            copy = state.document(served.name, docid)
            short = url_for("page.document_page", name=served.name, docid=docid)
            copies.append((about, copy if len(copy) <= LONGEST_ADDRESS else short))
        except NotFoundError:
            copies.append((docid, ""))
    return {
        "hit": hit,
        "titled": bool(hit.title),
        "example": example,
        "title": title_of(hit.title, hit.passage.text, hit.docid),
        "direction": "rtl" if direction_of(hit.language) == "rtl" else "auto",
        "review": review_of(hit.metadata, hit.kind),
        "link": link,
        "address": address if len(address) <= LONGEST_ADDRESS else own,
        **citations(served, hit),
        "like": state.address(query="", like=hit.docid, index=[served.name], profile=""),
        "copies": copies,
    }


def _document_card(
    served: ServedIndex, document: Document, passage: Passage, kind: str
) -> dict[str, Any]:
    """Return what the template shows of a document to cite it, as of a hit."""
    hit = Evidence(
        rank=1,
        score=0.0,
        retrievers={},
        passage=PassageAnswer(
            number=passage.number,
            start=passage.start,
            end=passage.end,
            text=passage.text,
            highlights=[],
        ),
        claim=claim_beside(document, passage.text, kind),
        kind=kind,
        docid=document.docid,
        title=document.title,
        url=document.url,
        date=document.date,
        language=document.language,
        source=document.source,
        topic=document.topic,
        metadata=dict(document.metadata),
    )
    return {
        "anchor": "document",
        "title": title_of(document.title, document.text, document.docid),
        **citations(served, hit),
    }


def _about(served: ServedIndex, docid: str) -> tuple[str, str, str]:
    document = charged_document(current_call().memory, served.index, docid)
    return title_of(document.title, document.text, docid), document.source, document.date


@blueprint.route("/export", methods=["GET", "POST"])
def export() -> Response:
    """Return the first hits of a state as a download; for several indexes, those of the one ranking
    over them.
    """
    parameters = state_parameters().copy()
    format = parameters.pop("format", "")
    state = read_state(parameters, (*SEARCHED, "format"))
    check_format(format)
    if not (state.query or state.like):
        raise BadInput("query", "there is nothing to export: search for something first")
    served = chosen_indexes(state)
    most = min(each.index.settings.search.max_k for each in served)
    hits_wanted = state.hits or min(HITS, most)
    _, _, shown, _ = _search_and_read_quotes(
        served, state.with_changes(view=LIST, hits=hits_wanted, offset=state.offset)
    )
    (ranked,) = shown
    hits = [listings.cited_hit(hit, hit.index or served[0].name) for hit in ranked.hits]
    about = state.query
    if state.like:
        title = _about(served[0], state.like)[0]
        about = f"{translate(page_language(), 'More like')} {title}"
    exported = ExportedHits(
        query=state.query,
        about=about,
        hits=hits,
        related=ranked.related,
        absent_words=ranked.absent_words,
        late=ranked.late,
    )
    return export_hits(exported, format)


def _json_address(state: PageState, served: Sequence[ServedIndex]) -> str:
    if len(served) > 1:
        hits = state.hits or served[0].index.settings.search.k
        address = url_for(
            "page.export", format=listings.JSON, **{**state.parameters(), "hits": hits}
        )
    else:
        own = ("index", "view", "lang", "passage", "collapse", "profile")
        parameters = {name: value for name, value in state.parameters().items() if name not in own}
        parameters["collapse"] = state.options(served[0].index).collapse
        if state.query:
            parameters["syntax"] = QUERY if state.syntax == QUERY else None
            parameters["profile"] = "tweet" if state.profile == "tweet" else None
        address = url_for("api.search_simply", name=served[0].name, **parameters)
    return address if len(address) <= LONGEST_ADDRESS else ""


def _details(metadata: Mapping[str, Any]) -> dict[str, str]:
    return {
        name.replace("_", " "): str(value)
        for name, value in metadata.items()
        if name not in (*REVIEW, "explanation")
        and isinstance(value, str | int | float)
        and len(str(value)) <= _LONGEST_DETAIL
    }


@blueprint.get("/indexes")
def indexes_page() -> tuple[str, int]:
    """List the served indexes for people."""
    state = read_state(request.args, ("index", "lang"))
    indexes = registry().indexes
    changeable = {name: is_writable(served) for name, served in indexes.items()}
    return page_of("indexes.html", state, changeable=changeable)


def _wanted_words(state: PageState) -> str:
    """Return the words of a query that its hits may contain, without its other conditions."""
    if state.syntax != QUERY:
        return state.query
    try:
        parsed = parse_query(state.query)
    except QueryError:
        return state.query
    return " ".join((parsed.text, *parsed.title))  # the text has the words of the phrases


@blueprint.get("/documents/<name>/<docid:docid>")
def document_page(name: str, docid: str) -> tuple[str, int]:
    """Show a document with its passages, and mark the words that match the query, as far as time
    allows.
    """
    state = read_state(request.args, READ)
    served = index_named(name)
    document = charged_document(current_call().memory, served.index, docid)
    passages, addition = served.index.passages(docid), served.index.addition(docid)
    chosen = int(state.passage) if state.passage.isascii() and state.passage.isdigit() else None
    mark: Mark = lambda _: []  # noqa: E731  without a query, nothing matches
    if state.query:
        text = served.index.resolve(Search(profile=state.profile or None)).text(
            _wanted_words(state)
        )
        mark = in_time(
            highlighter(text, served.index.terms),
            partial(current_call().limit().is_over, HIGHLIGHTS),
        )
    shown, example = (
        blocks(document, passages, chosen, mark),
        listings.is_example(name, document.metadata),
    )
    back = state.index or [served.name]
    return page_of(
        "document.html",
        state.with_changes(index=back),
        served=served,
        document=document,
        example=example,
        title=title_of(document.title, document.text, docid),
        review=review_of(document.metadata, addition.kind),
        found=explanation_of(document.metadata).splitlines()
        if explanation_of(document.metadata) not in document.text
        else [],
        details={} if example else _details(document.metadata),
        blocks=shown,
        count=len(passages),
        matching=[block for block in shown if block["marked"] and block["number"] is not None],
        link="" if example else web_link(document.url),
        back=state.query or state.like,
        like=PageState(index=[name], lang=state.lang, like=docid).address(),
        address=state.address(index=back, offset=state.offset),
        addition=addition,
        card=_document_card(served, document, passages[0], addition.kind),
        has_key=bool(key_name()),
        may_change=is_writable(served),
    )
