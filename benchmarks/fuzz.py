"""Feed every reader, every parser and every route with broken inputs: ``make fuzz``.

An input is known by its target and its number, so a find is repeated with ``--target NAME --input NUMBER``. What was
done stands in ``bench/fuzz.json``, from where an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.fuzz_targets import Target, feed, targets
from benchmarks.marked import replace_marked
from factseek.retrieval.terminal import say, write

ROOT = Path(__file__).resolve().parent.parent
STATE, DOCUMENT = ROOT / "bench" / "fuzz.json", ROOT / "docs" / "operating.md"
SECONDS = 20.0
"""Processor time that one input may take."""
SLICE = 2_500
"""Inputs of one process: to start it takes longer than hundreds of inputs."""

State = dict[str, dict[str, Any]]


class TookTooLongError(Exception):
    """An input took more than ``SECONDS`` of processor time."""


def data_folder() -> Path | None:
    """Return the folder of the real collections, or ``None``."""
    folder = os.environ.get("FACTSEEK_DATA")
    return Path(folder) if folder and Path(folder).is_dir() else None


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raise TookTooLongError after so much processor time."""

    def stop(_: int, frame: FrameType | None) -> None:
        raise TookTooLongError(f"more than {seconds:g} s at {frame.f_code.co_qualname if frame else '?'}")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def finds(target: Target, first: int, count: int) -> list[dict[str, Any]]:
    """Feed inputs by their numbers; return the number and the error of each on which the target failed."""
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


def worked(name: str, first: int, count: int) -> dict[str, Any]:
    """Feed inputs in a process of their own; return its finds and its peak of memory in megabytes."""
    command = [sys.executable, "-m", "benchmarks.fuzz", "--work", name, str(first), str(count)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["nothing was said"])[-1]
        return {
            "finds": [{"input": first, "error": f"the process ended with {ran.returncode}: {last}"}],
            "megabytes": 0.0,
        }
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


def work(name: str, first: int, count: int) -> None:
    """Feed inputs and print the failures as JSON, for :func:`worked` to read."""
    (target,) = (candidate for candidate in targets(data_folder()) if candidate.name == name)
    failures = finds(target, first, count)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    write(json.dumps({"finds": failures, "megabytes": round(peak, 1)}))


def run(names: Sequence[str], count: int, state: State) -> None:
    """Feed each target until it has had its inputs, keeping the state after each slice."""
    for name in names:
        known = state.setdefault(name, {"done": 0, "finds": [], "megabytes": 0.0, "seconds": 0.0})
        while known["done"] < count:
            began, number = time.monotonic(), min(SLICE, count - known["done"])
            answer = worked(name, known["done"], number)
            known["finds"] += answer["finds"]
            known["megabytes"] = max(known["megabytes"], answer["megabytes"])
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
    """Store the state of one target, without losing what others have stored meanwhile."""
    state = {**done(), name: known}
    STATE.parent.mkdir(exist_ok=True)
    beside = STATE.with_suffix(".tmp")
    beside.write_text(json.dumps(state, indent=1), "utf-8")
    beside.replace(STATE)


def table(state: State) -> str:
    """Return the state as a Markdown table."""
    lines = [
        "| fed with broken inputs | inputs | tracebacks, answers of status 500, leftovers | most memory |",
        "|---|---:|---:|---:|",
    ]
    for name, known in sorted(state.items()):
        memory = f"{known['megabytes']:.0f} MB" if known["megabytes"] else ""
        lines.append(f"| `{name}` | {known['done']:,} | {len(known['finds'])} | {memory} |")
    hours = sum(known["seconds"] for known in state.values()) / 3600
    return "\n".join(
        [
            *lines,
            "",
            f"Python and its libraries are {idle():.0f} MB of each. {hours:.1f} hours on 2 cores, beside other work.",
        ]
    )


def idle() -> float:
    """Return the memory in megabytes of a process that has only loaded what the targets need."""
    script = "import resource, benchmarks.fuzz; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return int(ran.stdout) * 1024 / 1e6


def main() -> None:
    """Feed the inputs asked for, and print the failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--target", action="append", metavar="NAME", help="one of those listed with --list (default: all)"
    )
    parser.add_argument("--count", type=int, default=10_000, metavar="N", help="inputs of each target")
    parser.add_argument("--input", type=int, metavar="NUMBER", help="feed this one alone, and let its error be seen")
    parser.add_argument("--again", action="store_true", help="forget what was done")
    parser.add_argument("--list", action="store_true", help="list the targets")
    parser.add_argument("--write", action="store_true", help=f"put the figures into {DOCUMENT.name}")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(args.work[0], int(args.work[1]), int(args.work[2]))
        return
    known = {target.name: target for target in targets(data_folder())}
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
