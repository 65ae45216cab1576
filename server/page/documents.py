"""The page of one document with its passages."""

from __future__ import annotations

from functools import partial

from flask import request

from ...retrieval.display import web_link
from ...retrieval.highlight import Highlighter, highlighter, in_time
from ...retrieval.limit import HIGHLIGHTS
from ...retrieval.searcher import Search
from ..contract.search import limit_of
from ..memory import charged_document
from ..runtime import ServedIndex, index_named
from .cards import blocks, title_of
from .shell import blueprint, page_of
from .state import READ, PageState, read_state


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
