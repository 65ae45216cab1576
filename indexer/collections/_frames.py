"""A pickled pandas DataFrame, read by pandas with a list of the names that it may ask for.

A pickle is a program: what it names is imported and called. Here each name that is not on an exact list is refused
before it is imported. Those on the list make tables, arrays and dates, and nothing else. It is read in a process of its
own (``python -m factseek.indexer.collections._frames``), because a damaged one may crash what reads it.
"""

from __future__ import annotations

import io
import pickle
import re
import struct
import subprocess
import sys
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import msgspec

from ...retrieval.subprocesses import command, environment
from ._streams import BadFileError

_DAMAGED = "is damaged, or is not a pickle"

_BOTH_NUMPYS = (("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"))
ADMITTED = frozenset(
    {
        ("_codecs", "encode"),
        ("builtins", "bytearray"),
        ("builtins", "slice"),
        # Protocols 0 to 2 write the names that Python 2 had.
        ("__builtin__", "bytearray"),
        ("__builtin__", "bytes"),
        ("__builtin__", "object"),
        ("__builtin__", "slice"),
        ("copy_reg", "_reconstructor"),
        ("copyreg", "_reconstructor"),
        ("builtins", "bytes"),
        ("builtins", "object"),
        ("datetime", "date"),
        ("datetime", "datetime"),
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        *((f"numpy.core.{module}", name) for module, name in _BOTH_NUMPYS),
        *((f"numpy._core.{module}", name) for module, name in _BOTH_NUMPYS),
        ("pandas", "Categorical"),
        ("pandas", "CategoricalDtype"),
        ("pandas", "DataFrame"),
        ("pandas", "Index"),
        ("pandas", "Int64Dtype"),
        ("pandas", "NA"),
        ("pandas", "RangeIndex"),
        ("pandas", "StringDtype"),
        ("pandas._libs.arrays", "__pyx_unpickle_NDArrayBacked"),
        ("pandas._libs.internals", "_unpickle_block"),
        ("pandas._libs.missing", "NA"),
        ("pandas._libs.tslibs.nattype", "__nat_unpickle"),
        ("pandas._libs.tslibs.nattype", "_nat_unpickle"),
        ("pandas._libs.tslibs.timestamps", "Timestamp"),
        ("pandas._libs.tslibs.timestamps", "_unpickle_timestamp"),
        ("pandas.arrays", "ArrowStringArray"),
        ("pandas.arrays", "DatetimeArray"),
        ("pandas.arrays", "IntegerArray"),
        ("pandas.arrays", "StringArray"),
        ("pandas.core.arrays.categorical", "Categorical"),
        ("pandas.core.arrays.datetimes", "DatetimeArray"),
        ("pandas.core.arrays.integer", "Int64Dtype"),
        ("pandas.core.arrays.integer", "IntegerArray"),
        ("pandas.core.arrays.string_", "StringArray"),
        ("pandas.core.arrays.string_", "StringDtype"),
        ("pandas.core.arrays.string_arrow", "ArrowStringArray"),
        ("pandas.core.dtypes.dtypes", "CategoricalDtype"),
        ("pandas.core.frame", "DataFrame"),
        ("pandas.core.indexes.base", "Index"),
        ("pandas.core.indexes.base", "_new_Index"),
        ("pandas.core.indexes.numeric", "Int64Index"),
        ("pandas.core.indexes.range", "RangeIndex"),
        ("pandas.core.internals.managers", "BlockManager"),
        ("pyarrow.lib", "_restore_array"),
        ("pyarrow.lib", "py_buffer"),
        ("pyarrow.lib", "type_for_alias"),
    }
)
"""The names that pickles of pandas 1.0 to 3 ask for, as (module, name)."""
_DAMAGE = (
    pickle.UnpicklingError,
    struct.error,
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)
"""The errors of the unpickler on bytes that are no pickle, or that refer to what is not there."""


_SURROGATES = re.compile(r"[\ud800-\udfff]")


class RefusedError(Exception):
    """A pickle is damaged, asks for a name that is not admitted, or holds something else."""


class _Answer(msgspec.Struct):
    columns: dict[str, list[Any]] = {}
    refusal: str = ""


def read_columns(path: Path, content: bytes, wanted: Collection[str]) -> dict[str, list[Any]]:
    """Return the columns of a pickled DataFrame whose names are in ``wanted``.

    Missing values are ``None``, dates are ISO 8601 days. Raises BadFileError if ``content`` is no pickled DataFrame, or
    asks for a name that is not in :data:`ADMITTED`.
    """
    child = subprocess.run(  # noqa: S603
        command("indexer.collections._frames"),
        input=msgspec.msgpack.encode((sorted(wanted), content)),
        capture_output=True,
        env=environment(),
        check=False,
    )
    answer = _Answer(refusal=_DAMAGED)
    if child.returncode == 0:
        answer = msgspec.msgpack.decode(child.stdout, type=_Answer)
    if answer.refusal:
        raise BadFileError(path, answer.refusal)
    return answer.columns


def load_columns(content: bytes, wanted: Collection[str]) -> dict[str, list[Any]]:
    """Do as :func:`read_columns` does, in this process, which a damaged pickle may crash.

    Raises RefusedError.
    """
    import pandas
    from pandas.compat.pickle_compat import Unpickler

    def build(unpickler: Any) -> None:
        if isinstance(unpickler.stack[-2], type):  # it would change the class for the whole process
            raise pickle.UnpicklingError
        Unpickler.dispatch[pickle.BUILD[0]](unpickler)

    class Admitting(Unpickler):  # type: ignore[misc]  # pandas brings no types
        dispatch: ClassVar[dict[int, Any]] = {**Unpickler.dispatch, pickle.BUILD[0]: build}

        def find_class(self, module: str, name: str) -> Any:
            if (module, name) not in ADMITTED:
                raise RefusedError(f"asks for {module}.{name}, which no table of papers needs; it was not loaded")
            return super().find_class(module, name)

        def persistent_load(self, _: object) -> NoReturn:
            raise pickle.UnpicklingError

    try:
        with warnings.catch_warnings():  # of names that older pandas wrote
            warnings.simplefilter("ignore")
            table = Admitting(io.BytesIO(content)).load()
    except _DAMAGE:
        raise RefusedError(_DAMAGED) from None
    if not isinstance(table, pandas.DataFrame):
        raise RefusedError("holds no pandas DataFrame")
    try:
        columns = [(name, table.iloc[:, at]) for at, name in enumerate(table.columns) if name in wanted]
        return {
            name: [None if missing else _plain(value) for value, missing in zip(column, column.isna(), strict=True)]
            for name, column in columns
        }
    except _DAMAGE:
        raise RefusedError("holds a table that is not laid out as pandas lays it out") from None


def _plain(value: Any) -> Any:
    """Return the value of a cell as Python's own, a date as an ISO 8601 day."""
    if hasattr(value, "isoformat"):
        return value.isoformat()[:10]
    if isinstance(value, str):  # half a surrogate pair, which no answer can carry, is as little text as NUL is
        return _SURROGATES.sub("\0", value)
    return value.item() if hasattr(value, "item") else value


def main() -> None:
    """Read what standard input holds, and answer on standard output."""
    wanted, content = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=tuple[list[str], bytes])
    try:
        answer = _Answer(load_columns(content, wanted))
    except RefusedError as error:
        answer = _Answer(refusal=str(error))
    named = msgspec.msgpack.Encoder(enc_hook=lambda value: {type(value).__name__: None})
    sys.stdout.buffer.write(named.encode(answer))


if __name__ == "__main__":
    main()
