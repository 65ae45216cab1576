"""The frame of every page: the search box with its choices, the tabs, the language; and the error
page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
from flask import Blueprint, current_app, g, redirect, render_template, request
from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.wrappers import Response

from ...core.errors import FactseekError
from ...retrieval import stages
from ...retrieval.search.declared import Option, stage_options
from ..call import current_call
from ..errors import BadInput, Problem
from ..permissions import is_writable
from ..runtime import ServedIndex, index_named, registry
from ..schemas import RequestFields
from ..search import TimedOutError
from ..uploads import ADDRESS
from .i18n import (
    LANGUAGES,
    LINK_FIELD,
    direction_of,
    name_of_language,
    page_language,
    request_values,
    translate,
)
from .notes import plain_note, plain_problem
from .rankings import kinds_of
from .state import LONGEST_ADDRESS, TRUE, PageState, address_of, further_options, values_of

blueprint = Blueprint("page", __name__)
# The methods that read an address; a request with another method sends a form.
READING = ("GET", "HEAD")
TABS = {
    "Search": ("search_page", "query"),
    "Check": ("check_page", "text"),
    "Verify": ("verify_page", "claim"),
    "Add": ("add_page", "claim"),
}
"""The tabs, each with the parameter that receives the claim from another tab."""
_LONGEST_CLAIM = 1_000  # the maximum number of characters of a claim that is passed from tab to tab
_COUNTED = 1 << 17  # the number of bytes of a page after which memory and time are checked again
_SHARED = ("index", "lang")  # the parameters that each tab passes to the next
# After these errors, users may not see the indexes, or cannot search.
_NO_BOX = frozenset({401, 429, 500})


def page_of(template: str, state: PageState, status: int = 200, **shown: Any) -> tuple[str, int]:
    """Return a page with the search box of a state; raise NoMemoryError, or TimedOutError if this
    takes too long.
    """
    memory = current_call().memory
    limit = current_call().limit()
    pieces: list[str] = []
    size = 0
    values = {**box_of(state), **shown}
    current_app.update_template_context(values)
    for piece in current_app.jinja_env.get_template(template).generate(values):
        pieces.append(piece)
        size += sys.getsizeof(piece)
        if size > _COUNTED:
            memory.spend(size)
            size = 0
            if limit.is_over(template):
                raise TimedOutError(
                    "the page took too long to build; choose fewer hits or less text"
                )
    return "".join(pieces), status


def reason_of(error: FactseekError) -> str:
    """Return the text of an error for a page, which names a field by its label, not by its
    parameter.
    """
    return error.unnamed if isinstance(error, BadInput) else error.line


def box_of(state: PageState) -> dict[str, Any]:
    """Return the values for a state's search box: the indexes, the chosen ones, and their
    options.
    """
    indexes = registry().indexes
    chosen = [indexes[name] for name in state.index if name in indexes] or list(indexes.values())[
        :1
    ]
    wanted = {stage.partition("=")[0]: stage for stage in state.stages}
    offered = [
        name
        for name in stages.names()
        if name not in stage_options() and all(_answers(served, name) for served in chosen)
    ]
    choices = []
    for name in dict.fromkeys([*offered, *wanted]):
        kind = stages.KINDS.load(name) if name in offered else None
        # Without the option, which follows the last colon.
        help_ = kind.HELP.rpartition(": ")[0] if kind else ""
        choice = {
            "value": wanted.get(name, name),
            "label": kind.LABEL if kind else name,
            "help": help_,
        }
        choices.append({**choice, "chosen": name in wanted})
    return {
        "state": state,
        "indexes": indexes,
        "chosen": [served.name for served in chosen],
        "all_empty": bool(chosen) and not any(served.index.info.documents for served in chosen),
        "may_add": any(map(is_writable, chosen[:1])),
        "kinds": kinds_of(chosen) if chosen else {},
        "folding": any(served.index.info.published.has_signatures for served in chosen),
        "stage_choices": choices,
        "further": [_control_of(option, state) for option in further_options()],
    }


def _control_of(option: Option, state: PageState) -> dict[str, Any]:
    """Return what the form shows of an option that it does not place by hand."""
    name = option.name_on("page")
    value = getattr(state, name)
    values = [*value, ""] if option.is_list else ["" if value is None else value]
    return {
        "name": name,
        "label": option.description,
        "kind": _kind_of_control(option),
        "least": option.least,
        "most": option.most,
        "step": "1" if option.is_whole_number else "any",
        "values": values,
        "choices": values_of(option),
        "chosen": name in state.parameters(),
    }


def _kind_of_control(option: Option) -> str:
    values = values_of(option)
    if values:
        return "checkbox" if values == (TRUE,) else "select"
    return "number" if option.is_number else "text"


def _answers(served: ServedIndex, stage: str) -> bool:
    index = served.index
    try:
        index.stages([stage])
    except FactseekError:
        return False
    return True


def chosen_indexes(state: PageState) -> list[ServedIndex]:
    """Return the indexes of a state, or the first served index if the state has none; raise
    UnknownIndexError.
    """
    names = list(dict.fromkeys(state.index)) or list(registry().indexes)[:1]
    return [index_named(name) for name in names or [""]]


def state_parameters() -> MultiDict[str, str]:
    """Return the parameters of the current request, from its address or from its form."""
    if request.method in READING:
        return request.args
    form = MultiDict(request.form)
    *_, again = "", *form.poplist(LINK_FIELD)
    return MultiDict([*form.items(multi=True), *parse_qsl(again.partition("?")[2])])


def short_of(address: str) -> Response | None:
    """Return a redirect from a form to an address; None if the address is too long or the request
    is no form.
    """
    if request.method in READING or len(address) > LONGEST_ADDRESS:
        return None
    return redirect(address, 303)


def file_of(name: str) -> FileStorage | None:
    """Return the file in a form's field, if any."""
    file = request.files.get(name)
    return file if file and file.filename else None


@blueprint.app_context_processor
def _around() -> dict[str, Any]:
    values, language = request_values(), page_language()
    named = {name: values.getlist(name) for name in _SHARED}
    # An error page may have received very long values. Its links leave them out.
    shared = {
        name: values
        for name, values in named.items()
        if values and len("".join(values)) <= LONGEST_ADDRESS
    }
    typed = (values.get(name, "").strip() for name in ("query", "claim", "text"))
    claim = next(
        (text for text in typed if text and "\n" not in text and len(text) <= _LONGEST_CLAIM), ""
    )
    if request.endpoint == "page.add_page" or "like" in values:
        claim = values.get("claim", "")[:_LONGEST_CLAIM]
    return {
        "t": partial(translate, language),
        "language": language,
        "direction": direction_of(language),
        "lang": values.get("lang") if values.get("lang") in LANGUAGES else None,
        "languages": LANGUAGES,
        "tabs": {
            label: (view, {**shared, field: claim} if claim else shared)
            for label, (view, field) in TABS.items()
        },
        "in_language": _in_language,
        "plain_note": partial(plain_note, language),
        "plain_problem": partial(plain_problem, language),
        "language_names": partial(_language_names, language),
        "longest": LONGEST_ADDRESS,
        "again_field": LINK_FIELD,
        "beside_text": _beside_text,
    }


def _language_names(language: str, codes: Iterable[str]) -> str:
    """Return the names of languages, in the language of the page."""
    names = [translate(language, name_of_language(code)) for code in codes]
    return ("، " if language == "ar" else ", ").join(names)


def _in_language(code: str, form: RequestFields | None) -> str:
    """Return the address of this page in a language; ``form`` has the fields of a page that was
    sent as a form.
    """
    if form and request.method not in READING:
        return address_of(str(request.endpoint), msgspec.structs.replace(form, lang=code))
    pairs = [pair for pair in request.args.items(multi=True) if pair[0] != "lang"]
    return f"?{urlencode([*pairs, ('lang', code)])}"


def _beside_text(address: str, field: str) -> str:
    pairs = urlsplit(address).query.split("&")
    return f"?{'&'.join(pair for pair in pairs if not pair.startswith(f'{field}='))}"


def problem_page(problem: Problem) -> str:
    """Return the error page. Its links do not depend on the request, whose Host may be invalid."""
    addresses = current_app.url_map.bind("", script_name=request.script_root)
    before_its_key = bool(registry().config.server.keys) and "caller" not in g
    box = {} if before_its_key or problem.status in _NO_BOX else box_of(PageState())

    asks = problem.status == 401
    view = f"{request.script_root}{request.full_path.rstrip('?')}" if asks else ""
    return render_template(
        "key.html" if asks else "problem.html",
        view=view if request.method in READING else "/",
        of_file=request.path == ADDRESS,
        problem=problem,
        url_for=lambda endpoint, **values: addresses.build(endpoint, values),
        **box,
    )
