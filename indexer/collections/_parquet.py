"""The records of a Parquet file, of which a few bytes may stand for any number of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...retrieval.records.gzip_files import MOST_TIMES, UNPACKED_AT_ONCE
from ._streams import BadFileError

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.parquet import ColumnSchema, ParquetFile

_BATCH_ROWS = 512
_BATCH_CHARS = 50_000_000
"""Characters of the records that are made at once, unless one alone has more."""


def records(path: Path, wanted: Collection[str]) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """Return the names of the columns of a file, and its records with the ``wanted`` ones.

    A file that says that it unpacks to much more than it holds, or does, is refused, as a packed one is.
    Raises BadFileError if the file cannot be read; so does the iterator.
    """
    from pyarrow.parquet import ParquetFile

    with _faults_reported(path), ParquetFile(path) as file:
        all_names = file.schema_arrow.names
        names = [name for name in all_names if name in wanted]
        texts = [column.path for column in map(file.schema.column, range(len(file.schema))) if _is_text(column, names)]
        _check_size(path, sum(_sizes(file, names)))
        return all_names, _records(path, names, texts)


def _is_text(column: ColumnSchema, names: Collection[str]) -> bool:
    """Return whether a column is one of these names, and holds texts."""
    return column.path in names and column.physical_type == "BYTE_ARRAY"


def _sizes(file: ParquetFile, names: Collection[str]) -> Iterator[int]:
    """Yield the bytes that each piece of the columns of these names unpacks to, as the file says."""
    metadata = file.metadata
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema.split(".")[0] in names:
                yield column.total_uncompressed_size


def _records(path: Path, names: list[str], texts: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the records of a file; a text that many share is held once."""
    from pyarrow.parquet import ParquetFile

    unpacked = 0
    with _faults_reported(path), ParquetFile(path, read_dictionary=texts) as file:
        for batch in file.iter_batches(_BATCH_ROWS, columns=names):
            rows = max(1, _BATCH_CHARS // max(1, _longest(batch)))
            for start in range(0, batch.num_rows, rows):
                made = batch.slice(start, rows).to_pylist()
                unpacked += sum(len(text) for record in made for text in record.values() if isinstance(text, str))
                _check_size(path, unpacked)
                yield from made


def _longest(batch: pyarrow.RecordBatch) -> int:
    """Return the bytes that a record of a batch may have in its texts."""
    from pyarrow import compute

    texts = [column.dictionary for column in batch.columns if hasattr(column, "dictionary")]
    return sum(compute.max(compute.binary_length(values)).as_py() or 0 for values in texts)


def _check_size(path: Path, unpacked: int) -> None:
    """Raise BadFileError if a file unpacks to more than text does."""
    if unpacked > UNPACKED_AT_ONCE and unpacked > MOST_TIMES * path.stat().st_size:
        raise BadFileError(path, f"unpacks to more than {MOST_TIMES} times its size; it is no collection")


@contextmanager
def _faults_reported(path: Path) -> Iterator[None]:
    """Raise BadFileError for what pyarrow finds wrong with a file."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BadFileError(path, f"is not a sound Parquet file ({str(error).splitlines()[0]})") from None
