"""Bench: sparse against dense against hybrid on one collection, quality beside speed, memory and size.

What is measured is named as a retriever, ``hybrid``, or as one with the stages after it, ``hybrid+rerank``.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import msgspec

from ...retrieval import manifest as manifests
from ...retrieval import retrievers
from ...retrieval.config import Config, view
from ...retrieval.errors import QueryError
from ...retrieval.progress import Progress, silent
from ...retrieval.run_reader import ScoreTable
from ...retrieval.searcher import Searcher
from ..run.batch import chunks, columns
from ..run.compare import Comparison, compare
from ..run.judged import DEPTH, Judged, depth_of
from ..scoring.machine import Machine, this_machine
from .load import AND, Load, Timings, measure, search_of

CALLERS = (1, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The part of an index that a retriever needs: megabytes on disk, and seconds to build them, 0 if not known."""

    megabytes: float
    build_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One retriever: its timings, and the part of the index that it needs."""

    retriever: str
    timings: Timings
    sizes: Sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The result of a benchmark; ``quality`` compares the retrievers' runs of ``depth`` hits, ``k`` hits were timed."""

    name: str
    manifest: str
    documents: int
    passages: int
    encoder: str
    depth: int
    k: int
    timed: int
    machine: Machine
    quality: Comparison
    measured: tuple[Measured, ...]
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the benchmark as ``bench.json`` holds it."""
        return {
            "name": self.name,
            "index": {"manifest": self.manifest, "documents": self.documents, "passages": self.passages},
            "encoder": self.encoder,
            "machine": self.machine.as_json(),
            "versions": msgspec.to_builtins(manifests.versions()),
            "measured_at": manifests.now(),
            "hits": {"quality": self.depth, "latency": self.k},
            "timed_queries": self.timed,
            "quality": self.quality.as_json(),
            "retrievers": {
                measured.retriever: {**msgspec.to_builtins(measured.timings), **asdict(measured.sizes)}
                for measured in self.measured
            },
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """The request for a benchmark: its name, the retrievers, the measures, how many searches are timed."""

    name: str
    retrievers: tuple[str, ...]
    measures: tuple[str, ...]
    timed: int = 500
    seed: int = 0


def bench(index: Searcher, judged: Judged, request: BenchRequest, progress: Progress = silent) -> Bench:
    """Measure each retriever of the request.

    Quality is of all judged queries; latency of ``timed`` searches for them, at one caller and at eight, each
    retriever in a process of its own. Raises QueryError if the index lacks what a retriever needs.
    """
    for retriever in request.retrievers:
        _check(index, retriever)
    depth = max(depth_of(request.measures), min(DEPTH, judged.search.k or DEPTH))
    runs: dict[str, ScoreTable] = {name: _run(index, judged, name, depth, progress) for name in request.retrievers}
    quality = compare(judged.qrels, runs, request.measures, seed=request.seed)
    measured = []
    with closing(progress("timing", "retrievers", len(request.retrievers))) as bar:
        for name in request.retrievers:
            timings = measure(_load(index, judged, name, request))
            measured.append(Measured(retriever=name, timings=timings, sizes=sizes(index, name)))
            bar.update()
    encoder = index.info.encoder
    return Bench(
        name=request.name,
        manifest=index.info.id,
        documents=index.info.documents,
        passages=index.info.passages,
        encoder=f"{encoder.name}, {encoder.precision}" if encoder else "",
        depth=depth,
        k=index.settings.search.k,
        timed=request.timed,
        machine=this_machine(),
        quality=quality,
        measured=tuple(measured),
        notes=judged.notes,
    )


def sizes(index: Searcher, retriever: str) -> Sizes:
    """Return the size of what a retriever needs of an index; the documents count for every retriever."""
    footprint = index.footprint(retriever.partition(AND)[0])
    return Sizes(megabytes=footprint.bytes / 1e6, build_seconds=footprint.seconds)


def chosen(text: str | None, index: Searcher) -> tuple[str, ...]:
    """Split a list of retrievers, ``bm25,hybrid+rerank``; without one, return all that the index answers.

    Raises QueryError if a retriever or a stage is unknown, or lacks what it needs.
    """
    if text is None:
        return tuple(sorted(index.info.retrievers))
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        listed = ", ".join(retrievers.names())
        raise QueryError("names no retriever", place="--retrievers", remedy=f"there are {listed}")
    for name in names:
        _check(index, name)
    return tuple(sorted(names))


def _check(index: Searcher, name: str) -> None:
    search = search_of(name)
    index.resolve(search)
    if search.stages:
        index.search(["claim"], search._replace(k=1))


def _run(index: Searcher, judged: Judged, retriever: str, k: int, progress: Progress) -> ScoreTable:
    asked = search_of(retriever)
    search = judged.search._replace(retriever=asked.retriever, stages=asked.stages, k=k, group=True)
    run: ScoreTable = {}
    with closing(progress(retriever, "queries", len(judged.asked))) as bar:
        for chunk in chunks(judged.asked):
            run.update({done.qid: dict(zip(*done.ranking, strict=True)) for done in columns(index, chunk, search)})
            bar.update(len(chunk))
    return run


def _load(index: Searcher, judged: Judged, retriever: str, request: BenchRequest) -> Load:
    search = judged.search
    resolved = index.resolve(search)
    wordy = (query for query in judged.asked if resolved.has_words(query.text))
    asked = tuple(islice(wordy, request.timed))
    if not asked:
        raise QueryError("no judged query holds words to search for")
    return Load(
        index=str(index.info.place),
        config=view(index.settings, Config),
        retriever=retriever,
        profile=search.profile,
        asked=asked,
        k=index.settings.search.k,
        timed=request.timed,
        callers=CALLERS,
    )
