"""Torture: what the tests of a living index do in seconds, done for hours; the figures go into docs/operating.md.

``python -m benchmarks.torture`` runs all of it; ``--sequences``, ``--kills`` and ``--minutes`` say how much, and
``--write`` puts the figures into the document. It ends with an error at the first loss.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from benchmarks.crowd import crowd
from benchmarks.marked import replace_marked
from factseek.eval.reports.machine import this_machine
from factseek.retrieval.terminal import say, write
from tests.indexer.live import LiveDenseIndex, LiveIndex
from tests.indexer.stopping import Bench, bench, duration, kill_at_random, stop_at
from tests.indexer.verbs import BEFORE, VERBS

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "operating.md"
DENSE_SHARE = 25
"""One sequence in so many is of an index with vectors."""


class Figure(NamedTuple):
    """What was done, how often, and what came of it."""

    what: str
    runs: int
    result: str
    seconds: float


def sequences(runs: int) -> Iterator[Figure]:
    """Run random sequences of verbs against a model."""
    dense = runs // DENSE_SHARE
    for machine, what, count in (
        (LiveIndex, "random sequences of verbs against a model", runs - dense),
        (LiveDenseIndex, "the same with vectors", dense),
    ):
        if not count:
            continue
        began = time.monotonic()
        chosen = settings(max_examples=count, stateful_step_count=12, suppress_health_check=list(HealthCheck))
        run_state_machine_as_test(machine, settings=settings(chosen, deadline=None, derandomize=False))
        yield Figure(what, count, "equal after each", time.monotonic() - began)


def kills(of: Bench, count: int) -> Iterator[Figure]:
    """Kill each verb at random points of its time."""
    chance = random.Random(1)  # noqa: S311  a test's chance
    verbs = sorted(VERBS)
    for verb in verbs if count >= len(verbs) else ():
        began = time.monotonic()
        seconds = duration(of, verb)
        done = [kill_at_random(of, verb, seconds, chance) for _ in range(count // len(verbs))]
        killed = [published for was_killed, published in done if was_killed]
        # What leaves the documents as they are shows no difference between before and after.
        had = f", {sum(killed)} of them had published" if VERBS[verb].after != BEFORE else ""
        result = f"{len(killed)} killed at work{had}; 0 documents lost, 0 half-visible"
        yield Figure(f"SIGKILL at a random point of `{verb}`", len(done), result, time.monotonic() - began)


def calls(of: Bench, every: int) -> Iterator[Figure]:
    """Stop each verb at each of its calls to the file system, by a kill and by a full disk."""
    for how, name in (("kill", "SIGKILL"), ("ENOSPC", "disk full"), ("EIO", "input/output error")):
        for verb in sorted(VERBS):
            began = time.monotonic()
            of.begin()
            at = range(1, of.run(verb).calls + 1, every)
            said = sum(stop_at(of, verb, call, how).code == 2 for call in at)
            result = "0 documents lost, 0 half-visible" + (f"; {said} said so in one line" if how != "kill" else "")
            yield Figure(f"{name} at a call to the file system in `{verb}`", len(at), result, time.monotonic() - began)


def together(minutes: float) -> Iterator[Figure]:
    """Let writers, readers and kills loose on one index."""
    if minutes:
        began = time.monotonic()
        with _place() as folder:
            done = crowd(folder, minutes * 60)
        result = (
            f"{done.verbs} verbs, {done.killed} killed, {done.searches:,} searches by {done.readers:,} readers; "
            "`verify-index` clean, search equal to the model's"
        )
        yield Figure(
            f"writers, readers, compactions and kills side by side for {minutes:g} minutes",
            1,
            result,
            time.monotonic() - began,
        )


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a Markdown table."""
    lines = ["| what | runs | result |", "|---|---:|---|"]
    lines += [f"| {one.what} | {one.runs:,} | {one.result} |" for one in figures]
    hours = sum(one.seconds for one in figures) / 3600
    return "\n".join([*lines, "", f"{hours:.1f} hours on {this_machine()}."])


@contextmanager
def _place() -> Iterator[Path]:
    memory = Path("/dev/shm")  # noqa: S108  the disk's own time is not what is tested
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def main() -> None:
    """Run what is asked, say each figure as it is there, and write them down if that is asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=5000, metavar="N")
    parser.add_argument("--kills", type=int, default=1400, metavar="N", help="over all verbs together")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="stop at every N-th call")
    parser.add_argument("--minutes", type=float, default=10.0, metavar="M")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    figures: list[Figure] = []
    with _place() as folder, bench(folder) as of:
        parts = (together(args.minutes), sequences(args.sequences), kills(of, args.kills), calls(of, args.every))
        for part in parts:
            for figure in part:
                figures.append(figure)
                say(f"{figure.what}: {figure.runs:,} runs, {figure.result} ({figure.seconds:.0f} s)")
    write(table(figures) + "\n")
    if args.write:
        replace_marked(DOCUMENT, "torture", table(figures))


if __name__ == "__main__":
    main()
