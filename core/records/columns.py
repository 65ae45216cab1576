"""Find the columns of a table by the names in its header."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, NoReturn, Protocol

from .lines import Faults
from .names import Names

_MOST_COLUMNS_SHOWN = 20
_MOST_UNUSED_SHOWN = 10


class Notices(Faults, Protocol):
    """Receives the faults of a file, and notes on what a reader guessed in it."""

    def note(self, line: int, text: str) -> None:
        """Record a note for the user."""

    def refuse(self, line: int, reason: str) -> NoReturn:
        """Raise SourceError: nothing in the file can be read."""


def plain_name(name: str) -> str:
    """Return the name of a column or key in the form for comparison: lower case, without blanks,
    ``_`` and ``-``.
    """
    return re.sub(r"[\s_-]", "", name).casefold()


def columns_of(header: Sequence[str], names: Names) -> dict[str, list[str]]:
    """Return the columns of each field in a header, in the order of the field's names.

    Names are compared as :func:`plain_name` returns them; of equal ones, the exact spelling is
    used.
    """
    spellings = tuple((field, tuple(each)) for field, each in names.items())
    return _known_columns(tuple(header), spellings)


@lru_cache(maxsize=256)
def _known_columns(
    header: tuple[str, ...], names: tuple[tuple[str, tuple[str, ...]], ...]
) -> dict[str, list[str]]:
    columns_by_name: dict[str, list[str]] = {}
    for column in header:
        columns_by_name.setdefault(plain_name(column), []).append(column)

    known: dict[str, list[str]] = {}
    for field, spellings in names:
        columns: list[str] = []
        for spelling in spellings:
            alike = columns_by_name.get(plain_name(spelling), [])
            columns += [spelling] if spelling in header else alike
        if columns:
            known[field] = list(dict.fromkeys(columns))
    return known


class Columns(NamedTuple):
    """The columns that a reader looks for.

    A header must have a column for a field of each group in ``required``, and for each field in
    ``chosen``, whose column the user named. A column that only ``names`` contains, and not the
    reader's ``own`` names, is a guess, which is noted. If no column fits the field ``docid``, ids
    are made from the content of the rows; an empty ``docid`` disables this. ``unused`` begins the
    note about unused columns, which appears if ids are made or a column is guessed.
    """

    names: Names
    required: Sequence[Sequence[str]]
    own: Names | None = None
    docid: str = ""
    unused: str = "these columns are not used:"
    chosen: Collection[str] = ()

    def of(self, header: Sequence[str]) -> dict[str, list[str]]:
        """Return the columns of each field in a header; guess if no column has one of the reader's
        own names.
        """
        known = columns_of(header, self.names)
        sure = columns_of(header, self.own) if self.own else known
        columns = {
            field: each if field in self.chosen else sure.get(field) or each[:1]
            for field, each in known.items()
        }
        # A column without a name has the ids only if no other column has them.
        if named := [name for name in columns.get(self.docid, ()) if name.strip()]:
            columns[self.docid] = named
        return columns

    def check(
        self, line: int, header: Sequence[str], notices: Notices, shown: Collection[str] = ()
    ) -> bool:
        """Return whether ids must be made, and note guesses; a message names the columns ``shown``,
        or else the header.

        Refuse a table in which a required column is missing or occurs twice.
        """
        columns = self.of(header)
        self._refuse_missing(line, columns, shown or header, notices)
        self._refuse_twice(line, columns, header, notices)

        beyond = sorted(columns.keys() - columns_of(header, self.own or self.names).keys())
        for field in beyond:
            if field not in self.chosen:
                used = f"the column {columns[field][0]!r} is used as {field!r}"
                notices.note(line, f"{used}; choose another with --column")

        makes_ids = bool(self.docid) and self.docid not in columns
        if makes_ids:
            text = "no column contains ids; each row gets an id made from its content"
            notices.note(line, text)
        if makes_ids or beyond:
            self._note_unused(line, columns, header, notices)
        return makes_ids

    @property
    def _needed(self) -> list[Sequence[str]]:
        """The groups of fields of which a table must have one."""
        chosen = [[field] for field in self.names if field in self.chosen]
        return [*self.required, *chosen]

    def _refuse_missing(
        self,
        line: int,
        columns: Mapping[str, Sequence[str]],
        shown: Collection[str],
        notices: Notices,
    ) -> None:
        for fields in self._needed:
            if any(field in columns for field in fields):
                continue
            is_chosen = fields[0] in self.chosen
            known = self.names if is_chosen else self.own or self.names
            names = [repr(name) for field in fields for name in known[field] if name]
            there = [repr(name[:40]) for name in list(shown)[:_MOST_COLUMNS_SHOWN]]
            if len(shown) > _MOST_COLUMNS_SHOWN:
                there.append("…")
            listed = ", ".join(there) or "none"
            notices.refuse(
                line, f"there is no column {' or '.join(names)}; the columns are {listed}"
            )

    def _refuse_twice(
        self,
        line: int,
        columns: Mapping[str, Sequence[str]],
        header: Sequence[str],
        notices: Notices,
    ) -> None:
        for fields in self._needed:
            for field in fields:
                for column in columns.get(field, ()):
                    if header.count(column) > 1:
                        notices.refuse(line, f"the column {column!r} occurs twice")

    def _note_unused(
        self,
        line: int,
        columns: Mapping[str, Sequence[str]],
        header: Sequence[str],
        notices: Notices,
    ) -> None:
        used = {column for each in columns.values() for column in each}
        unused = [repr(column) for column in header if column.strip() and column not in used]
        if not unused:
            return
        shown = ", ".join(unused[:_MOST_UNUSED_SHOWN])
        if len(unused) > _MOST_UNUSED_SHOWN:
            shown += ", …"
        advice = "give one a meaning with --column, as in --column date=NAME"
        notices.note(line, f"{self.unused} {shown}; {advice}")
