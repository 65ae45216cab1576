"""Build: turn source files into a published index, in segments.

A build can resume after any interruption.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal

from msgspec import structs

from ..core.errors import IndexStateError, SourceError, UsageError, UserError
from ..core.files import os_errors_reported, sha256, storable
from ..core.progress import bar
from ..core.records.vector_file import some_of
from ..core.terminal import join_words
from ..retrieval.config import AUTO
from ..retrieval.encoders.given import GivenVectors
from ..retrieval.encoders.sources import check_choice
from ..retrieval.filters import field_names
from ..retrieval.lucene.analysis import analyzer_name, language_code
from ..retrieval.sparse.encoder import check_agreement
from ..retrieval.store import manifest as manifests
from ..retrieval.store.manifest import LAYOUT, VECTORS, BM25Info, Manifest, SourceInfo
from ..retrieval.views import Tools, descriptions, views
from . import journal as journals
from .collections import BadLines, LeftOut, ReadOptions, Record, UnreadDates, kinds, reader
from .collections._documents import other_language
from .collections._files import leads_outside
from .compaction import merge_surplus
from .deletion import live_documents, with_segments, without
from .encoders import Encoders, further_views
from .intake.seen import forget_seen
from .lock import locked
from .queue import record_command
from .settings import Config
from .work import SourcesChangedError, Work

_READ_FOR_LANGUAGE = 20
"""The number of documents whose language is detected and compared with the language of the
index.
"""
Verb = Literal["", "append", "update", "overwrite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """The request for a build. ``verb`` says what to do if an index exists already.

    A new index has one view of each kind (Lucene's index, vectors and so on), and those that
    ``views`` names; without ``dense`` it has no vectors. ``encoders`` names models that make
    vectors, a view each, instead of the configured one. The build takes only documents whose docid
    ``share`` accepts, perhaps none. A ``quiet`` build does not report what the reader left out,
    because another build of the same sources does. ``wait`` is the seconds to wait for another
    writer. ``dates``, ``columns``, ``sheet``, ``header_row`` and ``archive`` are those of
    ``ReadOptions``, and ``places`` are those of ``BadLines``. ``vectors`` are those that the user
    brings instead of an encoder. ``by`` names the key of the client who sent the documents.
    ``stored_as`` is the kind under which they are stored, if not ``kind``.
    """

    kind: str
    sources: tuple[Path, ...]
    folder: Path
    verb: Verb = ""
    language: str = ""
    dense: bool = True
    views: tuple[str, ...] = ()
    encoders: tuple[str, ...] = ()
    share: Callable[[str], bool] | None = None
    quiet: bool = False
    wait: float = 0.0
    dates: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    sheet: str = ""
    header_row: int = 0
    places: Mapping[str, str] = field(default_factory=dict)
    archive: str = ""
    vectors: GivenVectors | None = None
    by: str = ""
    stored_as: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """The result of a build; ``ReadOptions`` explains what the reader reports.

    ``merged`` is the number of segments before merging minus the number after it. ``unmerged`` says
    why segments could not be merged, if they could not.
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
    notes: tuple[str, ...]
    resumed: bool
    merged: int = 0
    unmerged: str = ""


def build(request: BuildRequest, config: Config, encoders: Encoders | None = None) -> BuildReport:
    """Read the sources, write segments and publish them.

    To resume an interrupted build, repeat the same call.

    ``encoders`` replace those that the request and the settings name; the build does not close
    them. Raises SourceError if a source cannot be read. Raises IndexStateError if an index exists
    and no verb is given, or if the existing index does not fit the request. Raises MachineError if
    the disk is full, or if Java or the encoder is missing. After an error, the index keeps what was
    published before.
    """
    folder = request.folder
    reader(request.kind)
    check_apart(folder, request.sources)
    sources = describe(request.sources)
    with locked(folder, request.wait), os_errors_reported(folder):
        report = build_locked(request, config, sources, encoders, partial(record_command, folder))
        try:
            compacted = merge_surplus(folder, config)
        except UserError as error:  # the new documents are already published
            return replace(report, unmerged=error.line)
        fewer = compacted.before - len(compacted.manifest.segments)
        return replace(report, manifest=compacted.manifest, merged=fewer)


def create_empty(request: BuildRequest, config: Config) -> Manifest:
    """Publish an index without documents, and return its manifest.

    The request has no sources, and its kind may be ``""``: documents of every kind can be added
    later. Raises IndexStateError if an index exists and the request does not overwrite it.
    """
    folder = request.folder
    if request.kind:
        reader(request.kind)
    with locked(folder, request.wait), os_errors_reported(folder):
        manifests.check_whole(folder)
        if (folder / manifests.NAME).is_file() and request.verb != "overwrite":
            raise already_there(folder)
        with closing(encoders_of(request, config)) as encoders:
            shape = _shape(request, config, None, encoders)
            tools = Tools(folder, shape, config, encoders)
            for view in views(shape):
                view.prepare(tools)
        manifest = with_segments(shape, (), folder)
        manifests.publish(folder, manifest)
        forget_seen(folder)
        journals.clean(folder)
        return manifest


def build_locked(
    request: BuildRequest,
    config: Config,
    sources: tuple[SourceInfo, ...],
    encoders: Encoders | None = None,
    note: Callable[[Iterable[str]], object] | None = None,
) -> BuildReport:
    """Do the same as :func:`build` for a caller that holds the index's lock, but do not merge small
    segments.

    ``sources`` describes the files to read; ``encoders`` stay open. ``note`` receives the docids of
    the documents that the build wrote or found unchanged in the index.
    """
    base = None
    if request.columns and not getattr(reader(request.kind), "COLUMNS", False):
        users = join_words([kind for kind in kinds() if getattr(reader(kind), "COLUMNS", False)])
        raise SourceError(
            f"--column: {request.kind} has fixed names", remedy=f"leave it out; {users} use it"
        )
    reads_tables = getattr(reader(request.kind), "COLUMNS", False)
    for option, value in (("--sheet", request.sheet), ("--header-row", request.header_row)):
        if value and not reads_tables:
            raise SourceError(f"{option} is for tables", remedy="leave it out")
    manifests.check_whole(request.folder)
    if (request.folder / manifests.NAME).is_file() and request.verb != "overwrite":
        if not request.verb:
            raise already_there(request.folder)
        base = manifests.read(request.folder)
    with ExitStack() as opened:
        encoders = encoders or opened.enter_context(closing(encoders_of(request, config)))
        shape = _shape(request, config, base, encoders)
        tools = Tools(request.folder, shape, config, encoders)
        for view in views(shape):
            view.prepare(tools)
        with closing(_read(request, config, tools, sources, base)) as work:
            report = _publish(request, base, tools, work)
            if note is not None:
                note(work.docids())
        unused = request.vectors.unused if request.vectors and not request.share else []
        if unused:
            what = f"there are vectors of passages that were not indexed: {some_of(unused)}"
            report = replace(report, notes=(*report.notes, what))
        return report


def _read(
    request: BuildRequest,
    config: Config,
    tools: Tools,
    sources: tuple[SourceInfo, ...],
    base: Manifest | None,
) -> Work:
    """Read the sources into segments. Resume an interrupted build of the same request.

    If the sources do not begin with what that build had read, begin again. If reading fails, the
    journal stays only if a later build can resume from it.
    """
    limits = (config.passages, config.index.segment_passages, config.build.skip_bad_lines)
    names, more = (
        [source.name for source in sources],
        [repr(request.share)] if request.share else [],
    )
    hows = (request.dates, request.columns, request.archive, request.sheet, request.header_row)
    more += [str(how) for how in hows if how]
    more += [request.vectors.digest] if request.vectors else []
    fingerprint = journals.fingerprint(
        request.kind, names, tools.manifest, request.verb, limits, *more
    )
    options = ReadOptions(
        language=tools.manifest.language,
        max_line_bytes=config.build.max_line_bytes,
        max_file_bytes=config.build.max_file_bytes,
        dates=request.dates,
        columns=dict(request.columns),
        sheet=request.sheet,
        header_row=request.header_row,
        archive=request.archive,
        bad_lines=BadLines(config.build.skip_bad_lines, places=request.places),
    )
    work: Work | None = None
    try:
        work = Work(
            request.kind,
            sources,
            base.segments if base else (),
            updates=request.verb == "update",
            config=config,
            tools=tools,
            journal=journals.recover_unfinished(request.folder, fingerprint)
            or journals.begin(request.folder, fingerprint, sources),
            options=options,
            by=request.by,
            stored_as=request.stored_as,
        )
        work.read(_records(request, options))
    except BaseException as error:
        if work is not None:
            work.close()
        if isinstance(error, SourcesChangedError):
            journals.clean(request.folder)
            return _read(request, config, tools, sources, base)
        journals.give_up(request.folder)
        raise
    return work


def _records(request: BuildRequest, options: ReadOptions) -> Iterator[Record]:
    records = reader(request.kind).read(
        request.sources, options.silent() if request.quiet else options
    )
    first: list[str] = []
    with closing(bar("reading", "document")) as reading:
        for record in records:
            reading.update()
            if len(first) < _READ_FOR_LANGUAGE and record.document.language == options.language:
                first.append(record.document.text)
            if request.share is None or request.share(record.document.docid):
                yield record
    if not request.language and (language := other_language(first, options.language)):
        options.note(
            f"the language of the texts seems to be {language}, but the language of the index is "
            f"{options.language}; "
            f"if so, build the index again with --language {language}"
        )


def encoders_of(request: BuildRequest, config: Config) -> Encoders:
    """Return the encoders of an index; a new index gets those of the request, else the encoder for
    its language.

    Raises ConfigError if the prompts in the configuration belong to another model.
    """
    language = language_code(request.language or config.index.language)
    check_choice(config.encoder, request.encoders, language)
    if request.vectors is None:
        return Encoders(config, language=language, models=request.encoders)
    if request.encoders or not request.dense:
        other = "--encoder" if request.encoders else "--no-dense"
        raise UsageError(f"--vectors brings the vectors: leave out {other}")
    return Encoders(config, language=language, given={VECTORS: request.vectors})


def _publish(request: BuildRequest, base: Manifest | None, tools: Tools, work: Work) -> BuildReport:
    folder, options, new = request.folder, work.options, tuple(work.journal.finished)
    duplicates = work.journal.progress.duplicates
    if not new and not duplicates and not request.share:
        journals.give_up(folder)
        left_out = [f"{count} {reason}" for reason, count in sorted(options.skipped.items())]
        left_out += [f"{options.bad_lines.count} bad lines"] if options.bad_lines.count else []
        why = f" (left out: {', '.join(left_out)})" if left_out else ""
        raise SourceError(
            f"no {request.kind} document was found{why}", place=", ".join(map(str, request.sources))
        )
    live = base.segments if base else ()
    kept = without(folder, live, work.new_docids()) if work.updates and new else live
    manifest = base
    # Else nothing is published, so that servers do not open the index again.
    if new or manifest is None:
        manifest = with_segments(tools.manifest, (*kept, *new), folder)
        manifests.publish(folder, manifest)
    if request.verb == "overwrite":
        forget_seen(folder)
    journals.clean(folder)
    return BuildReport(
        manifest=manifest,
        replaced=live_documents(live) - live_documents(kept),
        documents=sum(segment.documents for segment in new),
        passages=sum(segment.passages for segment in new),
        duplicates=duplicates,
        bad_lines=options.bad_lines,
        skipped=options.skipped,
        left_out=tuple(options.left_out),
        unread_dates=options.unread_dates,
        notes=tuple(options.notes),
        resumed=work.resumed,
    )


def already_there(folder: Path) -> IndexStateError:
    """Return the error for a folder that contains an index already, if the request has no verb."""
    return IndexStateError(
        "there is an index already",
        place=folder,
        remedy="use --append to add to it, --update to replace documents with the same docid, or "
        "--overwrite to"
        " replace it",
    )


def check_apart(folder: Path, sources: Iterable[Path]) -> None:
    """Raise IndexStateError if the index would lie in a source folder: the build would then read
    its own index.
    """
    for source in sources:
        if source.is_dir() and Path(os.path.realpath(folder)).is_relative_to(
            os.path.realpath(source)
        ):
            raise IndexStateError(
                f"lies in the source {source}", place=folder, remedy="put the index somewhere else"
            )


def _shape(
    request: BuildRequest, config: Config, base: Manifest | None, encoders: Encoders
) -> Manifest:
    """Return the manifest that describes the index: the existing one, or a new one without
    segments.
    """
    if base is not None:
        check_fit(request, config, base)
        return base
    declared = config.index.filter_fields or _filter_fields(request.kind)
    config = structs.replace(config, index=structs.replace(config.index, filter_fields=declared))
    language = language_code(request.language or config.index.language)
    left_out = () if request.dense else (VECTORS,)
    further = [*request.views, *further_views(request.encoders)]
    return Manifest(
        layout=LAYOUT,
        created="",
        language=language,
        analyzer=analyzer_name(language, config.index.analyzer),
        fields=config.index.fields,
        bm25=BM25Info(k1=config.bm25.k1, b=config.bm25.b),
        views=dict(descriptions(config, encoders, without=left_out, further=further)),
        versions=manifests.versions(),
        documents=0,
        passages=0,
        segments=(),
    )


def _filter_fields(kind: str) -> tuple[str, ...]:
    """Return the filter fields of a kind of source; those of all kinds for an empty index without
    one, because documents of every kind may come.
    """
    fields = [getattr(reader(name), "FILTER_FIELDS", ()) for name in ([kind] if kind else kinds())]
    return tuple(dict.fromkeys(chain.from_iterable(fields)))


def check_fit(request: BuildRequest, config: Config, base: Manifest) -> None:
    """Raise IndexStateError if documents cannot be added to the index ``base`` as the request
    says.
    """
    analyzer, declared = config.index.analyzer, field_names(config.index.filter_fields)
    models = {encoder.model or encoder.name for encoder in base.encoders.values()}
    foreign = [
        each
        for each in request.encoders
        if each not in models and str(Path(each).resolve()) not in models
    ]
    what, remedy, only_one = "", "", "and an index has only one"
    if request.language and language_code(request.language) != base.language:
        what = (
            f"the language of the index is {base.language}, not {request.language}, {only_one} "
            "language"
        )
    elif analyzer and analyzer_name("", analyzer) != base.analyzer:
        what = f"the analyzer of the index is {base.analyzer}, not {analyzer}, {only_one} analyzer"
    elif declared and declared != base.filter_fields:
        its = ", ".join(base.filter_fields) or "none"
        what = (
            f"the filter fields of the index are {its}, not {', '.join(declared)}, and all "
            "segments share them"
        )
    elif foreign:
        its = ", ".join(sorted(models)) or "no encoder"
        what = f"the vectors of the index come from {its}, not from {foreign[0]}"
        remedy = "leave out --encoder, or replace the index with --overwrite"
    elif other := _other_setting(request, config, base):
        what = f"the vectors of the index come with {other}"
        remedy = "leave out --encoder, or replace the index with --overwrite"
    elif lacking := [name for name in request.views if name not in base.views]:
        what = f"the index has no {lacking[0]}, and its segments have the same parts"
        remedy = f"leave it out, and add it with factseek compact --add {lacking[0]}"
    elif not request.dense and base.encoder is not None:
        what = "all documents of the index have vectors"
        remedy = "leave out --no-dense, or replace the index with --overwrite"
    if what:
        raise IndexStateError(what, place=request.folder, remedy=remedy)
    for info in filter(None, map(base.impacts_of, request.views)):
        check_agreement(info, config.impact, request.folder)


def _other_setting(request: BuildRequest, config: Config, base: Manifest) -> str:
    """Return what an index records otherwise than the configuration for the encoder of a request.

    Without a named encoder, the recorded one applies with all that was recorded with it.
    """
    if len(request.encoders) != 1 or base.encoder is None:
        return ""
    for name in ("query_prompt", "document_prompt", "max_tokens", "truncate_dim", "similarity"):
        configured, recorded = getattr(config.encoder, name), getattr(base.encoder, name)
        if configured not in ("", 0, AUTO, recorded):
            return f"{name} {recorded!r}, not encoder.{name} {configured!r}"
    return ""


def describe(sources: Sequence[Path]) -> tuple[SourceInfo, ...]:
    """Describe sources by content: a file by its checksum, a folder by the checksums of the files
    below it.
    """
    return tuple(map(_describe_source, sources))


def _describe_source(source: Path) -> SourceInfo:
    try:
        if source.is_dir():
            digest, size = hashlib.sha256(), 0
            for path in sorted(path for path in source.rglob("*") if path.is_file()):
                if leads_outside(path, source):  # its reader leaves it out
                    continue
                line = f"{path.relative_to(source).as_posix()}\0{sha256(path)}\n"
                digest.update(line.encode("utf-8", "surrogateescape"))
                size += path.stat().st_size
            return SourceInfo(
                name=storable(source.resolve().name), bytes=size, sha256=digest.hexdigest()
            )
        if source.exists() and not source.is_file():  # reading a pipe would empty it
            raise SourceError(
                "is not a regular file; save its content to a file first", place=source
            )
        return SourceInfo(
            name=storable(source.name), bytes=source.stat().st_size, sha256=sha256(source)
        )
    except FileNotFoundError:
        raise SourceError("there is no such file or directory", place=source) from None
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", place=source) from None
