"""The description of the API: ``/openapi.json`` for programs, and ``/docs`` for people, from the same document."""

from __future__ import annotations

import re
import shlex
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from flask import Blueprint, Response, current_app, render_template, request, url_for

from ..runtime import registry
from .openapi import document
from .operations import JSON, WRITING

blueprint = Blueprint("docs", __name__)
_MADE = "factseek.openapi"


class Word(NamedTuple):
    """A piece of a type in words; ``schema`` is the name of the schema that it refers to, or ``""``."""

    text: str
    schema: str = ""


class Field(NamedTuple):
    """A parameter, or a field of a body or an answer."""

    name: str
    words: list[Word]
    required: bool
    default: str
    description: str


@blueprint.get("/openapi.json")
def openapi_document() -> Response:
    """Return the OpenAPI 3.1 document."""
    return Response(msgspec.json.encode(_document()), mimetype="application/json")


@blueprint.get("/docs")
def docs_page() -> str:
    """Return the OpenAPI document as a page."""
    described = _document()
    schemas = {name: (schema, fields(schema)) for name, schema in described["components"]["schemas"].items()}
    operations = [
        (address, method, operation, list(map(_parameter, operation["parameters"])), _curl(address, operation))
        for address, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    return render_template(
        "docs.html", about=described["info"], operations=operations, schemas=schemas, name_of=name_of
    )


def fields(schema: dict[str, Any]) -> list[Field]:
    """Return the fields of an object's schema."""
    required = schema.get("required", ())
    return [_field(name, kind, name in required) for name, kind in schema.get("properties", {}).items()]


def words(kind: dict[str, Any]) -> list[Word]:
    """Return a schema in words: ``integer, 1 to 50``, ``list of Evidence``, ``string or null``."""
    if "$ref" in kind:
        return [Word(name_of(kind), name_of(kind))]
    if "anyOf" in kind:
        phrases = [words(option) for option in kind["anyOf"]]
        return [word for number, option in enumerate(phrases) for word in ([Word(" or ")] if number else []) + option]
    if "enum" in kind:
        return [Word(", ".join(map(str, kind["enum"])))]
    return _compound(kind) or [Word(_limited(kind))]


def _compound(kind: dict[str, Any]) -> list[Word]:
    if kind.get("type") == "array":
        parts = kind.get("prefixItems") or [kind.get("items", {})]
        return [Word(f"{_limited(kind)} of "), *[word for part in parts[:1] for word in words(part)]]
    values = kind.get("additionalProperties")
    return [Word("object of "), *words(values)] if isinstance(values, dict) else []


def _limited(kind: dict[str, Any]) -> str:
    """Return a type in words with its limits: the size of an array, the length of a string."""
    name = {"array": "list", None: "anything"}.get(kind.get("type"), kind.get("type", ""))
    low, high = (
        next((kind[key] for key in (f"{end}imum", f"{end}Items", f"{end}Length") if key in kind), None)
        for end in ("min", "max")
    )
    if low == high:
        return name if low is None else f"{name}, {low:,}"
    if high is None:
        return f"{name}, {low:,} or more"
    return f"{name}, at most {high:,}" if low is None else f"{name}, {low:,} to {high:,}"


def name_of(reference: dict[str, Any]) -> str:
    """Return the name of the referenced schema."""
    return str(reference["$ref"]).rpartition("/")[2]


def _field(name: str, kind: dict[str, Any], required: bool) -> Field:
    default = kind.get("default")
    default_text = "" if default in (None, "", []) else msgspec.json.encode(default).decode()
    return Field(name, words(kind), required, default_text, kind.get("description", ""))


def _parameter(parameter: dict[str, Any]) -> Field:
    described = {**parameter["schema"], "description": parameter.get("description", "")}
    return _field(parameter["name"], described, parameter["required"])


def _curl(address: str, operation: dict[str, Any]) -> str:
    """Return a command that calls this server, or ``""`` if the address needs more than an index, or a key."""
    index = next(iter(registry().indexes), "")
    if re.search(r"{(?!index})", address) or not index or WRITING in operation["tags"]:
        return ""
    url = url_for("page.search_page", _external=True).rstrip("/") + address.replace("{index}", index)
    parameters = {kind["name"]: kind["example"] for kind in operation["parameters"] if "example" in kind}
    words = ["curl", "-s", f"{url}?{urlencode(parameters)}" if parameters else url]
    if "requestBody" in operation:
        example = operation["requestBody"]["content"][JSON]["example"]
        words += ["-H", f"Content-Type: {JSON}", "-d", msgspec.json.encode(example).decode()]
    return shlex.join(words)


def _document() -> dict[str, Any]:
    """Return the document; create it again if the served indexes have changed."""
    serving = registry()
    names = tuple(serving.indexes)
    known: tuple[tuple[str, ...], dict[str, Any]] | None = current_app.extensions.get(_MADE)
    if known is None or known[0] != names:
        known = current_app.extensions[_MADE] = names, document(current_app, serving.config, names)
    return {**known[1], "servers": [{"url": request.script_root or "/"}]}
