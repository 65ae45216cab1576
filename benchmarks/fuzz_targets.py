"""Targets of broken inputs: every reader of documents, and every parser of a task, a run or a setting."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benchmarks.fuzz_inputs import mutated
from benchmarks.fuzz_seeds import DOCUMENTS, OTHERS, SOURCES, TASK_FILES, TASKS, frames, manifest, ranker, real
from factseek import settings
from factseek.claims.checkworthiness.training import RankerManifest
from factseek.eval import tasks
from factseek.eval.formats import topics, tweets
from factseek.indexer.collections import BadLines, ReadOptions, kinds, reader
from factseek.indexer.collections._documents import check_docid
from factseek.indexer.document_line import read_line
from factseek.retrieval import manifest as manifests
from factseek.retrieval import model_file, trec
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.table_shape import shape_of

_TABLES = (".tsv", ".csv", ".jsonl", ".txt")
_ANY = ("a\tb\n", "{}\n")


class Target(NamedTuple):
    """Something that reads files: its name, how inputs are named, real inputs, and the function that feeds one."""

    name: str
    endings: tuple[str, ...]
    seeds: Callable[[], tuple[bytes, ...]]
    feed: Callable[[Path, random.Random], None]


class Input(NamedTuple):
    """A broken input by its number: the same file, and the same chance for whoever feeds it, for the same number."""

    name: str
    content: bytes
    chance: random.Random


def input_of(target: Target, number: int) -> Input:
    """Return an input of a target."""
    chance = random.Random(f"{target.name}:{number}")  # noqa: S311  a test's chance
    name = f"input{chance.choice(target.endings)}"
    return Input(name, mutated(chance, target.seeds()), chance)


def feed(target: Target, number: int, folder: Path) -> None:
    """Feed one input, which the target has to accept or to refuse with a FactseekError.

    Raises any other error of the target, and AssertionError if an answer is wrong or a file is left in ``folder``.
    """
    name, content, chance = input_of(target, number)
    path = folder / name
    path.write_bytes(content)
    try:
        with suppress(FactseekError), warnings.catch_warnings():
            warnings.simplefilter("error", ResourceWarning)
            target.feed(path, chance)
    finally:
        path.unlink()
    left = [path.name for path in folder.iterdir()]
    if left:
        raise AssertionError(f"left behind: {left}")


def targets(data: Path | None) -> list[Target]:
    """Return all targets, with seeds from the real collections where they are."""
    return [*_readers(data), *_tasks(data), *_parsers(data)]


def _readers(data: Path | None) -> Iterator[Target]:
    for kind in kinds():
        endings, patterns = SOURCES.get(kind, ((".txt",), ()))
        yield Target(f"index {kind}", endings, _seeds(DOCUMENTS.get(kind, _ANY), patterns, data, kind), _reading(kind))


def _reading(kind: str) -> Callable[[Path, random.Random], None]:
    def feed_reader(path: Path, chance: random.Random) -> None:
        limit = chance.choice((0, 3, 10**6))
        options = ReadOptions(max_line_bytes=100_000, max_file_bytes=500_000, bad_lines=BadLines(limit))
        sources = [path if chance.random() < 0.8 else path.parent]
        for record in reader(kind).read(sources, options):
            document, place, spans = record
            _require(check_docid(document.docid) is None, f"docid {document.docid!r}")
            _require(place.startswith(str(path)), f"place {place!r}")
            msgspec.json.encode({**document._asdict(), "metadata": dict(document.metadata)}).decode("utf-8")
            _require(all(isinstance(value, str) for value in document[:8]), "a field is no text")
            _require("\0" not in "".join(document[:8]), "a field holds a NUL")
            for span in spans or ():
                _require(0 <= span.start <= span.end <= len(document.text), f"span {span}")

    return feed_reader


def _tasks(data: Path | None) -> Iterator[Target]:
    for name in tasks.names():
        yield Target(f"task {name}", _TABLES, _task_seeds(name, data), _judging(name))


def _judging(name: str) -> Callable[[Path, random.Random], None]:
    def feed_task(path: Path, chance: random.Random) -> None:
        task: Any = tasks.task(name)
        readers = (
            ("read_queries", lambda read: read(path)),
            ("read_gold", lambda read: read([path])),
            ("read_submission", lambda read: read(path)),
            ("check", lambda read: read(path)),
            ("read_claims", lambda read: read(path, labelled=True)),
            ("read_statements", lambda read: read(path, labelled=True)),
            ("stream_statements", lambda read: list(read(path.read_bytes().splitlines(keepends=True), str(path)))),
        )
        own = {name: getattr(task, name, None) for name, _ in readers}
        offered = [(own[name], call) for name, call in readers if _is_own(own[name], task)]
        for read, call in chance.sample(offered, 3):
            with suppress(FactseekError):
                call(read)

    return feed_task


def _is_own(read: object, task: object) -> bool:
    """Return whether a task reads something itself: a module what it defines, a described task all that it has."""
    defined_by = getattr(task, "__name__", type(task).__module__)
    return getattr(read, "__module__", "") == defined_by


def _parsers(data: Path | None) -> Iterator[Target]:
    tweets_of, trec_of = _task_seeds("ct2021-1a", data), _task_seeds("trec", data)
    every = tuple(seed for sources in DOCUMENTS.values() for seed in sources)
    yield Target("read_run", (".txt",), trec_of, lambda path, _: _ignore(trec.read_run(path)))
    yield Target("read_qrels", _TABLES, trec_of, lambda path, _: _ignore(trec.read_qrels(path)))
    yield Target("read_topics", _TABLES, _seeds(OTHERS["topics"]), lambda path, _: _ignore(topics.read_topics(path)))
    yield Target("read_tweets", _TABLES, tweets_of, lambda path, _: _ignore(tweets.read_tweets(path)))
    yield Target("a document by HTTP", (".jsonl",), _seeds(DOCUMENTS["jsonl"]), _by_line)
    yield Target("config.yaml", (".yaml",), _seeds(OTHERS["config"]), lambda path, _: _ignore(settings.read(path)))
    yield Target(
        "a ranker's file", (".model",), cache(ranker), lambda path, _: _ignore(model_file.load(path, RankerManifest))
    )
    yield Target("manifest.json", (".json",), cache(manifest), _manifest)
    yield Target("the looks of a file", _TABLES, _seeds(every), lambda path, _: _ignore(shape_of(path)))


def _by_line(path: Path, _: random.Random) -> None:
    for line in path.read_bytes().split(b"\n"):
        read_line(line.decode("utf-8", "replace"), "en")


def _manifest(path: Path, _: random.Random) -> None:
    named = path.rename(path.with_name(manifests.NAME))
    try:
        manifests.read(path.parent)
    finally:
        named.rename(path)


def _ranker(path: Path, _: random.Random) -> None:
    model_file.load(path, RankerManifest)


def _ignore(_: object) -> None:
    """Accept any answer."""


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _task_seeds(name: str, data: Path | None) -> Callable[[], tuple[bytes, ...]]:
    return _seeds(TASK_FILES.get(name, _ANY), TASKS.get(name, ()), data)


def _seeds(
    written: Sequence[str], patterns: Sequence[str] = (), data: Path | None = None, kind: str = ""
) -> Callable[[], tuple[bytes, ...]]:
    """Return a function that returns the inputs written here and the beginnings of real ones."""

    def seeds() -> tuple[bytes, ...]:
        made = frames() if kind == "cord19" else ()
        return (*(seed.encode() for seed in written), *made, *real(patterns, data))

    return cache(seeds)
