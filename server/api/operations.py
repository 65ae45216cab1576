"""The declaration of a route: its address, its types, its errors and its part of the description of
the API, in one place beside its view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from flask import Blueprint, Flask, Request, Response
from flask.globals import request_ctx

from ..call import current_call
from ..errors import BadInput, Failure
from ..permissions import writable
from ..runtime import index_named
from ..schemas import RequestFields, from_body, from_query, json_answer

CLAIM = "Two doses of the measles vaccine are 97 percent effective."  # for examples
JSON, NDJSON, TEXT = "application/json", "application/x-ndjson", "text/plain"
Tag = Literal["Search", "Documents", "Writing", "Claims", "Indexes", "Operation", "Protocols"]
"""The groups of operations, in the order of the API's description.

``Writing`` needs a key and a server that allows changes. ``Operation`` is for monitoring.
"""
TAGS: tuple[Tag, ...] = get_args(Tag)
# The key in app.extensions for the operations, by endpoint.
_OPERATIONS = "factseek.operations"
_NONE: Mapping[Any, Any] = MappingProxyType({})
# Statuses of a request whose query string, or whose body, cannot be read.
_BAD_QUERY, _BAD_BODY = (400,), (400, 413, 415)
View = TypeVar("View", bound=Callable[..., Any])


class Operation(NamedTuple):
    """A route's requests and answers.

    The address, the method and the summary come from the route itself.
    """

    tag: Tag
    answer: type | None = None  # the type of the JSON answer with status, if there is one
    parameters: type[RequestFields] | None = None
    body: type[RequestFields] | None = None
    # Whether the request has several objects of the type body: as a JSON array, or one per line.
    many: bool = False
    status: int = 200  # the status of a successful answer
    conditions: Mapping[str, str] = _NONE  # request headers that make the request conditional
    problems: tuple[int, ...] = ()  # error statuses in addition to those that any route may answer
    # Answers that are not JSON, by media type: chosen by Accept, or the only one.
    other: Mapping[str, str] = _NONE
    headers: Mapping[str, str] = _NONE  # headers of the answer, and their meaning
    # Other statuses that are no errors: the answer's type, or why there is none.
    also: Mapping[int, type | str] = _NONE
    example: Mapping[str, Any] = _NONE  # of a body, of an item of a list of them, or of parameters
    # The shape of errors in an adapter's protocol; None for factseek's own shape.
    failure: type[Failure] | None = None
    # The protocol's status for each of factseek's statuses, if they differ.
    statuses: Mapping[int, int] = _NONE
    answers_list: bool = False  # whether the answer is a list of answer


class Routes:
    """Routes of one module, each declared beside its view by :meth:`route`."""

    def __init__(
        self,
        name: str,
        module: str,
        tag: Tag,
        failure: type[Failure] | None = None,
        statuses: Mapping[int, int] = _NONE,
    ) -> None:
        """Take the name of the routes in endpoints, the name of their module, and the tag of those
        routes that declare none.

        ``failure`` and ``statuses`` are the shape and the statuses of errors in another protocol.
        """
        self.blueprint = Blueprint(name, module)
        self.tag: Tag = tag
        self.failure = failure
        self.statuses = statuses
        self.operations: dict[str, Operation] = {}  # by endpoint
        self.changes: list[str] = []  # addresses of POST routes that change an index

    def route(
        self,
        method: str,
        address: str,
        example: Mapping[str, Any] = _NONE,
        *,
        tag: Tag | None = None,
        problems: tuple[int, ...] = (),
        changes: bool = False,
        misfit: Callable[[BadInput], Exception] | None = None,
        status: int = 200,
        answer: type | None = None,
        many: type[RequestFields] | None = None,
        conditions: Mapping[str, str] = _NONE,
        other: Mapping[str, str] = _NONE,
        headers: Mapping[str, str] = _NONE,
        also: Mapping[int, type | str] = _NONE,
    ) -> Callable[[View], View]:
        """Answer at an address with the result of a view: an AnswerPart, a list of AnswerParts, or
        a Response that the view has written itself.

        A variable of the address is ``name`` (an index), ``docid:docid``, ``docid:model`` or
        ``job``. Each view has one route, and its name is unique in the API's description. A request
        may give a parameter only once.

        The annotations of the view say what it takes and returns. ``body`` is the query string of a
        GET, else the request's JSON body. ``parameters`` is the query string of any request.
        ``served`` is the index of the request, and replaces the variable ``name``. ``call`` is the
        :class:`Call` of the request. The view's annotation gives the type of the answer, or
        ``answer`` does if the view returns a Response. If a request has ``many`` objects of a type,
        the view reads them itself.

        ``problems`` are error statuses that the view adds. If the view ``changes`` the index, the
        index must be writable. If the request does not fit its type, ``misfit`` turns the error
        into another one. The other arguments describe the answers: see :class:`Operation`.
        """

        def add(view: View) -> View:
            inputs = _Inputs(view, method)

            @wraps(view)
            def answer_view(**values: Any) -> Response:
                # The index comes first: a wrong index is reported before a wrong body.
                if inputs.index or changes:
                    name = self.index_name(values)
                    served = writable(name) if changes else index_named(name)
                    if inputs.index:
                        values.pop("name", None)
                        values["served"] = served
                try:
                    values.update(inputs.read(request_ctx.request))
                except BadInput as error:
                    raise (misfit(error) if misfit else error) from None
                result = view(**values)
                return result if isinstance(result, Response) else json_answer(result, status)

            self.blueprint.add_url_rule(address, view.__name__, answer_view, methods=[method])
            if changes and method == "POST":
                self.changes.append(address)
            returned, returns_list = _answer_of(get_type_hints(view)["return"])
            self.operations[f"{self.blueprint.name}.{view.__name__}"] = Operation(
                tag or self.tag,
                answer or returned,
                parameters=inputs.parameters,
                body=many or inputs.body,
                many=many is not None,
                status=status,
                conditions=conditions,
                problems=(
                    *inputs.problems,
                    *(_BAD_BODY if many else ()),
                    *((403,) if changes else ()),
                    *problems,
                ),
                other=other,
                headers=headers,
                also=also,
                example=example,
                failure=self.failure,
                statuses=self.statuses,
                answers_list=returns_list,
            )
            return view

        return add

    def index_name(self, values: Mapping[str, str]) -> str:
        """Return the name of the index of a request; ``values`` are the variables of its
        address.
        """
        return values["name"]

    def install(self, app: Flask, prefix: str | None = None) -> None:
        """Let ``app`` answer at these routes, below a prefix if there is one."""
        app.register_blueprint(self.blueprint, url_prefix=prefix)
        app.extensions.setdefault(_OPERATIONS, {}).update(self.operations)


class _Inputs:
    """What a view takes of a request, as the annotations of its arguments say."""

    def __init__(self, view: Callable[..., Any], method: str) -> None:
        kinds = get_type_hints(view)
        is_read = method == "GET"
        self.index = "served" in kinds  # whether the view takes the index of the request
        self.call = "call" in kinds
        # The argument that takes the query string.
        self.query_name = "body" if is_read else "parameters"
        self.parameters: type[RequestFields] | None = kinds.get(self.query_name)
        self.body: type[RequestFields] | None = None if is_read else kinds.get("body")

    def read(self, request: Request) -> dict[str, Any]:
        """Return the call, the query string and the body by the names of their arguments; raise
        what :func:`from_query` and :func:`from_body` raise.
        """
        values: dict[str, Any] = {}
        if self.call:
            values["call"] = current_call()
        if self.parameters is not None:
            values[self.query_name] = from_query(request.args, self.parameters)
        if self.body is not None:
            values["body"] = from_body(request, self.body)
        return values

    @property
    def problems(self) -> tuple[int, ...]:
        """The statuses of requests that do not fit."""
        return (
            *(_BAD_QUERY if self.parameters else ()),
            *(_BAD_BODY if self.body else ()),
            *((404,) if self.index else ()),
        )


def operations_of(app: Flask) -> Mapping[str, Operation]:
    """Return all operations of ``app`` by endpoint, in the order of their tags."""
    operations: Mapping[str, Operation] = app.extensions[_OPERATIONS]
    ordered = sorted(operations, key=lambda endpoint: TAGS.index(operations[endpoint].tag))
    return {endpoint: operations[endpoint] for endpoint in ordered}


def _answer_of(annotation: Any) -> tuple[type | None, bool]:
    """Return the type of the JSON answer of a view, and whether the answer is a list of it."""
    kinds = get_args(annotation) if get_origin(annotation) is UnionType else (annotation,)
    for kind in kinds:
        if kind is not Response:
            return (get_args(kind)[0], True) if get_origin(kind) is list else (kind, False)
    return None, False
