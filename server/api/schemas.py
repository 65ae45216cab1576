"""The schemas of the OpenAPI document: from the types of requests and answers, with the limits of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ...retrieval import retrievers
from ...retrieval.config import AUTO
from ..contract.answers import BATCH_RESULTS
from ..contract.errors import Problem
from ..contract.requests import DocumentRequest, FilterRequest
from ..settings import Config
from .operations import Operation

Json = dict[str, Any]
_REF = "#/components/schemas/{name}"
MANY = _REF.format(name="Documents")
"""The reference to the schema of a bulk of documents."""


def schemas_of(config: Config, operations: Mapping[str, Operation]) -> Json:
    """Return the schema of every type that the API takes or answers, by name."""
    named: set[type] = {Problem}
    for operation in operations.values():
        extra = [answer for answer in operation.also.values() if not isinstance(answer, str)]
        kinds = (operation.answer, operation.parameters, operation.body, operation.failure, *extra)
        named.update(kind for kind in kinds if kind not in (None, str))
    ordered = sorted(named, key=lambda kind: kind.__name__)
    _, schemas = msgspec.json.schema_components([*ordered, *BATCH_RESULTS], ref_template=_REF)
    schemas["BatchAnswer"]["properties"]["results"]["items"] = {"anyOf": [ref(kind) for kind in BATCH_RESULTS]}
    schemas["Documents"] = {
        "description": "Documents, checked one by one: one that makes no sense is refused alone, and the job says why.",
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
    """Return the schemas without those of parameters, which stand where they are used."""
    inline = {operation.parameters.__name__ for operation in operations.values() if operation.parameters}
    return {name: schema for name, schema in sorted(schemas.items()) if name not in inline}


def _limit(schemas: Json, config: Config) -> None:
    """Write the limits of the configuration into the schemas."""
    search, server = config.search, config.server
    limits = {
        ("SearchRequest", "query"): {"maxLength": search.max_query_chars},
        ("SimpleSearch", "query"): {"maxLength": search.max_query_chars},
        # Its length is no limit of the request: a query of a batch fails alone.
        ("BatchQuery", "text"): {"description": f"a longer one than {search.max_query_chars} characters fails alone"},
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
