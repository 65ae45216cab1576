"""What stands around every page: the box with its choices, the tabs, the language; and the page of an error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from flask import Blueprint, current_app, g, redirect, render_template, request
from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.routing import MapAdapter
from werkzeug.wrappers import Response

from ...retrieval import stages
from ...retrieval.errors import FactseekError
from ..errors import Problem
from ..memory import answer_memory
from ..runtime import ServedIndex, index_named, registry
from ..search import TimedOutError, limit_of
from .i18n import LANGUAGES, asked_values, speech
from .searching import kinds_of
from .state import LONGEST_ADDRESS, PageState

blueprint = Blueprint("page", __name__)
READING = ("GET", "HEAD")
"""The methods that ask for an address; any other sends a form."""
AGAIN = "to"
"""The field of a form that stands for a link whose address would be too long: the parameters besides the query."""
_COUNTED = 1 << 16
"""Bytes of a page after which its memory and its time are counted."""
_SHARED = ("index", "lang")
"""The parameters that a tab hands to the next."""
_OWN_CHOICES = ("collapse", "sort")
"""The stages that the page asks for by a choice of their own."""


class Tab(NamedTuple):
    """A tab of the page: its English label, and its address."""

    label: str
    endpoint: str


class StageChoice(NamedTuple):
    """A stage as a state may ask for it, its label, what it does, and whether it is asked for."""

    value: str
    label: str
    help: str
    asked: bool


TABS = (
    Tab("Search", "page.search_page"),
    Tab("Check", "page.check_page"),
    Tab("Verify", "page.verify_page"),
    Tab("Add", "page.add_page"),
)


def page_of(template: str, state: PageState, status: int = 200, **shown: Any) -> tuple[str, int]:
    """Return a page with the box of a state."""
    return _rendered(template, {**box_of(state), **shown}), status


def _rendered(template: str, shown: dict[str, Any]) -> str:
    """Return what a template makes of its values.

    Raises NoMemoryError if there is no memory for it, TimedOutError if it takes longer than a search may.
    """
    memory, limit, pieces, size = answer_memory(), limit_of(), list[str](), 0
    current_app.update_template_context(shown)
    for piece in current_app.jinja_env.get_template(template).generate(shown):
        pieces.append(piece)
        size += sys.getsizeof(piece)
        if size > _COUNTED:
            memory.spend(size)
            size = 0
            if limit.is_over(template):
                raise TimedOutError("the page took too long to make; choose less")
    return "".join(pieces)


def box_of(state: PageState) -> dict[str, Any]:
    """Return what the box of a state shows: the indexes, those that are chosen, and what they offer."""
    indexes = registry().indexes
    chosen = [indexes[name] for name in state.index if name in indexes] or list(indexes.values())[:1]
    return {
        "state": state,
        "indexes": indexes,
        "chosen": [served.name for served in chosen],
        "kinds": kinds_of(chosen[0]) if len(chosen) == 1 else {},
        "folding": any(served.index.info.published.has_signatures for served in chosen),
        "stage_choices": _stage_choices(state, chosen),
    }


def chosen_indexes(state: PageState) -> list[ServedIndex]:
    """Return the indexes that a state asks, the first that is served if it names none.

    Raises UnknownIndexError if there is none of a name.
    """
    names = list(dict.fromkeys(state.index)) or list(registry().indexes)[:1]
    return [index_named(name) for name in names or [""]]


def asked_parameters() -> MultiDict[str, str]:
    """Return the parameters of the current request, of its address or of its form."""
    if request.method in READING:
        return request.args
    form = MultiDict(request.form)
    again = form.poplist(AGAIN)[-1:] or [""]
    further = parse_qsl(urlsplit(again[0]).query)
    return MultiDict([*form.items(multi=True), *further])


def short_of(address: str) -> Response | None:
    """Return the way to an address that a form asked for; None where it is too long for one, or was asked for."""
    if request.method in READING or len(address) > LONGEST_ADDRESS:
        return None
    return redirect(address, 303)


def file_of(name: str) -> FileStorage | None:
    """Return the file that a form sends under this name, if it does."""
    file = request.files.get(name)
    return file if file and file.filename else None


def _stage_choices(state: PageState, chosen: Sequence[ServedIndex]) -> list[StageChoice]:
    """Return the stages that all of these indexes can answer, and what else the state asks for."""
    asked = {stage.partition("=")[0]: stage for stage in state.stages}
    offered = [
        name for name in stages.names() if name not in _OWN_CHOICES and all(_answers(served, name) for served in chosen)
    ]
    return [
        StageChoice(asked.get(name, name), *(_explained(name) if name in offered else (name, "")), name in asked)
        for name in dict.fromkeys([*offered, *asked])
    ]


def _explained(stage: str) -> tuple[str, str]:
    """Return the label of a stage and what it does, without how a program asks for it."""
    kind = stages.KINDS.load(stage)
    return kind.LABEL, kind.HELP.rpartition(": ")[0]


def _answers(served: ServedIndex, stage: str) -> bool:
    index = served.index
    try:
        stages.opened([stage], stages.StageContext(index.settings, index.info.published, lambda: index.terms))
    except FactseekError:
        return False
    return True


@blueprint.app_context_processor
def _around() -> dict[str, Any]:
    """Return what all templates see."""
    spoken = speech()
    return {
        "t": spoken,
        "speech": spoken,
        "languages": LANGUAGES,
        "tabs": [(tab.label, tab.endpoint) for tab in TABS],
        "shared": _shared(),
        "in_language": _in_language,
        "longest": LONGEST_ADDRESS,
        "again_field": AGAIN,
        "beside_query": _beside_query,
    }


def _shared() -> dict[str, Any]:
    asked = asked_values()
    values_of = {name: asked.getlist(name) for name in _SHARED}
    # What is refused is on a page, too: its links hold no more of it than those of any other.
    return {name: values for name, values in values_of.items() if values and len("".join(values)) <= LONGEST_ADDRESS}


def _in_language(code: str) -> str:
    """Return the address, relative to this one, of the same page in another language."""
    asked = [pair for pair in request.args.items(multi=True) if pair[0] != "lang"]
    return f"?{urlencode([*asked, ('lang', code)])}"


def _beside_query(address: str) -> str:
    """Return the parameters of an address without the query, which a form sends beside them."""
    pairs = urlsplit(address).query.split("&")
    return f"?{'&'.join(pair for pair in pairs if not pair.startswith('query='))}"


_NO_BOX = frozenset({401, 429, 500})
"""Errors whose reader may not see what is served, or who could ask for nothing."""


def problem_page(problem: Problem) -> str:
    """Return the page of an error. Its links need nothing of the request, whose Host may be what is wrong with it."""
    addresses = current_app.url_map.bind("")
    before_its_key = bool(registry().config.server.keys) and "caller" not in g
    box = {} if before_its_key or problem.status in _NO_BOX else box_of(PageState())
    return render_template("problem.html", problem=problem, url_for=partial(_address, addresses), **box)


def _address(addresses: MapAdapter, endpoint: str, **values: str) -> str:
    """Return the address of an endpoint within this server."""
    return addresses.build(endpoint, values)
