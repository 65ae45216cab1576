"""Predictions in the cell of a table: the docids of a query as a list of Python's or of JSON's, best first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...retrieval.domain import Hit
from ...retrieval.errors import QueryError
from ...retrieval.lines import shown

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
# No blank can be matched by two parts of it, or a long gap where a bracket is missing would take quadratic time.
_LIST = re.compile(rf"\[\s*(?:(?:{_QUOTED})\s*(?:,\s*(?:{_QUOTED})\s*)*(?:,\s*)?)?\]")
_ITEM = re.compile(_QUOTED)


class Predictions(NamedTuple):
    """The docids named for a query, best first, and their line."""

    line: int
    docids: list[str]


def docids_in(cell: str) -> list[str] | None:
    """Return the docids of a list, None if the cell holds none."""
    return [item[1:-1] for item in _ITEM.findall(cell)] if _LIST.fullmatch(cell) else None


def prediction_line(qid: str, docids: Sequence[str]) -> str:
    """Return a line of qid and list.

    Raises QueryError if an id cannot stand in the file.
    """
    for value in (qid, *docids):
        if not value or not value.isprintable() or set(value) & set("'\"\\\t"):
            raise QueryError(f"{shown(value)} is empty or holds a quote: it cannot stand in a submission")
    return f"{qid}\t[{', '.join(map(repr, docids))}]\n"


def slots(docids: Sequence[str]) -> list[Hit]:
    """Return a hit for each slot; a docid named again keeps its slot, under one that no document has."""
    seen: set[str] = set()
    hits = []
    for rank, docid in enumerate(docids, 1):
        hits.append(Hit(f"{docid} (slot {rank})" if docid in seen else docid, float(-rank)))
        seen.add(docid)
    return hits


def slot_scores(predictions: Mapping[str, Predictions]) -> dict[str, dict[str, float]]:
    """Return scores that say the order of the docids named for each query."""
    return {qid: {hit.docid: hit.score for hit in slots(row.docids)} for qid, row in predictions.items()}
