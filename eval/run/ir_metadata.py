"""The description of a run in the form of https://ir-metadata.org (schema 0.1), for TREC and TIRA.

The user adds the actors and the goal in a file. The description contains no time, so that the same
run has the same description.
"""

from __future__ import annotations

import platform
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

from ...core.config_file import read_yaml
from ...core.errors import QueryError
from ...core.files import storable
from ...retrieval import retrievers
from ...retrieval.config import FusionSettings
from ...retrieval.search.index import Index
from ...retrieval.search.options import ResolvedSearch, Search
from ...retrieval.search.score_normalizers import AUTO, RRF
from ...retrieval.store import manifest as manifests
from ..scoring.machine import this_machine

SCHEMA, RUN = 0.1, 1.0
"""The version of the schema, and the version of a run's description, which is always its first."""
COMPONENTS = ("platform", "research goal", "implementation", "method", "actor", "data")
"""The components of the schema, in its order."""
_START, _END = "ir_metadata.start", "ir_metadata.end"
_LIBRARIES = ("faiss-cpu", "numpy", "onnxruntime", "pyserini", "tokenizers")


def describe(
    index: Index,
    search: Search,
    arguments: Sequence[str],
    *,
    run_id: str,
    queries: Path,
    texts: Mapping[str, str],
    own: Path | None,
) -> str:
    """Return the description of a run as YAML, between the comments that mark its start and end.

    ``texts`` are the texts of the queries by qid: a fusion of the kind ``auto`` depends on them.

    The components of the file ``own`` replace the generated ones, field by field. Files are named
    without their folders. Raises ConfigError if that file cannot be read, QueryError if it holds
    anything but components.
    """
    added = read_yaml(own) if own else None
    added = {} if added is None else added
    if not isinstance(added, dict) or not added.keys() <= set(COMPONENTS):
        remedy = f"the components are {', '.join(COMPONENTS)}"
        raise QueryError(
            "contains other keys than the components of ir_metadata", place=own, remedy=remedy
        )
    published = index.info.published
    executable = {"cmd": storable(shlex.join(["factseek", *arguments]))}
    written: dict[str, Any] = {
        "platform": _platform(),
        "implementation": {"executable": executable, "source": {"lang": ["python", "java"]}},
        "method": {
            "automatic": True,
            "score ties": "docid, descending",
            "indexing": {
                "analyzer": published.analyzer,
                "language": published.language,
                "fields": published.fields,
            },
            "retrieval": _retrieval(index, search, texts),
        },
        "data": {
            "test collection": {"name": storable(index.info.name), "topics": storable(queries.name)}
        },
    }
    for component, fields in added.items():
        written[component] = _merge(written.get(component), fields)
    head = {"schema-version": SCHEMA, "run-version": RUN, "tag": run_id}
    ordered = {**head, **{name: written[name] for name in COMPONENTS if name in written}}
    text = yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=10_000)
    return f"# {_START}\n{text}# {_END}\n"


def as_comments(description: str) -> str:
    """Return a description as the comments at the head of a run."""
    # The marks at the start and the end are comments already.
    return "".join(f"# {line.removeprefix('# ')}\n" for line in description.splitlines())


def _merge(ours: Any, theirs: Any) -> Any:
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return theirs
    return {**ours, **{name: _merge(ours.get(name), value) for name, value in theirs.items()}}


def _platform() -> dict[str, Any]:
    machine, versions = this_machine(), manifests.versions()
    kernel = {"kernel": f"{platform.system()} {platform.release()}"}
    with suppress(OSError, KeyError):
        kernel["distribution"] = platform.freedesktop_os_release()["PRETTY_NAME"]
    return {
        "hardware": {
            "cpu": {
                "model": machine.processor,
                "architecture": platform.machine(),
                "operation mode": platform.architecture()[0].replace("bit", "-bit"),
                "number of cores": machine.cores,
            },
            **({"ram": f"{machine.memory_gb:.0f} GB"} if machine.memory_gb else {}),
        },
        "operating system": kernel,
        "software": {
            "libraries": {"python": [f"{name}=={metadata.version(name)}" for name in _LIBRARIES]},
            "retrieval toolkit": [
                f"factseek=={versions.factseek}",
                f"anserini=={versions.anserini}",
            ],
        },
    }


def _retrieval(index: Index, search: Search, texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the components of the ranking: its retrievers, their fusion, and the stages after
    them.
    """
    resolved = index.resolve(search)
    settings = resolved.settings
    components: list[dict[str, Any]] = []
    for name in resolved.rankings:
        if retrievers.kind(name).weighs_words:
            method = "org.apache.lucene.search.similarities.BM25Similarity"
            components.append(
                {"name": name, "method": method, "k1": settings.bm25.k1, "b": settings.bm25.b}
            )
            continue
        component: dict[str, Any] = {"name": name, "method": name}
        for view in retrievers.kind(name).views(name, index.info.published, settings):
            if view in index.info.encoders:
                component["method"] = index.info.encoders[view].name
        components.append(component)
    last = resolved.rankings[0]
    if len(resolved.rankings) > 1:
        fusion, last = settings.search.fusion, resolved.retriever
        params: dict[str, Any] = {"method": fusion.kind, "depth": fusion.depth}
        if fusion.kind == RRF:
            params["rrf_k"] = fusion.rrf_k
        component = {
            "name": last,
            **params,
            "weight": _weights(fusion, resolved.rankings),
            "interpolates": list(resolved.rankings),
        }
        if fusion.kind == AUTO:
            component["chosen"] = _chosen_fusions(index, resolved, texts)
        components.append(component)
    for stage in settings.search.stages:
        components.append({"name": stage, "reranks": last})
        last = stage
    return components


def _weights(fusion: FusionSettings, rankings: Sequence[str]) -> dict[str, float]:
    return {name: fusion.weights.get(name, 1.0) for name in rankings}


def _chosen_fusions(
    index: Index, resolved: ResolvedSearch, texts: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return what the fusion ``auto`` chose for each query: the most frequent choice first, for all
    others; then each other choice with its qids.
    """
    fusing = retrievers.fusing(resolved.retriever)
    if fusing is None:
        return []
    of_query: dict[str, FusionSettings] = {}
    for qid, text in texts.items():
        prepared = resolved.prepare(text)
        fusion = resolved.settings.search.fusion
        of_query[qid] = fusing.fusion_of(prepared, fusion, index.info.language)
    chosen: list[dict[str, Any]] = []
    for fusion, _ in Counter(of_query.values()).most_common():
        queries: Any = [qid for qid, other in of_query.items() if other == fusion]
        if not chosen:
            queries = "all" if len(queries) == len(of_query) else "all others"
        weights = _weights(fusion, resolved.rankings)
        chosen.append({"method": fusion.kind, "weight": weights, "queries": queries})
    return chosen
