"""The command ``search`` with several indexes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..config import Config
from ..errors import UsageError
from ..evidence import Evidence
from ..lucene.spelling import respelt
from ..many import CountsOfMany, counts_of_many, search_many
from ..searcher import Search
from ..terminal import say
from .local import open_index

if TYPE_CHECKING:
    from .local import Index

    AskedOf = Callable[[Index], Search]
    """Return what the options ask of an index."""


class Several(NamedTuple):
    """The evidence from several indexes in one ranking, and what was asked to be counted."""

    evidence: list[Evidence]
    counts: CountsOfMany | None


def search_several(
    args: argparse.Namespace, config: Config, text: str, asked_of: AskedOf, fields: Mapping[str, int]
) -> Several:
    """Return the evidence from the indexes of ``--index`` in one ranking; what a reader should know is said.

    Raises UsageError if an index is given twice, a weight makes no sense, or something is asked that one index alone
    can answer.
    """
    if args.explain or args.like:
        raise UsageError("--explain and --like are answered by one index; give one --index")
    names = [str(folder) for folder in args.index]
    if len(set(map(_real, args.index))) < len(names):
        raise UsageError("argument --index: is given twice; give it once", remedy="see factseek search --help")
    weights = _weights(args.weight, names)
    with ExitStack() as opened:
        indexes = {name: opened.enter_context(open_index(name, config)) for name in names}
        searches = {name: asked_of(index) for name, index in indexes.items()}
        for name, index in indexes.items():
            if note := index.note(text, searches[name]):
                say(f"note: {name}: {note}")
            if spelt := index.spellings(text, searches[name]):
                say(f"did you mean, in {name}: {respelt(text, spelt)}")
        evidence = search_many(indexes, text, searches, weights=weights)
        return Several(evidence, counts_of_many(indexes, text, searches, fields) if args.count or fields else None)


def _real(folder: Path) -> Path:
    return folder.resolve()


def _weights(options: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for option in options:
        name, _, value = option.rpartition("=")
        try:
            weight = float(value)
        except ValueError:
            weight = -1.0
        if name not in names or not 0 <= weight <= 1_000_000:
            raise UsageError(f"--weight {option}: give DIR=N, a directory of --index and a number from 0")
        weights[name] = weight
    return weights
