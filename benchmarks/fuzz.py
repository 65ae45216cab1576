"""Feed every reader, every parser and every route with broken inputs: ``make fuzz``.

Target and number determine an input, so ``--target NAME --input NUMBER`` repeats a failure. ``bench/fuzz.json`` records
the progress, and an interrupted run continues from there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import msgspec

from benchmarks.fuzz_inputs import SOURCES, TABLES, manifest, mutated, ranker, seeds
from benchmarks.measuring import replace_marked
from factseek import settings
from factseek.claims.checkworthiness.training import RankerManifest
from factseek.eval import tasks
from factseek.eval.files import topics, tweets
from factseek.eval.scoring.tables import markdown_table
from factseek.indexer.collections import BadLines, ReadOptions, kinds, reader
from factseek.indexer.collections._documents import check_docid
from factseek.indexer.collections.jsonl import read_line
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.records import model_file, trec
from factseek.retrieval.records.table_shape import shape_of
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.terminal import say, write

ROOT = Path(__file__).resolve().parent.parent
STATE, DOCUMENT = ROOT / "bench" / "fuzz.json", ROOT / "docs" / "figures.md"
SECONDS = 20.0
"""The limit of processor time for one input."""

SLICE = 2_500
"""The number of inputs of one process; to start a process takes longer than hundreds of inputs."""

State = dict[str, dict[str, Any]]
KINDS = ("DELETE", "GET", "POST", "PUT", "index", "task")
"""The first words of the names of targets of one kind."""


class Target(NamedTuple):
    """A reader of files: its name, the file endings of its inputs, real inputs, and the function to feed."""

    name: str
    endings: tuple[str, ...]
    seeds: Callable[[], tuple[bytes, ...]]
    feed: Callable[[Path, random.Random], object]


def input_of(target: Target, number: int) -> tuple[str, bytes, random.Random]:
    """Return an input's name and content, and the random generator for feeding it; all follow from its number."""
    chance = random.Random(f"{target.name}:{number}")  # noqa: S311  a test's chance
    name = f"input{chance.choice(target.endings)}"
    return name, mutated(chance, target.seeds()), chance


def feed(target: Target, number: int, folder: Path) -> None:
    """Feed one input to the target, which must accept it or refuse it with a FactseekError.

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
    """Return all targets, with seeds from the real collections if they are present."""

    def target(
        name: str,
        fed: Callable[[Path, random.Random], object],
        like: str = "",
        made: Callable[[], tuple[bytes, ...]] | None = None,
    ) -> Target:
        """Return a target; its seeds are those of the target ``like``, or those that ``made`` returns."""
        endings = SOURCES.get(like or name, (TABLES,))[0].split()
        return Target(name, tuple(endings), made or partial(seeds, like or name, data), fed)

    every = partial(lambda names: tuple(seed for name in names for seed in seeds(name, data)), sorted(SOURCES))
    return [
        *(target(f"index {kind}", partial(_read, kind)) for kind in kinds()),
        *(target(f"task {name}", partial(_judge, name)) for name in tasks.names()),
        target("read_run", lambda path, _: trec.read_run(path), "task trec"),
        target("read_qrels", lambda path, _: trec.read_qrels(path), "task trec"),
        target("read_topics", lambda path, _: topics.read_topics(path)),
        target("read_tweets", lambda path, _: tweets.read_tweets(path), "task ct2021-1a"),
        target("a document by HTTP", _by_line, "index jsonl"),
        target("config.yaml", lambda path, _: settings.read(path)),
        target("a ranker's file", lambda path, _: model_file.load(path, RankerManifest), made=ranker),
        target("manifest.json", _manifest, made=manifest),
        target("the looks of a file", lambda path, _: shape_of(path), made=every),
    ]


def _read(kind: str, path: Path, chance: random.Random) -> None:
    """Read sources of a kind; an invalid document is an AssertionError."""
    limit = chance.choice((0, 3, 10**6))
    options = ReadOptions(max_line_bytes=100_000, max_file_bytes=500_000, bad_lines=BadLines(limit))
    sources = [path if chance.random() < 0.8 else path.parent]
    for document, place, spans in reader(kind).read(sources, options):
        _require(check_docid(document.docid) is None, f"docid {document.docid!r}")
        _require(place.startswith(str(path)), f"place {place!r}")
        msgspec.json.encode({**document._asdict(), "metadata": dict(document.metadata)}).decode("utf-8")
        _require(all(isinstance(value, str) for value in document[:8]), "a field is no text")
        _require("\0" not in "".join(document[:8]), "a field holds a NUL")
        for span in spans or ():
            _require(0 <= span.start <= span.end <= len(document.text), f"span {span}")


def _judge(name: str, path: Path, chance: random.Random) -> None:
    """Read a file as three of the kinds of files that a task reads."""
    task: Any = tasks.task(name)
    lines = path.read_bytes().splitlines(keepends=True)
    readers: dict[str, Callable[[Any], object]] = {
        "read_queries": lambda read: read(path),
        "read_gold": lambda read: read([path]),
        "read_submission": lambda read: read(path),
        "check": lambda read: read(path),
        "read_claims": lambda read: read(path, labelled=True),
        "read_statements": lambda read: read(path, labelled=True),
        "stream_statements": lambda read: list(read(lines, str(path))),
    }
    own = {kind: read for kind in readers if _is_own(read := getattr(task, kind, None), task)}
    for kind in chance.sample(list(own), 3):
        with suppress(FactseekError):
            readers[kind](own[kind])


def _is_own(read: object, task: object) -> bool:
    """Return whether a task itself defines a reading function, instead of importing it."""
    defined_by = getattr(task, "__name__", type(task).__module__)
    return getattr(read, "__module__", "") == defined_by


def _by_line(path: Path, _: random.Random) -> None:
    for line in path.read_bytes().split(b"\n"):
        read_line(line.decode("utf-8", "replace"), "en")


def _manifest(path: Path, _: random.Random) -> None:
    named = path.rename(path.with_name(manifests.NAME))
    try:
        manifests.read(path.parent)
    finally:
        named.rename(path)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


class TookTooLongError(Exception):
    """An input took more than ``SECONDS`` of processor time."""


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raise TookTooLongError after ``seconds`` of processor time."""

    def stop(_: int, frame: FrameType | None) -> None:
        raise TookTooLongError(f"more than {seconds:g} s at {frame.f_code.co_qualname if frame else '?'}")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _data_folder() -> Path | None:
    folder = os.environ.get("FACTSEEK_DATA")
    return Path(folder) if folder and Path(folder).is_dir() else None


def finds(target: Target, first: int, count: int) -> list[dict[str, Any]]:
    """Feed inputs by their numbers; return the number and the error of each input on which the target failed."""
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + count):
            try:
                with bounded(SECONDS):
                    feed(target, number, Path(folder))
            except Exception as error:  # noqa: BLE001  what is looked for
                where = traceback.extract_tb(error.__traceback__)[-1]
                line = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"[:300]
                failures.append({"input": number, "error": line})
    return failures


def _work(name: str, first: int, count: int) -> tuple[list[dict[str, Any]], float]:
    """Return the failures among some inputs, and this process's peak of memory in megabytes."""
    (target,) = (candidate for candidate in targets(_data_folder()) if candidate.name == name)
    return finds(target, first, count), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def run(names: Sequence[str], count: int, state: State) -> None:
    """Feed each target its inputs, each slice in a process of its own; save the state after each slice."""
    for name in names:
        known = state.setdefault(name, {"done": 0, "finds": [], "megabytes": 0.0, "seconds": 0.0})
        while known["done"] < count:
            began, number = time.monotonic(), min(SLICE, count - known["done"])
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                try:
                    found, megabytes = process.submit(_work, name, known["done"], number).result()
                except BrokenProcessPool as error:
                    found, megabytes = [{"input": known["done"], "error": f"the process died: {error}"}], 0.0
            known["finds"] += found
            known["megabytes"] = max(known["megabytes"], round(megabytes, 1))
            known["seconds"] += time.monotonic() - began
            known["done"] += number
            remember(name, known)
        say(f"{name}: {known['done']:,} inputs, {len(known['finds'])} finds, at most {known['megabytes']:.0f} MB")
        for find in known["finds"][:5]:
            say(f"  {find['input']}: {find['error']}")


def done() -> State:
    """Return the state kept so far."""
    state: State = json.loads(STATE.read_text("utf-8")) if STATE.exists() else {}
    return state


def remember(name: str, known: dict[str, Any]) -> None:
    """Save the state of one target, without losing what other processes have saved meanwhile."""
    state = {**done(), name: known}
    STATE.parent.mkdir(exist_ok=True)
    beside = STATE.with_suffix(".tmp")
    beside.write_text(json.dumps(state, indent=1), "utf-8")
    beside.replace(STATE)


def table(state: State) -> str:
    """Return the state as a Markdown table, a line for each kind of target."""
    groups: dict[str, list[Any]] = defaultdict(list)
    for name, known in sorted(state.items()):
        kind, _, rest = name.partition(" ")
        groups[f"`{kind} …`" if rest and kind in KINDS else "other files and parsers"].append(known)
    rows = []
    for kind, members in groups.items():
        inputs, found = (sum(one["done"] for one in members), sum(len(one["finds"]) for one in members))
        megabytes = max(one["megabytes"] for one in members)
        memory = f"{megabytes:.0f} MB" if megabytes else ""
        rows.append([kind, str(len(members)), f"{inputs:,}", str(found), memory])
    header = (
        "fed with broken inputs",
        "targets",
        "inputs",
        "tracebacks, answers of status 500, leftovers",
        "most memory",
    )
    hours = sum(known["seconds"] for known in state.values()) / 3600
    return f"{markdown_table(header, rows)}\n{hours:.1f} hours, beside other work."


def main() -> None:
    """Feed the requested inputs, and print the failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--target", action="append", metavar="NAME", help="a target that --list prints; repeatable (default: all)"
    )
    parser.add_argument("--count", type=int, default=10_000, metavar="N", help="the number of inputs for each target")
    parser.add_argument("--input", type=int, metavar="NUMBER", help="try only this input, and print its error")
    parser.add_argument("--again", action="store_true", help="start from the first input again")
    parser.add_argument("--list", action="store_true", help="list the targets")
    parser.add_argument("--write", action="store_true", help=f"put the figures into {DOCUMENT.name}")
    args = parser.parse_args()
    known = {target.name: target for target in targets(_data_folder())}
    names = args.target or list(known)
    if args.list:
        write("".join(f"{name}\n" for name in known))
    elif args.input is not None:
        with tempfile.TemporaryDirectory() as folder, bounded(SECONDS):
            feed(known[names[0]], args.input, Path(folder))
    else:
        if args.again:
            STATE.unlink(missing_ok=True)
        run(names, args.count, done())
        state = done()
        write(table(state) + "\n")
        if args.write:
            replace_marked(DOCUMENT, "fuzz", table(state))
        sys.exit(any(known["finds"] for known in state.values()))


if __name__ == "__main__":
    main()
