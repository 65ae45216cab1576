"""Unpickle the DataFrames of pandas, and nothing else.

A pickle is a program: the names in it are imported and called. Before importing a name, this module
checks it against a list of exact names, and refuses all others. The names on the list make tables,
arrays and dates, and nothing else.

A few bytes can also ask for a table of any size: an array whose rows are all the same bytes, a
range, an array of nulls. The pickles of pandas do not. This module therefore admits only the calls
that they make, and checks every length before it makes anything of this length.
"""

from __future__ import annotations

import io
import math
import pickle
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NoReturn

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
_Arguments = tuple[Any, ...]
_LONGEST_ITEM = 16
"""The bytes of the longest number in an array."""


class RefusedError(Exception):
    """A pickle is damaged, uses a name that is not admitted, or contains something other than a
    DataFrame.
    """


def unpickle(content: bytes) -> Any:
    """Return the object in a pickle.

    Raises RefusedError for a name that is not admitted, and UnpicklingError or another error for
    calls that pandas does not make, or for a damaged pickle.
    """
    import numpy
    from pandas.compat.pickle_compat import Unpickler

    inherited = Unpickler.dispatch
    most = len(content)  # every item takes at least a byte

    def build(unpickler: Any) -> None:
        made, state = unpickler.stack[-2:]
        # The pickle would change a class for the whole process.
        _require(not isinstance(made, type))
        _require(not isinstance(made, numpy.ndarray) or _is_shape(state[-4], most))
        inherited[pickle.BUILD[0]](unpickler)

    def reduce(unpickler: Any) -> None:
        called, arguments = unpickler.stack[-2:]
        name = getattr(called, "__name__", "")
        _require(name in _CHECKS and _CHECKS[name](arguments, most))
        inherited[pickle.REDUCE[0]](unpickler)
        if name == "_restore_array":  # Arrow believes lengths that reach beyond its buffers
            unpickler.stack[-1].validate(full=True)

    def new_object(unpickler: Any) -> None:
        _require(unpickler.stack[-1] == ())  # pandas gives objects their contents afterwards
        inherited[pickle.NEWOBJ[0]](unpickler)

    def refuse(_: Any) -> None:
        _require(False)

    class Admitting(Unpickler):  # type: ignore[misc]  # pandas brings no types
        dispatch: ClassVar[dict[int, Any]] = {
            **inherited,
            pickle.BUILD[0]: build,
            pickle.REDUCE[0]: reduce,
            pickle.NEWOBJ[0]: new_object,
            pickle.NEWOBJ_EX[0]: refuse,
            pickle.BYTEARRAY8[0]: partial(_load_bytearray, most=most),
        }

        def find_class(self, module: str, name: str) -> Any:
            if (module, name) not in ADMITTED:
                raise RefusedError(
                    f"refers to {module}.{name}, which no table of papers needs, so factseek "
                    "refused it"
                )
            return super().find_class(module, name)

        def persistent_load(self, _: object) -> NoReturn:
            raise pickle.UnpicklingError

        def _instantiate(self, _class: Any, _arguments: Any) -> NoReturn:
            raise pickle.UnpicklingError

    return Admitting(io.BytesIO(content)).load()


def _load_bytearray(unpickler: Any, *, most: int) -> None:
    # Python's own function makes room for the length before it reads as many bytes.
    (length,) = struct.unpack("<Q", unpickler.read(8))
    _require(length <= most)
    unpickler.append(bytearray(unpickler.read(length)))


def _require(holds: bool) -> None:
    if not holds:
        raise pickle.UnpicklingError


def _is_length(value: Any, most: int) -> bool:
    return isinstance(value, int) and 0 <= value <= most


def _is_shape(shape: Any, most: int) -> bool:
    """Return whether a value is the shape of an array with at most ``most`` items, and as many in
    each dimension.
    """
    is_tuple = isinstance(shape, tuple) and all(_is_length(size, most) for size in shape)
    return is_tuple and math.prod(shape) <= most


def _is_copy(arguments: _Arguments, _: int) -> bool:
    """Return whether ``bytes`` or ``bytearray`` copies bytes, or makes none: a number would ask for
    so many.
    """
    return arguments == () or (len(arguments) == 1 and isinstance(arguments[0], bytes))


def _is_latin(arguments: _Arguments, _: int) -> bool:
    """Return whether ``encode`` gives each character a byte: other codecs lengthen a text at each
    call.
    """
    return len(arguments) == 2 and isinstance(arguments[0], str) and arguments[1] == "latin1"


def _is_slice(arguments: _Arguments, most: int) -> bool:
    start, stop, step = arguments
    ends = [abs(end) for end in (start, stop) if end is not None]
    return all(_is_length(end, most) for end in ends) and step != 0


def _is_index(arguments: _Arguments, most: int) -> bool:
    """Return whether an index has its items with it, or is a range of at most ``most`` numbers."""
    import numpy

    _, state = arguments
    if "data" in state:
        # Another type could lengthen every item.
        return numpy.dtype(state.get("dtype") or object).itemsize <= _LONGEST_ITEM
    start, stop, step = (state[name] for name in ("start", "stop", "step"))
    return _is_length(len(range(start, stop, step)), most)


def _is_arrow(data: Any, most: int) -> bool:
    """Return whether an Arrow array and its children have at most ``most`` items each.

    The data are type, length, number of nulls, offset, buffers, children and dictionary.
    """
    _, length, _, offset, _, children, dictionary = data
    inner = [*children, *([] if dictionary is None else [dictionary])]
    own = _is_length(length, most) and _is_length(offset, most)
    return own and all(_is_arrow(each, most) for each in inner)


_CHECKS: dict[str, Callable[[_Arguments, int], bool]] = {
    "bytes": _is_copy,
    "bytearray": _is_copy,
    "encode": _is_latin,
    "slice": _is_slice,
    "_reconstructor": lambda arguments, _: arguments[1:] == (object, None),
    "_reconstruct": lambda arguments, _: arguments[1] == (0,),
    "_frombuffer": lambda arguments, most: _is_shape(arguments[2], most),
    "scalar": lambda arguments, _: len(arguments) == 2,
    "_new_Index": _is_index,
    "_restore_array": lambda arguments, most: _is_arrow(arguments[0], most),
    # The results of the others are no larger than their arguments.
    "BlockManager": lambda *_: True,
    "CategoricalDtype": lambda *_: True,
    "Int64Dtype": lambda *_: True,
    "StringDtype": lambda *_: True,
    "Timestamp": lambda *_: True,
    "__nat_unpickle": lambda *_: True,
    "__pyx_unpickle_NDArrayBacked": lambda *_: True,
    "_nat_unpickle": lambda *_: True,
    "_unpickle_block": lambda *_: True,
    "_unpickle_timestamp": lambda *_: True,
    "date": lambda *_: True,
    "datetime": lambda *_: True,
    "dtype": lambda *_: True,
    "py_buffer": lambda *_: True,
    "type_for_alias": lambda *_: True,
}
"""The calls that pickles of DataFrames make, each with a function that checks its arguments.

No class of tables or arrays is among them: pandas makes such objects empty and gives them their
contents afterwards.
"""
