"""The pages: search, its rankings side by side, and a document with its passages. They need no JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flask import Blueprint, render_template, request

from retrieval.config import RetrieverName
from retrieval.errors import QueryError
from retrieval.evidence import Evidence
from server.cards import Card, blocks, cards, web_link
from server.requests import SearchOptions
from server.search import Found, found, search_of
from server.service import Served, index_named, service

blueprint = Blueprint("page", __name__)


class Kind(NamedTuple):
    """What a ranking is called and what it goes by."""

    label: str
    summary: str


class Column(NamedTuple):
    """One ranking."""

    name: RetrieverName
    kind: Kind
    found: Found
    cards: list[Card]


@dataclass(frozen=True, slots=True)
class Example:
    """A claim whose evidence is in a bundled index."""

    index: str
    claim: str


KINDS: dict[RetrieverName, Kind] = {
    "bm25": Kind("Sparse", "BM25: the same words"),
    "dense": Kind("Dense", "vectors: the same meaning"),
    "hybrid": Kind("Hybrid", "both rankings fused"),
}
EXAMPLES = (
    Example("example-en", "Two doses of the measles vaccine are 97 percent effective."),
    Example("example-en", "Pluto has not been counted among the planets since 2006."),
    Example("example-ar", "نهر النيل أطول من نهر الأمازون."),
)


@blueprint.get("/")
def search_page() -> tuple[str, int]:
    """Show the search box and, if there is a query, what each retriever finds for it."""
    indexes = service().indexes
    name = request.args.get("index") or next(iter(indexes), "")
    query = request.args.get("query", "").strip()
    as_of = request.args.get("as_of", "").strip()
    shown = {"indexes": indexes, "chosen": name, "query": query, "as_of": as_of, "kinds": KINDS, "columns": []}
    if not query:
        return render_template("search.html", **shown, examples=[e for e in EXAMPLES if e.index in indexes]), 200
    served = index_named(name)
    try:
        columns = _columns(served, query, as_of)
    except QueryError as error:
        return render_template("search.html", **shown, problem=error.line), 400
    return render_template("search.html", **(shown | {"columns": columns}), note=_note(columns)), 200


@blueprint.get("/documents/<name>/<docid:docid>")
def document_page(name: str, docid: str) -> str:
    """Show a document with its passages."""
    served = index_named(name)
    document = served.index.document(docid)
    passages = served.index.passages(docid)
    chosen = request.args.get("passage", type=int)
    return render_template(
        "document.html",
        served=served,
        document=document,
        blocks=blocks(document, passages, chosen),
        count=len(passages),
        chosen=chosen,
        link=web_link(document.url),
        back=request.args.get("query", ""),
        as_of=request.args.get("as_of", ""),
    )


def _columns(served: Served, query: str, as_of: str) -> list[Column]:
    options = SearchOptions(as_of=as_of)
    rankings: dict[RetrieverName, Found] = {}
    for name in (name for name in KINDS if name in served.retrievers):
        asked = search_of(options, served.index)._replace(retriever=name)
        rankings[name] = found(served.index, query, asked)
    return [Column(name, KINDS[name], ranking, _cards(name, rankings)) for name, ranking in rankings.items()]


def _cards(name: RetrieverName, rankings: dict[RetrieverName, Found]) -> list[Card]:
    others: dict[str, Sequence[Evidence]] = {
        other: ranking.hits for other, ranking in rankings.items() if other != name
    }
    return cards(name, rankings[name].hits, others)


def _note(columns: list[Column]) -> str:
    return next((column.found.note for column in columns if column.found.note), "")
