"""Feed broken inputs to every reader and every parser; ``make fuzz`` also feeds every route.

Target and number determine an input, so ``--target NAME --input NUMBER`` repeats a failure.
``bench/fuzz.json`` records the progress, and an interrupted run continues from there.
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
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from benchmarks.fuzz_inputs import SOURCES, TABLES, mutated, seeds
from benchmarks.measuring import ROOT, WRITE, program, publish
from factseek import FactseekError, settings
from factseek.claims.checkworthiness.ranking import RankerManifest
from factseek.core.records import model_file, qrels, runs
from factseek.core.records.table_shape import shape_of
from factseek.core.terminal import say, write
from factseek.eval import tasks
from factseek.eval.files import topics, tweets
from factseek.eval.scoring.tables import markdown_table
from factseek.indexer.collections import BadLines, ReadOptions, kinds, reader
from factseek.indexer.collections._documents import check_docid
from factseek.indexer.collections.jsonl import read_line
from factseek.retrieval.store import manifest as manifests

STATE = ROOT / "bench" / "fuzz.json"
SECONDS = 20.0
"""The limit of processor time for one input."""
SLICE = 2_500
"""The number of inputs of one process; starting a process takes longer than feeding hundreds of
inputs.
"""
State = dict[str, dict[str, Any]]
KINDS = ("DELETE", "GET", "POST", "PUT", "index", "task")
"""The first words of target names; the table has one line for each of these words."""


def targets() -> dict[str, Callable[[Path, random.Random], object]]:
    """Return the targets by name: functions that read one file."""
    return {
        **{f"index {kind}": partial(_read, kind) for kind in kinds()},
        **{f"task {name}": partial(_judge, name) for name in tasks.names()},
        "read_run": lambda path, _: runs.read_run(path),
        "read_qrels": lambda path, _: qrels.read_qrels(path),
        "read_topics": lambda path, _: topics.read_topics(path),
        "read_tweets": lambda path, _: tweets.read_tweets(path),
        "a document by HTTP": lambda path, _: [
            read_line(line.decode("utf-8", "replace"), "en")
            for line in path.read_bytes().split(b"\n")
        ],
        "config.yaml": lambda path, _: settings.read(path),
        "a ranker's file": lambda path, _: model_file.load(path, RankerManifest),
        "manifest.json": _manifest,
        "the looks of a file": lambda path, _: shape_of(path),
    }


LIKE = {
    **{"read_run": "task trec", "read_qrels": "task trec", "read_tweets": "task ct2021-1a"},
    "a document by HTTP": "index jsonl",
}
"""Targets that read the inputs of another target, with the name of that target."""


def feed(name: str, number: int, folder: Path) -> None:
    """Feed one input to a target, which must accept it or refuse it with a FactseekError.

    Raises any other error of the target, and AssertionError if an answer is wrong or a file is left
    in ``folder``.
    """
    chance = random.Random(f"{name}:{number}")  # noqa: S311  a test's chance
    data = os.environ.get("FACTSEEK_DATA")
    source = (
        chance.choice(sorted(SOURCES)) if name == "the looks of a file" else LIKE.get(name, name)
    )
    path = folder / f"input{chance.choice(SOURCES.get(source, (TABLES,))[0].split())}"
    path.write_bytes(
        mutated(chance, seeds(source, Path(data) if data and Path(data).is_dir() else None))
    )
    try:
        with suppress(FactseekError), warnings.catch_warnings(), bounded(SECONDS):
            warnings.simplefilter("error", ResourceWarning)
            targets()[name](path, chance)
    finally:
        path.unlink()
    _require(not list(folder.iterdir()), f"left behind: {list(folder.iterdir())}")


def _read(kind: str, path: Path, chance: random.Random) -> None:
    limit = chance.choice((0, 3, 10**6))
    options = ReadOptions(max_line_bytes=100_000, max_file_bytes=500_000, bad_lines=BadLines(limit))
    sources = [path if chance.random() < 0.8 else path.parent]
    for document, place, spans, _ in reader(kind).read(sources, options):
        _require(check_docid(document.docid) is None, f"docid {document.docid!r}")
        _require(place.startswith(str(path)), f"place {place!r}")
        msgspec.json.encode({**document._asdict(), "metadata": dict(document.metadata)}).decode(
            "utf-8"
        )
        _require(all(isinstance(value, str) for value in document[:8]), "a field is no text")
        _require("\0" not in "".join(document[:8]), "a field holds a NUL")
        for span in spans or ():
            _require(0 <= span.start <= span.end <= len(document.text), f"span {span}")


def _judge(name: str, path: Path, chance: random.Random) -> None:
    task: Any = tasks.task(name)
    lines = path.read_bytes().splitlines(keepends=True)
    readers: dict[str, tuple[Any, ...]] = {
        **dict.fromkeys(
            ("read_queries", "read_scores", "check", "read_claims", "read_statements"), (path,)
        ),
        "read_gold": ([path],),
        "stream_statements": (lines, str(path)),
    }
    home = getattr(task, "__name__", type(task).__module__)
    # Another target feeds a reading function that a task only imports.
    own = [kind for kind in readers if getattr(getattr(task, kind, None), "__module__", "") == home]
    for kind in chance.sample(own, min(3, len(own))):
        labelled = {"labelled": True} if kind in ("read_claims", "read_statements") else {}
        with suppress(FactseekError):
            found = getattr(task, kind)(*readers[kind], **labelled)
            if kind == "stream_statements":
                list(found)


def _manifest(path: Path, _: random.Random) -> None:
    named = path.rename(path.with_name(manifests.NAME))
    try:
        manifests.read(path.parent)
    finally:
        named.rename(path)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after ``seconds`` of processor time."""

    def stop(_: int, frame: FrameType | None) -> None:
        raise TimeoutError(
            f"more than {seconds:g} s at {frame.f_code.co_qualname if frame else '?'}"
        )

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def finds(name: str, first: int, count: int) -> tuple[list[dict[str, Any]], float]:
    """Feed ``count`` inputs from number ``first``; return the failures by input, and the peak
    memory in MB.
    """
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + count):
            try:
                feed(name, number, Path(folder))
            except Exception as error:  # noqa: BLE001  what is looked for
                where = traceback.extract_tb(error.__traceback__)[-1]
                line = (
                    f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"[
                        :300
                    ]
                )
                failures.append({"input": number, "error": line})
    return failures, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def run(name: str, count: int) -> None:
    """Feed inputs to a target, each slice in a separate process; save the state after each
    slice.
    """
    known = done().get(name, {"done": 0, "finds": [], "megabytes": 0.0, "seconds": 0.0})
    while known["done"] < count:
        began, number = time.monotonic(), min(SLICE, count - known["done"])
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            try:
                found, megabytes = process.submit(finds, name, known["done"], number).result()
            except BrokenProcessPool as error:
                found, megabytes = (
                    [{"input": known["done"], "error": f"the process died: {error}"}],
                    0.0,
                )
        known["finds"] += found
        known["megabytes"] = max(known["megabytes"], round(megabytes, 1))
        known["seconds"] += time.monotonic() - began
        known["done"] += number
        remember(name, known)
    say(
        f"{name}: {known['done']:,} inputs, {len(known['finds'])} finds, at most "
        f"{known['megabytes']:.0f} MB"
    )
    for find in known["finds"][:5]:
        say(f"  {find['input']}: {find['error']}")


def done() -> State:
    """Return the saved state."""
    return msgspec.json.decode(STATE.read_bytes(), type=State) if STATE.exists() else {}


def remember(name: str, known: dict[str, Any]) -> None:
    """Save the state of one target, without losing what other processes have saved meanwhile."""
    STATE.parent.mkdir(exist_ok=True)
    beside = STATE.with_suffix(".tmp")
    beside.write_text(json.dumps({**done(), name: known}, indent=1), "utf-8")
    beside.replace(STATE)


def table(state: State) -> str:
    """Return the state as a Markdown table, a line for each kind of target."""
    groups: dict[str, list[Any]] = defaultdict(list)
    for name, known in sorted(state.items()):
        kind, _, rest = name.partition(" ")
        groups[f"`{kind} …`" if rest and kind in KINDS else "other files and parsers"].append(known)
    rows = []
    for kind, members in groups.items():
        inputs, found = (
            sum(one["done"] for one in members),
            sum(len(one["finds"]) for one in members),
        )
        megabytes = max(one["megabytes"] for one in members)
        rows.append(
            [
                kind,
                str(len(members)),
                f"{inputs:,}",
                str(found),
                f"{megabytes:.0f} MB" if megabytes else "",
            ]
        )
    faults = "tracebacks, answers of status 500, leftovers"
    header = ("fed with broken inputs", "targets", "inputs", faults, "peak memory")
    hours = sum(known["seconds"] for known in state.values()) / 3600
    return (
        f"{markdown_table(header, rows)}\nThe inputs took {hours:.1f} hours while other "
        "programs also ran."
    )


@program(
    (
        "--target",
        {
            "action": "append",
            "choices": list(targets()),
            "help": "feed this target; repeatable (default: all)",
        },
    ),
    (
        "--count",
        {
            "type": int,
            "default": 10_000,
            "metavar": "N",
            "help": "the number of inputs for each target",
        },
    ),
    (
        "--input",
        {"type": int, "metavar": "NUMBER", "help": "try only this input, and print its error"},
    ),
    WRITE,
)
def main(args: argparse.Namespace) -> bool:
    """Feed the requested inputs, and print the failures; return whether there are any."""
    names = args.target or list(targets())
    if args.input is not None:
        failures, _ = finds(names[0], args.input, 1)
        write("".join(f"{failure['error']}\n" for failure in failures))
        return bool(failures)
    for name in names:
        run(name, args.count)
    publish("fuzz", table(done()), document=args.write)
    return any(known["finds"] for known in done().values())


if __name__ == "__main__":
    sys.exit(main())
