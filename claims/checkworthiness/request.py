"""Checks of ``rank``'s options before any work: contradictions, and outputs that cannot be written."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from ...retrieval.errors import QueryError
from ...retrieval.files import files_in, writable
from ...retrieval.run_writer import column

STANDARD_INPUT = "-"


def with_files_of_folders(args: argparse.Namespace) -> argparse.Namespace:
    """Return the arguments of ``rank`` with the files of each folder to learn from or to rank in its place.

    Raises QueryError if a folder holds none.
    """
    inputs = [[name] if name == STANDARD_INPUT else map(str, files_in([Path(name)])) for name in args.input]
    return argparse.Namespace(**{**vars(args), "train": files_in(args.train), "input": list(chain(*inputs))})


def outputs_of(args: argparse.Namespace) -> list[Path]:
    """Return the path of each input's submission; refuse, before any work, options that contradict each other.

    Raises QueryError.
    """
    _refuse_contradictions(args)
    named = [Path(name) for name in args.input if name != STANDARD_INPUT]
    read = [*args.train, *named, *([args.load] if args.load else [])]
    if args.save:
        writable(args.save, read)
    if args.output is None:
        return []
    if len(args.input) == 1 and not args.output.is_dir():
        writable(args.output, read)
        return [args.output]
    outputs = _in_folder(args.output, args.input)
    for output in outputs if args.output.is_dir() else ():
        writable(output, read)
    return outputs


def _in_folder(folder: Path, inputs: Sequence[str]) -> list[Path]:
    """Return a file in the folder for each input, of the same name.

    Raises QueryError if two would have the same name, or the folder is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise QueryError("is a file", place=folder, remedy="several inputs need a folder, one submission each")
    if not folder.parent.is_dir():
        raise QueryError(f"there is no folder {folder.parent}", place=folder, remedy="make it first")
    stems = Counter("standard-input" if name == STANDARD_INPUT else Path(name).stem for name in inputs)
    twice = next((stem for stem, number in stems.items() if number > 1), "")
    if twice:
        raise QueryError(
            f"{twice} is the name of two files", place="--input", remedy="their submissions would be one file"
        )
    return [folder / f"{stem}.tsv" for stem in stems]


def _refuse_contradictions(args: argparse.Namespace) -> None:
    if args.train and args.load:
        raise QueryError("--train and --load exclude each other: learn a ranker or load one")
    if args.load and args.save:
        raise QueryError("--load and --save exclude each other: copy the file instead")
    if args.stream and (args.output or args.json):
        raise QueryError("--stream writes JSON lines to standard output", remedy="leave out --output and --json")
    if args.words < 0 or args.top < 0:
        raise QueryError("--words and --top take a number that is not negative")
    if args.output and not args.input:
        raise QueryError("there is nothing to rank", place="--output", remedy="name it with --input")
    if not (args.input or args.stream or args.save):
        raise QueryError("there is nothing to do: give --input to rank, --stream for standard input, or --save")
    _check_run_id(args.run_id)
    if args.input.count(STANDARD_INPUT) > 1:
        raise QueryError("standard input can be read once", place="--input")


def _check_run_id(run_id: str) -> None:
    try:
        column(run_id or "default")
    except QueryError as error:
        raise QueryError(f"--run-id {error}") from None
