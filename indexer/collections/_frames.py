"""Read the columns of Parquet files and of pickled DataFrames.

``_unpickling`` says what a pickle may contain. A pickle is read in a separate process (``python -m
factseek.indexer.collections._frames``), because a damaged pickle may crash the process. It has the
limits of memory and time of the process that reads spreadsheets.
"""

from __future__ import annotations

import pickle
import re
import struct
import sys
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ...core.records.columns import plain_name
from ...core.records.gzip_files import MOST_TIMES, UNPACKED_AT_ONCE
from ._child import MEMORY, SECONDS, BadFileError, ask_child, limit_process
from ._unpickling import RefusedError, unpickle

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_BATCH_ROWS = 512
_BATCH_CHARS = 50_000_000
"""The maximum number of characters in the records that are made at once, unless a single record has
more.
"""

_DAMAGED = "is damaged, or is not a pickle"
_TOO_LONG = f"unpacks to more than {MOST_TIMES} times its size; it is not a collection"
_CRASHED = f"is damaged, or a pickle that needs more than {SECONDS} s or {MEMORY >> 30} GB to read"

_DAMAGE = (
    *(
        pickle.UnpicklingError,
        struct.error,
        ArithmeticError,
        AssertionError,
        AttributeError,
        EOFError,
        LookupError,
    ),
    *(MemoryError, NotImplementedError, RecursionError, TypeError, ValueError),
)
"""The errors that the unpickler raises for bytes that are not a pickle, or that refer to missing
names or objects.
"""
_NO_CELLS = (list, tuple, dict, set, frozenset, bytes, bytearray)
_WHOLE = 1 << 63
_SURROGATES = re.compile(r"[\ud800-\udfff]")


@contextmanager
def _parquet(path: Path, **how: Any) -> Iterator[ParquetFile]:
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path, **how) as file:
            yield file
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BadFileError(
            path, f"is not a valid Parquet file ({str(error).splitlines()[0]})"
        ) from None


def parquet_names(path: Path) -> list[str]:
    with _parquet(path) as file:
        return list(file.schema_arrow.names)


def parquet_records(path: Path, names: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the records of a Parquet file with the columns ``names``; equal texts are in memory
    only once.
    """
    from pyarrow import compute

    with _parquet(path) as file:
        columns = [file.schema.column(number) for number in range(len(file.schema))]
        texts = [
            column.path
            for column in columns
            if column.path in names and column.physical_type == "BYTE_ARRAY"
        ]
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        pieces = (group.column(number) for group in groups for number in range(group.num_columns))
        sizes = (
            piece.total_uncompressed_size
            for piece in pieces
            if piece.path_in_schema.split(".")[0] in names
        )
        _check_size(path, sum(sizes))
        _check_size(path, file.metadata.num_rows)
    unpacked = 0
    with _parquet(path, read_dictionary=texts) as file:
        for batch in file.iter_batches(_BATCH_ROWS, columns=names):
            values = [
                column.dictionary for column in batch.columns if hasattr(column, "dictionary")
            ]
            longest = sum(compute.max(compute.binary_length(each)).as_py() or 0 for each in values)
            rows = max(1, _BATCH_CHARS // max(1, longest))
            for start in range(0, batch.num_rows, rows):
                made = batch.slice(start, rows).to_pylist()
                unpacked += sum(
                    len(text)
                    for record in made
                    for text in record.values()
                    if isinstance(text, str)
                )
                _check_size(path, unpacked)
                yield from made


def _check_size(path: Path, unpacked: int) -> None:
    if unpacked > UNPACKED_AT_ONCE and unpacked > MOST_TIMES * path.stat().st_size:
        raise BadFileError(path, _TOO_LONG)


def read_columns(path: Path, content: bytes, wanted: Collection[str]) -> dict[str, list[Any]]:
    """Return the ``wanted`` columns of a pickled DataFrame; missing values are ``None``, dates are
    ISO 8601 days.
    """
    question = msgspec.msgpack.encode((sorted(wanted), content))
    return ask_child(path, "_frames", content=question, kind=dict[str, list[Any]], damaged=_CRASHED)


def load_columns(content: bytes, wanted: Collection[str]) -> dict[str, list[Any]]:
    """Do the same as :func:`read_columns` in this process, which a damaged pickle may crash.

    Raises RefusedError if the pickle is damaged, uses a name that is not admitted, or contains no
    DataFrame.
    """
    import pandas

    try:
        with warnings.catch_warnings():  # older pandas wrote deprecated names
            warnings.simplefilter("ignore")
            table = unpickle(content)
    except _DAMAGE:
        raise RefusedError(_DAMAGED) from None
    if not isinstance(table, pandas.DataFrame):
        raise RefusedError("contains no pandas DataFrame")
    try:
        if len(table) > len(content):  # every row of a table takes at least a byte
            raise RefusedError(_DAMAGED)
        known = set(map(plain_name, wanted))
        named = ((name, at) for at, name in enumerate(table.columns) if isinstance(name, str))
        columns = [(name, table.iloc[:, at]) for name, at in named if plain_name(name) in known]
        cells = {
            name: [
                None if missing else _plain(value)
                for value, missing in zip(column, column.isna(), strict=True)
            ]
            for name, column in columns
        }
        _check_repeats(cells, len(content))
        return cells
    except _DAMAGE:
        raise RefusedError("contains a table without the layout of a pandas DataFrame") from None


def _check_repeats(cells: dict[str, list[Any]], size: int) -> None:
    """Raise RefusedError if the texts of a table are long because a pickle of ``size`` bytes
    repeats them.
    """
    unpacked = sum(
        len(text) for column in cells.values() for text in column if isinstance(text, str)
    )
    if unpacked > UNPACKED_AT_ONCE and unpacked > MOST_TIMES * size:
        raise RefusedError(_TOO_LONG)


def _plain(value: Any) -> Any:
    """Return the value of a cell as a plain Python value; a date becomes an ISO 8601 day.

    Of a value that is no cell of a table, only the name of its type is returned: a list could
    contain itself, and bytes could be repeated in every row.
    """
    if isinstance(value, _NO_CELLS):
        return {type(value).__name__: None}
    if isinstance(value, int) and not -_WHOLE <= value < _WHOLE:
        return str(value)  # no answer can carry such a number
    if hasattr(value, "isoformat"):
        return value.isoformat()[:10]
    # No answer can carry half a surrogate pair; like NUL, it is not text.
    if isinstance(value, str):
        return _SURROGATES.sub("\0", value)
    return value.item() if hasattr(value, "item") else value


def main() -> None:
    """Read the pickle on standard input, and write the answer to standard output."""
    limit_process()
    wanted, content = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=tuple[list[str], bytes])
    try:
        answer: Any = load_columns(content, wanted)
    except RefusedError as error:
        answer = str(error)
    named = msgspec.msgpack.Encoder(enc_hook=lambda value: {type(value).__name__: None})
    sys.stdout.buffer.write(named.encode(answer))


if __name__ == "__main__":
    main()
