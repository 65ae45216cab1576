"""Find the columns of a table by the names in its header."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, NoReturn, Protocol

from .lines import Faults
from .names import Names

_MOST_COLUMNS_SHOWN = 20
_MOST_UNUSED_SHOWN = 10
_BETWEEN_OR_BEHIND = re.compile(r"[\s_-]|[.:*]+\s*\Z")


class Notices(Faults, Protocol):
    """Receives the faults of a file, and notes on what a reader guessed in it."""

    def note(self, line: int, text: str) -> None:
        """Record a note for the user."""

    def refuse(self, line: int, reason: str) -> NoReturn:
        """Raise SourceError: nothing in the file can be read."""


def plain_name(name: str) -> str:
    """Return the name of a column or key in the form for comparison: lower case, without blanks,
    ``_`` and ``-``, and without marks behind it, as in ``Claim:``.
    """
    # In Turkish, İ and I are different letters, but names are also written by other programs.
    folded = unicodedata.normalize("NFC", name).casefold()
    one_i = folded.replace("i\u0307", "i").replace("ı", "i")
    return _BETWEEN_OR_BEHIND.sub("", one_i)


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


Sample = Sequence[Sequence[str]]
"""The cells of the first rows below a header; they show what the columns contain."""
Content = Literal["", "addresses", "flags", "numbers", "texts"]
"""What the cells of a column are; ``""`` if all are empty. Dates count as numbers."""
_FLAGS = frozenset(
    "0 1 n no y yes t true f false x - nein ja non oui sí si não sim evet hayır да нет не "
    "نعم لا".split()
)
_NUMBER = re.compile(r"[-+~<>≤≥]?[\s%€$£.,:/+-]*\d[\d\s%€$£.,:/+-]*")
_ADDRESS = re.compile(r"https?://\S+", re.I)


def content_of(cells: Iterable[str]) -> Content:
    """Return what the cells of a column are, if all of them are the same, else ``texts``."""
    filled = [text for cell in cells if (text := cell.strip())]
    if not filled:
        return ""
    if all(text.casefold() in _FLAGS for text in filled):
        return "flags"
    if all(_NUMBER.fullmatch(text) for text in filled):
        return "numbers"
    return "addresses" if all(_ADDRESS.fullmatch(text) for text in filled) else "texts"


class Columns(NamedTuple):
    """The columns that a reader looks for.

    A header must have a column for a field of each group in ``required``, and for each field in
    ``chosen``, whose column the user named. A column that only ``names`` contains, and not the
    reader's ``own`` names, is a guess, which is noted. If no column fits the field ``docid``, ids
    are made from the content of the rows; an empty ``docid`` disables this. The reader ``keeps``
    columns without a meaning as metadata, which is noted; else they are named if ids are made or a
    column is guessed.

    A column of the field ``text`` must contain texts: the word "claim" may also head a column of
    flags. If the columns of the field ``address`` contain no addresses, another column that does
    takes their place. The user's choices are never changed. ``meanings`` has other names of fields
    for the user.
    """

    names: Names
    required: Sequence[Sequence[str]]
    own: Names | None = None
    docid: str = ""
    keeps: bool = False
    chosen: Collection[str] = ()
    text: str = ""
    address: str = ""
    meanings: Mapping[str, str] = {}

    @property
    def looks_below(self) -> bool:
        """Whether the rows below a header decide what its columns mean."""
        return bool(self.text or self.address)

    def find(self, header: Sequence[str], sample: Sample = ()) -> dict[str, list[str]]:
        """Return the columns of each field in a header; guess if no column has one of the reader's
        own names.

        ``sample`` has the first rows below the header.
        """
        known = dict(columns_of(header, self.names))
        sure = dict(columns_of(header, self.own)) if self.own else known
        contents = self._contents(header, sample)
        if self.text in known and self.text not in self.chosen:
            for columns in (known, sure):
                if self.text in columns:
                    columns[self.text] = [
                        name for name in columns[self.text] if self._is_text(name, contents[name])
                    ]
        columns = {
            field: each if field in self.chosen else sure.get(field) or each[:1]
            for field, each in known.items()
            if each
        }
        # A column without a name has the ids only if no other column has them.
        if named := [name for name in columns.get(self.docid, ()) if name.strip()]:
            columns[self.docid] = named
        self._find_addresses(header, columns, contents)
        return columns

    def _is_text(self, name: str, content: Content) -> bool:
        """Return whether a column may have the texts; one that is called ``text``, or has the
        reader's own first name for it, has them whatever they look like.
        """
        sure = ("text", *(self.own or self.names)[self.text][:1])
        return content in ("", "texts") or plain_name(name) in map(plain_name, sure)

    def _contents(self, header: Sequence[str], sample: Sample) -> dict[str, Content]:
        """Return what the columns contain, as far as that decides what they mean."""
        if not sample or not self.looks_below:
            return dict.fromkeys(header, "")
        contents: dict[str, Content] = {}
        for number, name in enumerate(header):
            cells = (row[number] for row in sample if number < len(row))
            contents.setdefault(name, content_of(cells))
        return contents

    def _find_addresses(
        self,
        header: Sequence[str],
        columns: dict[str, list[str]],
        contents: Mapping[str, Content],
    ) -> None:
        """Let the first column of addresses be the address, unless a column with its name has
        addresses.

        A column of other addresses, such as those of a publisher, keeps its meaning.
        """
        field = self.address
        if field not in self.names or field in self.chosen:
            return
        named = columns.get(field, [])
        if any(contents[name] == "addresses" for name in named):
            return
        others = {
            name
            for other, each in columns.items()
            if other in self.chosen or other.lower().endswith(("url", "image", "sameas"))
            for name in each
        }
        for name in header:
            if name.strip() and contents[name] == "addresses" and name not in others:
                for other in [each for each in columns if each != self.docid]:
                    columns[other] = [column for column in columns[other] if column != name]
                    if not columns[other]:
                        del columns[other]
                columns[field] = [name]
                return

    def check_header(
        self,
        line: int,
        header: Sequence[str],
        notices: Notices,
        shown: Collection[str] = (),
        sample: Sample = (),
    ) -> bool:
        """Return whether ids must be made, and note guesses; a message names the columns ``shown``,
        or else the header.

        Refuse a table in which a required column is missing or occurs twice.
        """
        columns = self.find(header, sample)
        if self.text and self.text not in columns:
            self.refuse_content(line, header, sample, notices)
        self._refuse_missing(line, columns, shown or header, notices)
        self._refuse_twice(line, columns, header, notices)

        beyond = sorted(columns.keys() - columns_of(header, self.own or self.names).keys())
        for field in beyond:
            if field not in self.chosen:
                meaning = self.meanings.get(field, field)
                used = f"the column {columns[field][0]!r} is used as {meaning!r}"
                notices.note(line, f"{used}; choose another with --column")

        makes_ids = bool(self.docid) and self.docid not in columns
        if makes_ids:
            text = "no column contains ids; each row gets an id made from its content"
            notices.note(line, text)
        if makes_ids or beyond or self.keeps:
            self._note_unused(line, columns, header, notices)
        return makes_ids

    def refuse_content(
        self, line: int, header: Sequence[str], sample: Sample, notices: Notices
    ) -> None:
        """Refuse a table whose only columns of texts, by their names, contain something else."""
        contents = self._contents(header, sample)
        for name in columns_of(header, self.names).get(self.text, ()):
            notices.refuse(
                line,
                f"the column {name!r} contains {contents[name]}, not texts; name the column of the "
                f"texts with --column text=NAME; the columns are {_listed(header)}",
            )

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
            advice = ""
            if not is_chosen:
                meant = "that of the texts" if self.text in fields else "it"
                option = "text" if self.text in fields else fields[0]
                advice = f"; name {meant} with --column {option}=NAME"
            notices.refuse(
                line,
                f"there is no column {' or '.join(names)}; the columns are {_listed(shown)}"
                f"{advice}",
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
        what = "these columns become metadata" if self.keeps else "these columns are not used"
        notices.note(line, f"{what}: {shown}; {advice}")


def _listed(names: Collection[str]) -> str:
    """Return the names of columns for a message."""
    there = [repr(name[:40]) for name in list(names)[:_MOST_COLUMNS_SHOWN]]
    if len(names) > _MOST_COLUMNS_SHOWN:
        there.append("…")
    return ", ".join(there) or "none"
