"""An error as a page, with the box, so that whoever met it can ask again at once."""

from __future__ import annotations

from functools import partial

from flask import current_app, g, render_template
from werkzeug.routing import MapAdapter

from ..contract.errors import Problem
from ..runtime import registry
from .shell import box_of
from .state import PageState

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
