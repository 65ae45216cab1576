"""Build: from source files to a published index, in segments, resumable after any interruption."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal

from ..retrieval import manifest as manifests
from ..retrieval.errors import IndexStateError, SourceError, UserError
from ..retrieval.files import os_errors_reported
from ..retrieval.filters import field_names
from ..retrieval.index_folder import IndexFolder
from ..retrieval.lucene.analysis import analyzer_name, language_code
from ..retrieval.manifest import BUILD, LAYOUT, VECTORS, BM25Info, Manifest, SourceInfo
from ..retrieval.shards import layout
from ..retrieval.views import Tools, descriptions, views
from . import generation as generations
from . import journal as journals
from . import spare_shards
from .collections import BadLines, LeftOut, ReadOptions, UnreadDates, reader
from .compaction import merge_surplus
from .deletion import live_documents, with_segments, without
from .encoders import Encoders, further_views
from .generation import Generation
from .lock import locked
from .overtaking import overtake
from .settings import Config
from .sources import describe
from .work import BuildTask, SourcesChangedError
from .works import PartOfWork, Workplace, Works, work_here

Verb = Literal["", "append", "update", "overwrite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """The request for a build; ``verb`` says what to do with an index that is there.

    A new index has a view of each kind, without ``dense`` no vectors; ``views`` names further ones. ``encoders``
    names the models that make its vectors, instead of the one that is configured: each makes a view of its own.
    ``shards`` says how many shards a new index has; with 0 it has none, and one that is there has those that it has.
    ``wait`` is how many seconds it may wait for another writer to be done.
    """

    kind: str
    sources: tuple[Path, ...]
    folder: Path
    verb: Verb = ""
    language: str = ""
    dense: bool = True
    views: tuple[str, ...] = ()
    encoders: tuple[str, ...] = ()
    shards: int = 0
    wait: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """The result of a build; ``skipped`` counts by reason what a reader left out on purpose, ``left_out`` names it.

    ``unread_dates`` counts the dates that were not understood.
    ``merged`` is how many segments fewer there are after small ones were merged, ``unmerged`` why they could not be.
    """

    manifest: Manifest
    documents: int
    passages: int
    replaced: int
    duplicates: int
    bad_lines: BadLines
    skipped: Counter[str]
    left_out: tuple[LeftOut, ...]
    unread_dates: UnreadDates
    resumed: bool
    merged: int = 0
    unmerged: str = ""


def build(
    request: BuildRequest, config: Config, encoders: Encoders | None = None, *, workplace: Workplace = work_here
) -> BuildReport:
    """Read the sources, write segments, publish them; an interrupted call, repeated, goes on from where it stopped.

    ``encoders`` are those of the views if they are not, or not all, the configured one; they stay open. The segments
    are written at the ``workplace``, which is this process unless another one is named.
    Raises SourceError for what cannot be read, IndexStateError if there is an index and no verb, or one that does not
    fit, MachineError if the disk is full or Java or the encoder is missing. What was published before stays.
    """
    reader(request.kind)
    _check_apart(request)
    sources = describe(request.sources)
    with locked(request.folder, request.wait), os_errors_reported(request.folder):
        note = partial(overtake, request.folder)
        report = build_locked(request, config, sources, encoders, note, workplace=workplace)
        return _with_few_segments(request.folder, report, config)


def build_locked(
    request: BuildRequest,
    config: Config,
    sources: tuple[SourceInfo, ...],
    encoders: Encoders | None = None,
    note: Callable[[Iterable[str]], object] | None = None,
    *,
    workplace: Workplace = work_here,
) -> BuildReport:
    """Do as :func:`build` does for whoever holds the index's lock, and leave small segments as they are.

    ``sources`` describes what is read; ``encoders`` stay open. ``note`` takes the docids that stand as they were read.
    """
    base = _base(request)
    with ExitStack() as opened:
        opened.callback(generations.remove_empty, base)
        encoders = encoders or opened.enter_context(closing(_encoders(request, config)))
        tools = _tools(request, config, base, encoders)
        for view in views(tools[0].manifest):
            view.prepare(tools[0])
        works = _run(request, config, base, tools, sources, workplace=workplace)
        opened.enter_context(closing(works))
        if not any(work.journal.finished or work.journal.progress.duplicates for work in works.parts):
            works.give_up()
            raise SourceError(_why_empty(request.kind, works.options), place=", ".join(map(str, request.sources)))
        report = _published(base, tools, works)
        if note is not None:
            note(chain.from_iterable(work.docids() for work in works.parts))
        return report


def _encoders(request: BuildRequest, config: Config) -> Encoders:
    """Return the encoders of an index, those of a new one by its language or as they are named."""
    language = language_code(request.language or config.index.language)
    return Encoders(config, language=language, models=request.encoders)


def _with_few_segments(folder: Path, report: BuildReport, config: Config) -> BuildReport:
    """Merge segments if there are too many; what was built is published, whether that succeeds or not."""
    try:
        compacted = merge_surplus(folder, config)
    except UserError as error:
        return replace(report, unmerged=error.line)
    fewer = compacted.before - len(compacted.manifest.segments)
    return replace(report, manifest=compacted.manifest, merged=fewer)


def _tools(request: BuildRequest, config: Config, base: Generation, encoders: Encoders) -> list[Tools]:
    """Return what each part is written with: its folder, and a manifest that says what the index is."""
    shape = _shape(request, config, base, encoders)
    manifests_of_parts = (part.manifest or shape for part in base.parts)
    paired = zip(base.parts, manifests_of_parts, strict=True)
    return [Tools(IndexFolder(part.folder), manifest, config, encoders) for part, manifest in paired]


def _run(
    request: BuildRequest,
    config: Config,
    base: Generation,
    tools: Sequence[Tools],
    sources: tuple[SourceInfo, ...],
    *,
    workplace: Workplace,
) -> Works:
    """Do the work: what an interrupted build of the same left to do or, if its sources have changed, all of it."""
    limits = (config.passages, config.index.segment_passages, config.build.skip_bad_lines)
    names = [source.name for source in sources]
    tasks = [BuildTask(request.kind, sources, part.segments, request.verb == "update") for part in base.parts]
    routed = [layout.routing(len(tools))] if base.is_sharded else []
    asked = [journals.fingerprint(request.kind, names, tool.manifest, request.verb, limits, *routed) for tool in tools]
    parts = list(map(PartOfWork, tasks, tools, asked))
    with suppress(SourcesChangedError):
        return Works.run(request.sources, config, parts, workplace)
    return Works.run(request.sources, config, parts, workplace, anew=True)


def _published(base: Generation, tools: Sequence[Tools], works: Works) -> BuildReport:
    states, replaced = [], 0
    for part, tool, work in zip(base.parts, tools, works.parts, strict=True):
        live, new = part.segments, work.journal.finished
        kept = without(part.folder, live, work.new_docids()) if work.updates and new else live
        replaced += live_documents(live) - live_documents(kept)
        # A part that gets nothing stays as it is: no reader need look at it again.
        changes = bool(new) or part.manifest is None
        states.append(with_segments(tool.manifest, (*kept, *new), part.folder) if changes else tool.manifest)
    if any(state is not part.manifest for state, part in zip(states, base.parts, strict=True)):
        manifest = base.publish(states)
    else:
        base.clean()
        manifest = base.manifest
    finished = [segment for work in works.parts for segment in work.journal.finished]
    return BuildReport(
        manifest=manifest,
        replaced=replaced,
        documents=sum(segment.documents for segment in finished),
        passages=sum(segment.passages for segment in finished),
        duplicates=sum(work.journal.progress.duplicates for work in works.parts),
        bad_lines=works.options.bad_lines,
        skipped=works.options.skipped,
        left_out=tuple(works.options.left_out),
        unread_dates=works.options.unread_dates,
        resumed=any(work.resumed for work in works.parts),
    )


def _why_empty(kind: str, options: ReadOptions) -> str:
    left_out = [f"{count} {reason}" for reason, count in sorted(options.skipped.items())]
    if options.bad_lines.count:
        left_out.append(f"{options.bad_lines.count} bad lines")
    return f"no {kind} document was found" + (f" (left out: {', '.join(left_out)})" if left_out else "")


def _base(request: BuildRequest) -> Generation:
    """Return the state that the build adds to, or one without manifests if it makes a new index."""
    folder, shards = request.folder, request.shards
    if not generations.exists(folder):
        _check_unfinished(folder, shards)
        base = generations.new(folder, shards)
        generations.claim(base)
        return base
    if not request.verb:
        raise IndexStateError(
            "there is an index already",
            place=folder,
            remedy="say --append to add to it, --update to replace documents of the same docid, or --overwrite to "
            "build it anew",
        )
    if request.verb == "overwrite" and not layout.is_sharded(folder) and not shards:
        return generations.new(folder)  # whatever the state of what is there
    base = generations.current(folder, whole=request.verb != "overwrite")
    if shards and (not base.is_sharded or shards != len(base.parts)):
        there = f"has {len(base.parts)} shards" if base.is_sharded else "has no shards"
        verb = f"factseek {'reshard' if base.is_sharded else 'shard'} makes {shards} of it"
        raise IndexStateError(there, place=folder, remedy=f"leave out --shards {shards}; {verb}")
    return base.emptied() if request.verb == "overwrite" else base


def _check_unfinished(folder: Path, shards: int) -> None:
    """Raise IndexStateError if an interrupted build made, or was to make, another number of shards."""
    noted, shard = spare_shards.read(folder), f"{layout.shard_path(0)[:-2]}*"
    begun = any(
        path.parent.name in noted or not spare_shards.is_index(path.parent) for path in folder.glob(f"{shard}/{BUILD}")
    )
    whole = (folder / BUILD).is_dir() and not spare_shards.is_index(folder / BUILD)
    if (begun and not shards) or (whole and shards):
        how = "with --shards" if begun else "without --shards"
        raise IndexStateError(
            f"a build {how} was interrupted in it", place=folder, remedy=f"run it again {how}, or remove the folder"
        )


def _check_apart(request: BuildRequest) -> None:
    """Raise IndexStateError if the index is to lie in a folder that is read: it would be read, and change it."""
    for source in request.sources:
        if source.is_dir() and Path(os.path.realpath(request.folder)).is_relative_to(os.path.realpath(source)):
            raise IndexStateError(
                f"lies in the source {source}", place=request.folder, remedy="put the index somewhere else"
            )


def _shape(request: BuildRequest, config: Config, base: Generation, encoders: Encoders) -> Manifest:
    """Return a manifest that says what the index is, as given, without segments, or as it has been."""
    if (there := base.parts[0].manifest) is not None:
        _check_fit(request, config, there)
        return there
    language = language_code(request.language or config.index.language)
    without = () if request.dense else (VECTORS,)
    further = [*request.views, *further_views(request.encoders)]
    return Manifest(
        layout=LAYOUT,
        created="",
        language=language,
        analyzer=analyzer_name(language, config.index.analyzer),
        fields=config.index.fields,
        bm25=BM25Info(k1=config.bm25.k1, b=config.bm25.b),
        views=dict(descriptions(config, encoders, without=without, further=further)),
        versions=manifests.versions(),
        documents=0,
        passages=0,
        segments=(),
    )


def _check_fit(request: BuildRequest, config: Config, base: Manifest) -> None:
    if request.language and language_code(request.language) != base.language:
        raise IndexStateError(
            f"its language is {base.language}, not {request.language}; one index has one language", place=request.folder
        )
    analyzer = config.index.analyzer
    if analyzer and analyzer_name("", analyzer) != base.analyzer:
        raise IndexStateError(
            f"its analyzer is {base.analyzer}, not {analyzer}; one index has one analyzer", place=request.folder
        )
    declared = field_names(config.index.filter_fields)
    if declared and declared != base.filter_fields:
        its = ", ".join(base.filter_fields) or "none"
        raise IndexStateError(
            f"its fields to filter by are {its}, not {', '.join(declared)}; all its segments have the same",
            place=request.folder,
        )
    models = {encoder.model or encoder.name for encoder in base.encoders.values()}
    for model in request.encoders:
        if model not in models and str(Path(model).resolve()) not in models:
            raise IndexStateError(
                f"its vectors are those of {', '.join(sorted(models)) or 'no encoder'}, not of {model}",
                place=request.folder,
                remedy="leave out --encoder, or --overwrite it",
            )
    if not request.dense and base.encoder is not None:
        raise IndexStateError(
            "has vectors throughout", place=request.folder, remedy="leave out --no-dense, or --overwrite it"
        )
