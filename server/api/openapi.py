"""The OpenAPI 3.1 document, made from the routes, the types that check requests, and the configured limits."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from flask import Flask
from werkzeug.routing import Rule

from ... import __version__
from ...retrieval import retrievers
from ...retrieval.config import AUTO
from ..errors import TITLES, Problem, slug_of
from ..schemas import BATCH_RESULTS, DocumentRequest, FilterRequest
from ..settings import Config
from .operations import JSON, NDJSON, WRITING, Operation, operations_of

Json = dict[str, Any]
_REF = "#/components/schemas/{name}"
MANY = _REF.format(name="Documents")
"""The reference to the schema of a bulk of documents."""


def schemas_of(config: Config, operations: Mapping[str, Operation]) -> Json:
    """Return the schema of every type in requests and answers, by name."""
    named: set[type] = {Problem}
    for operation in operations.values():
        extra = [answer for answer in operation.also.values() if not isinstance(answer, str)]
        kinds = (operation.answer, operation.parameters, operation.body, operation.failure, *extra)
        named.update(kind for kind in kinds if kind not in (None, str))
    ordered = sorted(named, key=lambda kind: kind.__name__)
    _, schemas = msgspec.json.schema_components([*ordered, *BATCH_RESULTS], ref_template=_REF)
    schemas["BatchAnswer"]["properties"]["results"]["items"] = {"anyOf": [ref(kind) for kind in BATCH_RESULTS]}
    schemas["Documents"] = {
        "description": (
            "Documents, each checked separately: an invalid document is refused alone, and the job gives the reason."
        ),
        "type": "array",
        "items": {"anyOf": [ref(DocumentRequest), {"type": "object"}]},
        "minItems": 1,
        "maxItems": config.server.max_bulk,
    }
    _limit(schemas, config)
    return schemas


def ref(kind: type) -> Json:
    """Return a reference to the schema of a type."""
    return {"$ref": _REF.format(name=kind.__name__)}


def used(schemas: Json, operations: Mapping[str, Operation]) -> Json:
    """Return the schemas without those of parameters, which are described where they are used."""
    inline = {operation.parameters.__name__ for operation in operations.values() if operation.parameters}
    return {name: schema for name, schema in sorted(schemas.items()) if name not in inline}


def _limit(schemas: Json, config: Config) -> None:
    search, server = config.search, config.server
    limits = {
        ("SearchRequest", "query"): {"maxLength": search.max_query_chars},
        ("SimpleSearch", "query"): {"maxLength": search.max_query_chars},
        # This is not a limit of the request: in a batch, only the query that is too long fails.
        ("BatchQuery", "text"): {
            "description": f"a query of more than {search.max_query_chars} characters fails; the others are answered"
        },
        ("BatchRequest", "queries"): {"minItems": 1, "maxItems": server.max_batch},
        ("SearchRequest", "k"): {"maximum": search.max_k},
        ("SearchRequest", "hits"): {"maximum": search.max_k},
        ("SimpleSearch", "hits"): {"maximum": search.max_k},
        ("SimpleSearch", "k"): {"maximum": search.max_k},
        ("BatchRequest", "k"): {"maximum": search.max_k},
        ("SearchRequest", "offset"): {"maximum": search.max_k - 1},
        ("SimpleSearch", "offset"): {"maximum": search.max_k - 1},
        ("SearchManyRequest", "query"): {"maxLength": search.max_query_chars},
        ("SearchManyRequest", "k"): {"maximum": search.max_k},
        ("SearchManyRequest", "hits"): {"maximum": search.max_k},
        ("SearchManyRequest", "offset"): {"maximum": search.max_k - 1},
        ("FusionRequest", "depth"): {"maximum": search.max_k},
        ("RankRequest", "claims"): {"minItems": 1, "maxItems": server.max_claims},
        ("ClaimRequest", "text"): {"maxLength": server.max_claim_chars},
    }
    schemas["SearchRequest"]["anyOf"] = [{"required": ["query"]}, {"required": ["like"]}]
    listed = "; ".join(f"{name}: {retrievers.kind(name).HELP}" for name in retrievers.names())
    pattern = rf"^({'|'.join([AUTO, *retrievers.names()])})(:[a-z0-9_-]+)?$"
    for name in ("SearchRequest", "SearchManyRequest", "BatchRequest", "SimpleSearch"):
        schema = schemas[name]["properties"]["retriever"]
        schema["description"] = f"{schema['description']}. {listed}"
        next(option for option in schema["anyOf"] if option["type"] == "string")["pattern"] = pattern
    filters = [(kind, "filter") for kind in ("SearchRequest", "SearchManyRequest", "BatchRequest", "SimpleSearch")]
    filters += [("FilterRequest", field) for field in FilterRequest.__struct_fields__ if field != "metadata"]
    limits |= {key: {"maxItems": server.max_filter_values} for key in filters}
    for (name, field), limit in limits.items():
        schema = schemas[name]["properties"][field]
        options = [option for option in schema.get("anyOf", ()) if option.get("type") in ("integer", "array")]
        (options[0] if options else schema).update(limit)


_ABOUT = (
    "Find the evidence for a claim: BM25, dense and hybrid retrieval over the indexes that this server serves. "
    "Every answer contains its request id. Every error is a problem document (RFC 9457) with a stable code in `error`."
)
_UNREAD = (408, 414, 431)
_ALWAYS = (*_UNREAD, 500)
_OVERLOAD = 503
_SAID = {
    403: "This server is read-only.",
    412: "The document does not match the condition, and was not changed.",
    _OVERLOAD: "The server is busy, the request took too long, or the index is unavailable.",
}
_KEYS: Json = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "basic": {"type": "http", "scheme": "basic", "description": "the key as the password, with any name"},
}
_FOREIGN_KEYS: Json = {**_KEYS, "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"}}
"""The ways in which clients of other protocols send keys."""
_VARIABLE = re.compile(r"<(?:\w+:)?(\w+)>")
_PATHS: Mapping[str, tuple[str, str]] = {
    "name": ("index", "the name of a served index"),
    "job": ("job", "a job's id"),
    "docid": ("docid", "a document's id; slashes may be written as %2F"),
}
"""The name of each route variable in the document, and its description."""
_METHODS = ("get", "post", "put", "patch", "delete")


def document(app: Flask, config: Config, names: Iterable[str]) -> Json:
    """Return the description of the API of ``app``, which serves indexes under ``names``."""
    rules = {rule.endpoint: rule for rule in app.url_map.iter_rules()}
    operations = operations_of(app)
    schemas = schemas_of(config, operations)
    paths: Json = {}
    for endpoint, operation in operations.items():
        rule = rules[endpoint]
        statuses = _statuses(operation, config)
        described = _operation(endpoint, app.view_functions[endpoint], operation, schemas, statuses)
        if config.server.keys and operation.tag != "Operation":
            keys = _FOREIGN_KEYS if operation.failure else _KEYS
            is_open = config.server.writes and not config.server.private
            none: list[Json] = [{}] if is_open and operation.tag != WRITING and not operation.failure else []
            described["security"] = [*none, *({name: []} for name in keys)]
        described["parameters"] = [*_path_parameters(rule, list(names)), *described["parameters"]]
        paths.setdefault(_address(rule), {})[_method(rule)] = described
    described = {
        "openapi": "3.1.0",
        "info": {
            "title": "factseek",
            "version": __version__,
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(operation.tag for operation in operations.values())],
        "paths": paths,
        "components": {"schemas": used(schemas, operations), "headers": _COMMON_HEADERS},
    }
    if config.server.keys:
        foreign = any(operation.failure for operation in operations.values())
        described["components"]["securitySchemes"] = _FOREIGN_KEYS if foreign else _KEYS
    plain: Json = msgspec.json.decode(msgspec.json.encode(described))
    return plain


_COMMON_HEADERS: Json = {
    "X-Request-Id": {
        "description": "the id that the request sent if it has 1 to 64 letters, digits, '.', '_' or '-', else a new id",
        "schema": {"type": "string"},
    },
    "Retry-After": {"description": "seconds to wait before the next try", "schema": {"type": "integer", "minimum": 1}},
}


def _address(rule: Rule) -> str:
    return _VARIABLE.sub(lambda variable: f"{{{_PATHS[variable[1]][0]}}}", rule.rule)


def _method(rule: Rule) -> str:
    return next(method for method in _METHODS if method.upper() in (rule.methods or ()))


def _statuses(operation: Operation, config: Config) -> list[int]:
    errors = {*operation.problems, *_ALWAYS}
    if operation.tag != "Operation":
        # Monitoring is answered without a key, at any rate, and in overload.
        errors |= {_OVERLOAD, *([401] if config.server.keys else []), *([429] if config.server.per_minute else [])}
    return sorted(errors - operation.also.keys())


def _operation(
    endpoint: str, view: Callable[..., Any], operation: Operation, schemas: Json, statuses: list[int]
) -> Json:
    documentation = inspect.getdoc(view) or ""
    summary, _, more = documentation.partition("\n\n")
    described: Json = {
        "operationId": endpoint.rpartition(".")[2],
        "tags": [operation.tag],
        "summary": summary.rstrip("."),
        "parameters": _query_parameters(operation, schemas),
        "responses": _responses(operation, statuses),
    }
    if more:
        described["description"] = more
    described["parameters"] += [_condition(name, what) for name, what in operation.conditions.items()]
    if operation.body:
        described["requestBody"] = {"required": True, "content": _body(operation, operation.body)}
    return described


def _body(operation: Operation, kind: type) -> Json:
    if not operation.many:
        return {JSON: {"schema": ref(kind), "example": dict(operation.example)}}
    return {
        JSON: {"schema": {"$ref": MANY}, "example": [dict(operation.example)]},
        NDJSON: {"schema": {"type": "string", "description": "one document per line"}},
    }


def _condition(name: str, what: str) -> Json:
    schema: Json = {"type": "string", "enum": ["*"]} if what.startswith("*") else {"type": "string", "minLength": 1}
    return {"name": name, "in": "header", "required": False, "description": what, "schema": schema}


def _responses(operation: Operation, statuses: list[int]) -> Json:
    content: Json = {JSON: {"schema": _answer_schema(operation, operation.answer)}} if operation.answer else {}
    for media, what in operation.other.items():
        schema: Json = {"type": "string", "description": what}
        content[media] = {"schema": schema}
    headers = {name: {"description": what, "schema": {"type": "string"}} for name, what in operation.headers.items()}
    done: Json = {"description": "Done.", "headers": headers, **({"content": content} if content else {})}
    responses: Json = {str(operation.status): done}
    for status, answer in operation.also.items():
        responses[str(status)] = {"description": answer} if isinstance(answer, str) else _answered(answer)
    for status in statuses:
        # A request that is refused unread gets our own shape: its protocol is not known yet.
        failure = None if status in _UNREAD else operation.failure
        responses[str(operation.statuses.get(status, status) if failure else status)] = _problem(status, failure)
    for response in responses.values():
        response.setdefault("headers", {})["X-Request-Id"] = {"$ref": "#/components/headers/X-Request-Id"}
    return responses


def _answer_schema(operation: Operation, answer: type) -> Json:
    schema: Json = {"type": "string"} if answer is str else ref(answer)
    return {"type": "array", "items": schema} if operation.answers_list else schema


def _answered(answer: type) -> Json:
    return {"description": inspect.getdoc(answer), "content": {JSON: {"schema": ref(answer)}}}


def _problem(status: int, failure: type | None) -> Json:
    kind = {"application/problem+json": {"schema": ref(Problem)}}
    if status in _UNREAD:
        kind = {"text/plain": {"schema": {"type": "string"}}}
    schema = {JSON: {"schema": ref(failure)}} if failure and status not in _UNREAD else kind
    described: Json = {
        "description": _SAID.get(status) or f"{TITLES.get(slug_of(status), HTTPStatus(status).phrase)}.",
        "content": schema,
    }
    if status in (429, 503):
        described["headers"] = {"Retry-After": {"$ref": "#/components/headers/Retry-After"}}
    return described


def _path_parameters(rule: Rule, names: list[str]) -> list[Json]:
    parameters = []
    for name in _VARIABLE.findall(rule.rule):
        schema: Json = {"type": "string", "minLength": 1}
        if name == "name" and names:
            schema["enum"] = names
        called, what = _PATHS[name]
        parameters.append({"name": called, "in": "path", "required": True, "description": what, "schema": schema})
    return parameters


def _query_parameters(operation: Operation, schemas: Json) -> list[Json]:
    if operation.parameters is None:
        return []
    schema = schemas[operation.parameters.__name__]
    parameters = []
    for name, kind in schema["properties"].items():
        plain = _without_null(kind)
        described = {"name": name, "in": "query", "required": name in schema["required"], "schema": plain}
        if "description" in plain:
            described["description"] = plain.pop("description")
        if name in operation.example:
            described["example"] = operation.example[name]
        parameters.append(described)
    return parameters


_NO_DEFAULT: tuple[tuple[str, object], ...] = (("default", None), ("default", {}))


def _without_null(kind: Json) -> Json:
    """Return a field's schema for a parameter: absent instead of null, and never an object."""
    plain = {key: value for key, value in kind.items() if key != "anyOf" and (key, value) not in _NO_DEFAULT}
    options = [
        option
        for option in kind.get("anyOf", ())
        if "$ref" not in option and option.get("type") not in ("null", "object")
    ]
    return {**plain, **(options[0] if len(options) == 1 else {"anyOf": options} if options else {})}
