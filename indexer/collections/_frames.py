"""Read the columns of Parquet files and of pickled DataFrames.

A pickle is a program: the names in it are imported and called. Before importing a name, this module
checks it against a list of exact names, and refuses all others. The names on the list make tables,
arrays and dates, and nothing else. A pickle is read in a separate process (``python -m
factseek.indexer.collections._frames``), because a damaged pickle may crash the process.
"""

from __future__ import annotations

import io
import pickle
import re
import struct
import sys
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import msgspec

from ...core.records.gzip_files import MOST_TIMES, UNPACKED_AT_ONCE
from ._documents import plain_name
from ._files import BadFileError, ask_child

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_BATCH_ROWS = 512
_BATCH_CHARS = 50_000_000
"""The maximum number of characters in the records that are made at once, unless a single record has
more.
"""

_DAMAGED = "is damaged, or is not a pickle"

_ADMITTED = """
_codecs: encode
builtins: bytearray bytes object slice
__builtin__: bytearray bytes object slice
copy_reg: _reconstructor
copyreg: _reconstructor
datetime: date datetime
numpy: dtype ndarray
numpy.core.multiarray: _reconstruct scalar
numpy.core.numeric: _frombuffer
numpy._core.multiarray: _reconstruct scalar
numpy._core.numeric: _frombuffer
pandas: Categorical CategoricalDtype DataFrame Index Int64Dtype NA RangeIndex StringDtype
pandas._libs.arrays: __pyx_unpickle_NDArrayBacked
pandas._libs.internals: _unpickle_block
pandas._libs.missing: NA
pandas._libs.tslibs.nattype: __nat_unpickle _nat_unpickle
pandas._libs.tslibs.timestamps: Timestamp _unpickle_timestamp
pandas.arrays: ArrowStringArray DatetimeArray IntegerArray StringArray
pandas.core.arrays.categorical: Categorical
pandas.core.arrays.datetimes: DatetimeArray
pandas.core.arrays.integer: Int64Dtype IntegerArray
pandas.core.arrays.string_: StringArray StringDtype
pandas.core.arrays.string_arrow: ArrowStringArray
pandas.core.dtypes.dtypes: CategoricalDtype
pandas.core.frame: DataFrame
pandas.core.indexes.base: Index _new_Index
pandas.core.indexes.numeric: Int64Index
pandas.core.indexes.range: RangeIndex
pandas.core.internals.managers: BlockManager
pyarrow.lib: _restore_array py_buffer type_for_alias
"""
ADMITTED = frozenset(
    (module, name)
    for module, _, names in (line.partition(": ") for line in _ADMITTED.split("\n") if line)
    for name in names.split()
)
"""The names that pickles of pandas 1.0 to 3 use, as (module, name).

Protocols 0 to 2 use the names of Python 2.
"""
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
        raise BadFileError(
            path, f"unpacks to more than {MOST_TIMES} times its size; it is not a collection"
        )


class RefusedError(Exception):
    """A pickle is damaged, uses a name that is not admitted, or contains something other than a
    DataFrame.
    """


def read_columns(path: Path, content: bytes, wanted: Collection[str]) -> dict[str, list[Any]]:
    """Return the ``wanted`` columns of a pickled DataFrame; missing values are ``None``, dates are
    ISO 8601 days.
    """
    question = msgspec.msgpack.encode((sorted(wanted), content))
    return ask_child(path, "_frames", content=question, kind=dict[str, list[Any]], damaged=_DAMAGED)


def load_columns(content: bytes, wanted: Collection[str]) -> dict[str, list[Any]]:
    """Do the same as :func:`read_columns` in this process, which a damaged pickle may crash.

    Raises RefusedError if the pickle is damaged, uses a name that is not admitted, or contains no
    DataFrame.
    """
    import pandas
    from pandas.compat.pickle_compat import Unpickler

    def build(unpickler: Any) -> None:
        # The pickle would change a class for the whole process.
        if isinstance(unpickler.stack[-2], type):
            raise pickle.UnpicklingError
        Unpickler.dispatch[pickle.BUILD[0]](unpickler)

    class Admitting(Unpickler):  # type: ignore[misc]  # pandas brings no types
        dispatch: ClassVar[dict[int, Any]] = {**Unpickler.dispatch, pickle.BUILD[0]: build}

        def find_class(self, module: str, name: str) -> Any:
            if (module, name) not in ADMITTED:
                raise RefusedError(
                    f"refers to {module}.{name}, which no table of papers needs, so factseek "
                    "refused it"
                )
            return super().find_class(module, name)

        def persistent_load(self, _: object) -> NoReturn:
            raise pickle.UnpicklingError

    try:
        with warnings.catch_warnings():  # older pandas wrote deprecated names
            warnings.simplefilter("ignore")
            table = Admitting(io.BytesIO(content)).load()
    except _DAMAGE:
        raise RefusedError(_DAMAGED) from None
    if not isinstance(table, pandas.DataFrame):
        raise RefusedError("contains no pandas DataFrame")
    try:
        known = set(map(plain_name, wanted))
        named = ((name, at) for at, name in enumerate(table.columns) if isinstance(name, str))
        columns = [(name, table.iloc[:, at]) for name, at in named if plain_name(name) in known]
        return {
            name: [
                None if missing else _plain(value)
                for value, missing in zip(column, column.isna(), strict=True)
            ]
            for name, column in columns
        }
    except _DAMAGE:
        raise RefusedError("contains a table without the layout of a pandas DataFrame") from None


def _plain(value: Any) -> Any:
    """Return the value of a cell as a plain Python value; a date becomes an ISO 8601 day."""
    if hasattr(value, "isoformat"):
        return value.isoformat()[:10]
    # No answer can carry half a surrogate pair; like NUL, it is not text.
    if isinstance(value, str):
        return _SURROGATES.sub("\0", value)
    return value.item() if hasattr(value, "item") else value


def main() -> None:
    wanted, content = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=tuple[list[str], bytes])
    try:
        answer: Any = load_columns(content, wanted)
    except RefusedError as error:
        answer = str(error)
    named = msgspec.msgpack.Encoder(enc_hook=lambda value: {type(value).__name__: None})
    sys.stdout.buffer.write(named.encode(answer))


if __name__ == "__main__":
    main()
