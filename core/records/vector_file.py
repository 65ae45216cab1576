"""Read vectors that others have made: of passages by docid and number, or of queries by qid.

A file is one of these:

- ``.npy``, an array of shape (n, dimension); the ids are in another file, a line each: docid and
  passage with a tab between them, or the qid,
- ``.parquet`` with the columns ``docid``, ``passage`` and ``vector``, or ``qid`` and ``vector``,
- JSON Lines with these keys.

Passages count from 0; a missing number means 0.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import SourceError
from ..files import os_errors_reported
from .lines import Strict, lines

IdName = Literal["docid", "qid"]
_ID_OPTIONS: dict[IdName, str] = {"docid": "--vector-ids", "qid": "--query-vector-ids"}
"""The option that names the ids of an .npy file."""
Key = tuple[str, int]
"""A docid and the number of a passage; for a query, the qid and 0."""
_MOST_DIMENSIONS = 65_536
_SHOWN = 5  # the number of ids that an error lists
_FLOATS = ("f2", "f4", "f8")
_PARQUET_ROWS = 16_384  # the number of rows to read at a time


class KeyedVectors(NamedTuple):
    """Vectors, shape (n, dimension), with a key each, in the order of the file."""

    keys: list[Key]
    vectors: NDArray[np.float32]


class _Line(msgspec.Struct):
    """A line of JSON Lines; the other keys are ignored."""

    vector: list[float]
    docid: str = ""
    qid: str = ""
    passage: int = 0


def read_vector_file(path: Path, ids: Path | None, id_name: IdName) -> KeyedVectors:
    """Return the vectors in a file with their keys.

    Raises SourceError, naming file and line, if a vector has another dimension than the first or a
    number that is not finite, or if a key is missing or is there twice.
    """
    with os_errors_reported(path):
        suffix = path.suffix.lower()
        if suffix == ".npy":
            if ids is None:
                raise SourceError(
                    "an .npy file has no ids",
                    place=path,
                    remedy=f"name the file with an id a line in {_ID_OPTIONS[id_name]}",
                )
            return _check_keys(_read_npy(path, ids, id_name), ids, id_name)
        if ids is not None:
            raise SourceError(
                f"{_ID_OPTIONS[id_name]} is for .npy files: this file has its own ids", place=path
            )
        if suffix == ".parquet":
            return _check_keys(_read_parquet(path, id_name), path, id_name)
        return _check_keys(_read_json_lines(path, id_name), path, id_name)


def _check_keys(read: KeyedVectors, place: Path, id_name: IdName) -> KeyedVectors:
    first: set[Key] = set()
    for number, key in enumerate(read.keys, 1):
        if key in first:
            what = f"{id_name} {key[0]!r}"
            if id_name == "docid":
                what += f", passage {key[1]},"
            raise SourceError(f"{what} is there twice", place=f"{place}:{number}")
        first.add(key)
    if not read.keys:
        raise SourceError("contains no vectors", place=place)
    return read


def _read_npy(path: Path, ids: Path, id_name: IdName) -> KeyedVectors:
    vectors = _map_npy(path)
    keys = list(_read_ids(ids, id_name))
    if len(keys) != len(vectors):
        raise SourceError(f"has {len(keys):,} ids for {len(vectors):,} vectors", place=ids)
    with np.errstate(over="ignore"):
        numbers = np.asarray(vectors, dtype=np.float32)
    for row in np.flatnonzero(~np.isfinite(numbers).all(axis=1))[:1]:
        raise SourceError(f"vector {row} has a number that is not finite", place=path)
    return KeyedVectors(keys, numbers)


def _map_npy(path: Path) -> NDArray[Any]:
    """Return the array in a file; its header must fit the size of the file, because the header says
    how much memory is reserved.
    """
    remedy = "write it with numpy.save, as an array of shape (n, dimension)"
    with path.open("rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            read_header = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            shape, is_fortran, dtype = read_header(file)
        # numpy reads the header as Python code, and a damaged one may end within a token.
        except (ValueError, KeyError, OSError, TokenError, SyntaxError):
            raise SourceError("is not an .npy file", place=path, remedy=remedy) from None
        begin = file.tell()
        left = os.fstat(file.fileno()).st_size - begin
    if len(shape) != 2 or dtype.str[1:] not in _FLOATS:
        what = f"has an array of {dtype}, shape {shape}, instead of rows of floats"
        raise SourceError(what, place=path, remedy=remedy)
    if not 0 < shape[1] <= _MOST_DIMENSIONS or shape[0] * shape[1] * dtype.itemsize != left:
        what = (
            f"its header says {shape[0]:,} vectors of {shape[1]:,} dimensions, and {left:,} bytes "
            "follow"
        )
        raise SourceError(what, place=path, remedy="write the file again")
    if not shape[0]:
        raise SourceError("contains no vectors", place=path)
    order: Literal["C", "F"] = "F" if is_fortran else "C"
    return np.memmap(path, dtype=dtype, mode="r", offset=begin, shape=shape, order=order)


def _read_ids(path: Path, id_name: IdName) -> Iterator[Key]:
    for number, line in lines(path, Strict(path)):
        identifier, tab, passage = line.decode("utf-8").rstrip("\r\n").partition("\t")
        if not identifier or (tab and id_name == "qid"):
            form = "write a qid a line" if id_name == "qid" else "write docid TAB passage"
            raise SourceError("is no id", place=f"{path}:{number}", remedy=form)
        yield identifier, _passage(passage if tab else "0", f"{path}:{number}")


def _passage(value: str, place: str) -> int:
    if not (value.isascii() and value.isdecimal() and len(value) < 10):
        raise SourceError(
            f"{value[:40]!r} is not the number of a passage", place=place, remedy="count from 0"
        )
    return int(value)


def _read_json_lines(path: Path, id_name: IdName) -> KeyedVectors:
    keys: list[Key] = []
    rows: list[NDArray[np.float32]] = []
    decoder = msgspec.json.Decoder(_Line)
    for number, line in lines(path, Strict(path)):
        place = f"{path}:{number}"
        if not line.strip():
            continue
        try:
            record = decoder.decode(line)
        except msgspec.DecodeError as error:
            remedy = f'write {{"{id_name}": "a", "vector": [0.1, …]}} a line'
            raise SourceError(str(error), place=place, remedy=remedy) from None
        identifier = record.qid if id_name == "qid" else record.docid
        if not identifier:
            raise SourceError(f"has no {id_name}", place=place)
        if record.passage < 0:
            raise SourceError("the number of a passage is negative", place=place)
        keys.append((identifier, record.passage if id_name == "docid" else 0))
        rows.append(_row(record.vector, rows, place))
    return KeyedVectors(keys, _stacked(rows))


def _read_parquet(path: Path, id_name: IdName) -> KeyedVectors:
    import pyarrow
    from pyarrow import parquet

    keys: list[Key] = []
    rows: list[NDArray[np.float32]] = []
    try:
        file = parquet.ParquetFile(path)
        there = file.schema_arrow.names
        columns = [name for name in (id_name, "passage", "vector") if name in there]
        missing = {id_name, "vector"}.difference(columns)
        if missing:
            raise SourceError(f"has no column {min(missing)}", place=path)
        for batch in file.iter_batches(_PARQUET_ROWS, columns=columns):
            for record in batch.to_pylist():
                place = f"{path}:{len(keys) + 1}"
                identifier, vector = record[id_name], record["vector"]
                if identifier is None or not isinstance(vector, list):
                    raise SourceError(f"has no {id_name} or no vector", place=place)
                passage = _passage(str(record.get("passage") or 0), place)
                keys.append((str(identifier), passage if id_name == "docid" else 0))
                rows.append(_row(vector, rows, place))
    except pyarrow.ArrowException as error:
        reason = " ".join(str(error).split())[:200]
        raise SourceError(f"is not a Parquet file ({reason})", place=path) from None
    return KeyedVectors(keys, _stacked(rows))


def _row(
    vector: Sequence[Any], before: Sequence[NDArray[np.float32]], place: str
) -> NDArray[np.float32]:
    """Return a vector; it must have the dimension of the vectors ``before`` it."""
    if not 0 < len(vector) <= _MOST_DIMENSIONS:
        raise SourceError(f"the vector has {len(vector):,} dimensions", place=place)
    if before and len(vector) != len(before[0]):
        what = f"the vector has {len(vector)} dimensions, and the first one {len(before[0])}"
        raise SourceError(what, place=place)
    try:
        with np.errstate(over="ignore"):
            row = np.array(vector, dtype=np.float32)
    except (TypeError, ValueError):
        raise SourceError("the vector is not a list of numbers", place=place) from None
    if not np.isfinite(row).all():
        raise SourceError("the vector has a number that is not finite", place=place)
    return row


def _stacked(rows: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    return np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)


def some_of(keys: Sequence[Key]) -> str:
    """Return a few keys for a message, and how many more there are."""
    shown = [f"{docid} passage {number}" for docid, number in keys[:_SHOWN]]
    more = len(keys) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
