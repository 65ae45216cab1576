"""The description of the API as OpenAPI 3.1, from routes, types and configured limits: for programs
and as a page.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import msgspec
from flask import Blueprint, Flask, Response, current_app, render_template, request, url_for

from ... import __version__
from ...retrieval import retrievers
from ...retrieval.config import AUTO
from ...retrieval.search.options import FilterRequest
from ..errors import TITLES, Problem, slug_of
from ..runtime import registry
from ..schemas import BATCH_RESULTS, DocumentRequest
from ..settings import Config
from .operations import JSON, NDJSON, Operation, operations_of

blueprint = Blueprint("docs", __name__)
Json = dict[str, Any]
_REF = "#/components/schemas/{name}"
_MADE = "factseek.openapi"
_ABOUT = (
    "Find the evidence for a claim: BM25, dense and hybrid retrieval over the indexes that this "
    "server serves. "
    "Every answer contains its request id. Every error is a problem document (RFC 9457) with a "
    "stable code in `error`."
)
_UNREAD = (408, 414, 431)
_OVERLOAD = 503
_SAID = {
    403: "This server is read-only.",
    412: "The document does not match the condition, and was not changed.",
    _OVERLOAD: "The server is busy, the request took too long, or the index is unavailable.",
}
_KEYS: Json = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "basic": {
        "type": "http",
        "scheme": "basic",
        "description": "the key as the password, with any name",
    },
}
_FOREIGN_KEYS: Json = {**_KEYS, "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"}}
"""The ways in which clients of other protocols send keys."""
_COMMON_HEADERS: Json = {
    "X-Request-Id": {
        "description": (
            "the id that the request sends if it is 1 to 64 letters, digits, '.', '_' or '-', "
            "else a new id"
        ),
        "schema": {"type": "string"},
    },
    "Retry-After": {
        "description": "seconds to wait before the next try",
        "schema": {"type": "integer", "minimum": 1},
    },
}
_VARIABLE = re.compile(r"<(?:\w+:)?(\w+)>")
_PATHS = {
    "name": ("index", "the name of a served index"),
    "job": ("job", "a job's id"),
    "docid": ("docid", "a document's id; slashes may be written as %2F"),
    "model": ("model", "the name of a model; slashes may be written as %2F"),
}
"""The name of each route variable in the document, and its description."""
_SEARCHES = ("SearchRequest", "SearchManyRequest", "BatchRequest", "SimpleSearch")


def document(app: Flask, config: Config, names: Iterable[str]) -> Json:
    """Return the description of the API of ``app``, which serves indexes under ``names``."""
    rules = {rule.endpoint: rule for rule in app.url_map.iter_rules()}
    operations = operations_of(app)
    schemas = _schemas(config, operations.values())
    paths: Json = {}
    for endpoint, operation in operations.items():
        rule = rules[endpoint]
        summary, _, more = (inspect.getdoc(app.view_functions[endpoint]) or "").partition("\n\n")
        described: Json = {
            "operationId": endpoint.rpartition(".")[2],
            "tags": [operation.tag],
            "summary": summary.rstrip("."),
            "parameters": _parameters(rule.rule, list(names), operation, schemas),
            "responses": _responses(operation, config),
        }
        if more:
            described["description"] = more
        if operation.body:
            content: Json = {
                JSON: {"schema": _ref(operation.body), "example": dict(operation.example)}
            }
            if operation.many:
                schema = {"$ref": _REF.format(name="Documents")}
                content = {
                    JSON: {"schema": schema, "example": [dict(operation.example)]},
                    NDJSON: {"schema": {"type": "string", "description": "one document per line"}},
                }
            described["requestBody"] = {"required": True, "content": content}
        if config.server.keys and operation.tag != "Operation":
            keys = _FOREIGN_KEYS if operation.failure else _KEYS
            is_open = config.server.writes and not config.server.private
            none: list[Json] = (
                [{}] if is_open and operation.tag != "Writing" and not operation.failure else []
            )
            described["security"] = [*none, *({name: []} for name in keys)]
        method = next(
            name
            for name in ("get", "post", "put", "delete")
            if name.upper() in (rule.methods or ())
        )
        paths.setdefault(_VARIABLE.sub(lambda found: f"{{{_PATHS[found[1]][0]}}}", rule.rule), {})[
            method
        ] = described
    # The schemas of parameters are described where they are used.
    inline = {
        operation.parameters.__name__ for operation in operations.values() if operation.parameters
    }
    shown = {name: schema for name, schema in sorted(schemas.items()) if name not in inline}
    license_ = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    described = {
        "openapi": "3.1.0",
        "info": {
            "title": "factseek",
            "version": __version__,
            "description": _ABOUT,
            "license": license_,
        },
        "servers": [{"url": "/"}],
        "tags": [
            {"name": tag}
            for tag in dict.fromkeys(operation.tag for operation in operations.values())
        ],
        "paths": paths,
        "components": {"schemas": shown, "headers": _COMMON_HEADERS},
    }
    if config.server.keys:
        foreign = any(operation.failure for operation in operations.values())
        described["components"]["securitySchemes"] = _FOREIGN_KEYS if foreign else _KEYS
    plain: Json = msgspec.json.decode(msgspec.json.encode(described))
    return plain


def _ref(kind: type) -> Json:
    return {"$ref": _REF.format(name=kind.__name__)}


def _schemas(config: Config, operations: Iterable[Operation]) -> Json:
    named: set[type] = {Problem}
    for operation in operations:
        extra = [answer for answer in operation.also.values() if not isinstance(answer, str)]
        kinds = (operation.answer, operation.parameters, operation.body, operation.failure, *extra)
        named.update(kind for kind in kinds if kind not in (None, str))
    ordered = sorted(named, key=lambda kind: kind.__name__)
    _, schemas = msgspec.json.schema_components([*ordered, *BATCH_RESULTS], ref_template=_REF)
    search, server = config.search, config.server
    schemas["BatchAnswer"]["properties"]["results"]["items"] = {
        "anyOf": [_ref(kind) for kind in BATCH_RESULTS]
    }
    schemas["Documents"] = {
        "description": (
            "Documents, each checked separately: only an invalid document is refused, and "
            "the job gives the reason."
        ),
        "type": "array",
        "items": {"anyOf": [_ref(DocumentRequest), {"type": "object"}]},
        "minItems": 1,
        "maxItems": server.max_bulk,
    }
    schemas["SearchRequest"]["anyOf"] = [{"required": ["query"]}, {"required": ["like"]}]
    limits: dict[tuple[str, str], Json] = {
        # This is not a limit of the request: in a batch, only the query that is too long fails.
        ("BatchQuery", "text"): {
            "description": (
                f"a query of more than {search.max_query_chars} characters fails; the others "
                "are answered"
            )
        },
        ("BatchRequest", "queries"): {"minItems": 1, "maxItems": server.max_batch},
        ("FusionRequest", "depth"): {"maximum": search.max_k},
        ("RankRequest", "claims"): {"minItems": 1, "maxItems": server.max_claims},
        ("ClaimRequest", "text"): {"maxLength": server.max_claim_chars},
    }
    listed = "; ".join(f"{name}: {retrievers.kind(name).help}" for name in retrievers.names())
    pattern = rf"^({'|'.join([AUTO, *retrievers.names()])})(:[a-z0-9_-]+)?$"
    for name in _SEARCHES:
        retriever = schemas[name]["properties"]["retriever"]
        retriever["description"] = f"{retriever['description']}. {listed}"
        next(option for option in retriever["anyOf"] if option["type"] == "string")["pattern"] = (
            pattern
        )
        limits[name, "k"] = {"maximum": search.max_k}
        limits[name, "filter"] = {"maxItems": server.max_filter_values}
        if name != "BatchRequest":
            limits[name, "query"] = {"maxLength": search.max_query_chars}
            limits[name, "hits"] = {"maximum": search.max_k}
            limits[name, "offset"] = {"maximum": search.max_k - 1}
    for field in FilterRequest.__struct_fields__:
        if field != "metadata":
            limits["FilterRequest", field] = {"maxItems": server.max_filter_values}
    for (name, field), limit in limits.items():
        schema = schemas[name]["properties"][field]
        options = [
            option
            for option in schema.get("anyOf", ())
            if option.get("type") in ("integer", "array")
        ]
        (options[0] if options else schema).update(limit)
    return schemas


def _parameters(rule: str, names: list[str], operation: Operation, schemas: Json) -> list[Json]:
    parameters: list[Json] = []
    for name in _VARIABLE.findall(rule):
        schema: Json = {"type": "string", "minLength": 1}
        if name == "name" and names:
            schema["enum"] = names
        called, what = _PATHS[name]
        parameters.append(
            {"name": called, "in": "path", "required": True, "description": what, "schema": schema}
        )
    kinds = schemas[operation.parameters.__name__] if operation.parameters else {"properties": {}}
    for name, kind in kinds["properties"].items():
        # A parameter is absent instead of null, and never an object.
        options = [
            option
            for option in kind.get("anyOf", ())
            if "$ref" not in option and option.get("type") not in ("null", "object")
        ]
        plain = {key: value for key, value in kind.items() if key != "anyOf"}
        if plain.get("default", "") in (None, {}):
            del plain["default"]
        plain |= options[0] if len(options) == 1 else {"anyOf": options} if options else {}
        described = {
            "name": name,
            "in": "query",
            "required": name in kinds["required"],
            "schema": plain,
        }
        if "description" in plain:
            described["description"] = plain.pop("description")
        if name in operation.example:
            described["example"] = operation.example[name]
        parameters.append(described)
    for name, what in operation.conditions.items():
        schema = (
            {"type": "string", "enum": ["*"]}
            if what.startswith("*")
            else {"type": "string", "minLength": 1}
        )
        parameters.append(
            {"name": name, "in": "header", "required": False, "description": what, "schema": schema}
        )
    return parameters


def _responses(operation: Operation, config: Config) -> Json:
    content: Json = {}
    if operation.answer:
        schema: Json = {"type": "string"} if operation.answer is str else _ref(operation.answer)
        content[JSON] = {
            "schema": {"type": "array", "items": schema} if operation.answers_list else schema
        }
    for media, what in operation.other.items():
        kind = "object" if media.endswith("+json") else "string"
        content[media] = {"schema": {"type": kind, "description": what}}
    headers = {
        name: {"description": what, "schema": {"type": "string"}}
        for name, what in operation.headers.items()
    }
    done: Json = {
        "description": "Done.",
        "headers": headers,
        **({"content": content} if content else {}),
    }
    responses: Json = {str(operation.status): done}
    for status, answer in operation.also.items():
        responses[str(status)] = {
            "description": answer if isinstance(answer, str) else inspect.getdoc(answer)
        }
        if not isinstance(answer, str):
            responses[str(status)]["content"] = {JSON: {"schema": _ref(answer)}}
    errors = {*operation.problems, *_UNREAD, 500}
    if operation.tag != "Operation":
        # Monitoring needs no key, has no rate limit, and is answered in an overload.
        errors |= {
            _OVERLOAD,
            *([401] if config.server.keys else []),
            *([429] if config.server.per_minute else []),
        }
    for status in sorted(errors - operation.also.keys()):
        # If a request is refused before it is read, its protocol is unknown, and the error has our
        # own shape.
        unread = status in _UNREAD
        failure = None if unread else operation.failure
        media = "text/plain" if unread else JSON if failure else "application/problem+json"
        described: Json = {
            "description": _SAID.get(status)
            or f"{TITLES.get(slug_of(status), HTTPStatus(status).phrase)}.",
            "content": {
                media: {"schema": {"type": "string"} if unread else _ref(failure or Problem)}
            },
        }
        if status in (429, 503):
            described["headers"] = {"Retry-After": {"$ref": "#/components/headers/Retry-After"}}
        responses[str(operation.statuses.get(status, status) if failure else status)] = described
    for response in responses.values():
        response.setdefault("headers", {})["X-Request-Id"] = {
            "$ref": "#/components/headers/X-Request-Id"
        }
    return responses


@blueprint.get("/openapi.json")
def openapi_document() -> Response:
    """Return the OpenAPI 3.1 document."""
    return Response(msgspec.json.encode(_served_document()), mimetype=JSON)


@blueprint.get("/docs")
def docs_page() -> str:
    """Return the OpenAPI document as a page."""
    described = _served_document()
    paths = described["paths"].items()
    operations = [(address, *each) for address, methods in paths for each in methods.items()]
    return render_template(
        "docs.html",
        described=described,
        operations=operations,
        name_of=name_of,
        words_of=_words,
        curl_of=_curl,
    )


def _served_document() -> Json:
    """Return the document; create it again if the served indexes have changed."""
    serving = registry()
    names = tuple(serving.indexes)
    known: tuple[tuple[str, ...], Json] | None = current_app.extensions.get(_MADE)
    if known is None or known[0] != names:
        known = current_app.extensions[_MADE] = names, document(current_app, serving.config, names)
    return {**known[1], "servers": [{"url": request.script_root or "/"}]}


def name_of(reference: Mapping[str, Any]) -> str:
    """Return the name of the referenced schema."""
    return str(reference["$ref"]).rpartition("/")[2]


def _words(kind: Json) -> list[tuple[str, str]]:
    """Return a schema in words, such as ``list of Evidence``: pieces of text, each with the schema
    that it links to.
    """
    if "$ref" in kind:
        return [(name_of(kind), name_of(kind))]
    if "anyOf" in kind:
        phrases = [[(" or ", ""), *_words(option)] for option in kind["anyOf"]]
        return [word for phrase in phrases for word in phrase][1:]
    if "enum" in kind:
        return [(", ".join(map(str, kind["enum"])), "")]
    if kind.get("type") == "array":
        parts = kind.get("prefixItems") or [kind.get("items", {})]
        return [(f"{_describe_limits(kind)} of ", ""), *_words(parts[0])]
    values = kind.get("additionalProperties")
    return (
        [("object of ", ""), *_words(values)]
        if isinstance(values, dict)
        else [(_describe_limits(kind), "")]
    )


def _describe_limits(kind: Json) -> str:
    name = str({"array": "list", None: "anything"}.get(kind.get("type"), kind.get("type")))
    low, high = (
        next(
            (kind[key] for key in (f"{end}imum", f"{end}Items", f"{end}Length") if key in kind),
            None,
        )
        for end in ("min", "max")
    )
    if low == high:
        return name if low is None else f"{name}, {low:,}"
    if high is None:
        return f"{name}, {low:,} or more"
    return f"{name}, at most {high:,}" if low is None else f"{name}, {low:,} to {high:,}"


def _curl(address: str, operation: Json) -> str:
    """Return a command that calls this server, or ``""`` if it needs a key or the address has
    another variable.
    """
    index = next(iter(registry().indexes), "")
    if re.search(r"{(?!index})", address) or not index or "Writing" in operation["tags"]:
        return ""
    url = url_for("page.search_page", _external=True).rstrip("/") + address.replace(
        "{index}", index
    )
    parameters = {
        kind["name"]: kind["example"] for kind in operation["parameters"] if "example" in kind
    }
    words = ["curl", "-s", f"{url}?{urlencode(parameters)}" if parameters else url]
    if "requestBody" in operation:
        example = operation["requestBody"]["content"][JSON]["example"]
        words += ["-H", f"Content-Type: {JSON}", "-d", msgspec.json.encode(example).decode()]
    return shlex.join(words)
