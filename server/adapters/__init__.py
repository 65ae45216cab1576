"""Adapters for other protocols.

The name of an adapter is the name of its file. A client needs only the new address.

An adapter translates a client's request into a search, a ranking or an encoding, and the result
back. Its routes are below ``/NAME/``. It is served if ``server.adapters`` names it. Its module
defines an :class:`Adapter` as ``adapter``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, TypeVar, get_args, get_type_hints

from flask import Blueprint, Flask, Response, request

from ...core.errors import ConfigError
from ...core.plugins import Plugins
from ..api.operations import ADDED, Operation
from ..errors import DIALECTS, BadInput, Failure
from ..runtime import ServedIndex, index_named, registry
from ..schemas import from_body, from_query, json_answer
from ..writing import writable

TAG = "Protocols"
View = TypeVar("View", bound=Callable[..., Any])


class Adapter:
    """A protocol: the shape of its errors, and its routes with the addresses of the original
    server.

    ``statuses`` maps factseek's statuses to those of the original server if they differ.
    ``key_parameter`` is the query parameter with the client's key, or ``""``.
    """

    def __init__(
        self,
        module: str,
        failure: type[Failure],
        statuses: Mapping[int, int] = MappingProxyType({}),
        key_parameter: str = "",
    ) -> None:
        """Take the name of the module, which becomes the name of the protocol."""
        self.failure = failure
        self.statuses = statuses
        self.key_parameter = key_parameter
        self.blueprint = Blueprint(module.rpartition(".")[2], module)
        # The operation of each view, by the name of its function.
        self.operations: dict[str, Operation] = {}
        self.changes: list[str] = []  # addresses whose POST waits until an index is written

    def route(
        self,
        method: str,
        address: str,
        example: Mapping[str, Any] = MappingProxyType({}),
        *,
        problems: tuple[int, ...] = (),
        changes: bool = False,
        misfit: Callable[[BadInput], Exception] | None = None,
    ) -> Callable[[View], View]:
        """Answer at an address with the result of a view: an AnswerPart or a list of AnswerParts.

        A variable of the address is ``name`` (an index), ``docid:docid`` or ``docid:model``. Each
        view has one route. The names of the adapter's types and views begin with the protocol's
        name, because the API's description lists all protocols together. A request may give a
        parameter only once. Bodies and answers are JSON.

        The view's ``body`` is the query string of a GET, else the request's body; the annotation of
        ``body`` gives the type. If the request does not fit the type, ``misfit`` turns the error
        into one of the protocol. ``problems`` are error statuses that the view adds. If the view
        ``changes`` the index, the index must be writable.
        """

        def add(view: View) -> View:
            hints = get_type_hints(view)
            answer, kind, reads = hints["return"], hints.get("body"), method == "GET"
            listed = get_args(answer)

            @wraps(view)
            def answer_view(**values: str) -> Response:
                if changes:
                    writable(configured_index().name)
                if kind is None:
                    return json_answer(view(**values))
                try:
                    body = from_query(request.args, kind) if reads else from_body(request, kind)
                except BadInput as error:
                    raise (misfit(error) if misfit else error) from None
                return json_answer(view(body, **values))

            self.blueprint.add_url_rule(address, view.__name__, answer_view, methods=[method])
            if changes and method == "POST":
                self.changes.append(address)
            refused = () if kind is None else (400,) if reads else (400, 413, 415)
            self.operations[view.__name__] = Operation(
                TAG,
                listed[0] if listed else answer,
                parameters=kind if reads else None,
                body=None if reads else kind,
                problems=(*refused, *problems, *((403,) if changes else ())),
                answers_list=bool(listed),
                example=example,
                failure=self.failure,
                statuses=self.statuses,
            )
            return view

        return add


ADAPTERS = Plugins[Any](__name__, ConfigError, "adapter", "the adapters are")


def check(wanted: Mapping[str, str], indexes: Collection[str]) -> None:
    """Raise ConfigError, with the setting, if an adapter does not exist, or its index is not
    served.
    """
    for name, index in wanted.items():
        if name not in ADAPTERS.names():
            remedy = f"the adapters are {', '.join(ADAPTERS.names())}"
            raise ConfigError(
                f"there is no adapter {name[:80]!r}", place="server.adapters", remedy=remedy
            )
        if index and index not in indexes:
            place, remedy = f"server.adapters.{name}", f"the indexes are {', '.join(indexes)}"
            raise ConfigError(
                f"this server has no index {index[:80]!r}", place=place, remedy=remedy
            )


def install(app: Flask, wanted: Mapping[str, str], indexes: Collection[str]) -> None:
    """Let ``app`` serve these adapters, each with its index; raise ConfigError as :func:`check`
    does.
    """
    check(wanted, indexes)
    operations = app.extensions.setdefault(ADDED, {})
    for name in wanted:
        adapter: Adapter = ADAPTERS.load(name).adapter
        app.register_blueprint(adapter.blueprint, url_prefix=f"/{name}")
        app.extensions.setdefault(DIALECTS, {})[name] = adapter
        operations |= {
            f"{adapter.blueprint.name}.{view}": each for view, each in adapter.operations.items()
        }


def configured_index() -> ServedIndex:
    """Return the index configured for the request's adapter, else the first; raise what
    :func:`index_named` raises.
    """
    serving = registry()
    wanted = serving.config.server.adapters.get((request.blueprint or "").replace("_", "-"), "")
    return index_named(
        wanted or next(iter({**serving.config.server.indexes, **serving.indexes}), "")
    )
