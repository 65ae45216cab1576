"""A pickle is never run: what it asks for is on the list and inert, or it is refused in one line."""

from __future__ import annotations

import io
import os
import pickle
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.indexer.collections._pickle import ADMITTED, Made, PickleRefused, load

FIXTURES = Path(__file__).parent / "fixtures"


class Calls:
    """Pickles as a call of ``name`` with ``args``."""

    def __init__(self, name: Callable[..., Any], *args: Any) -> None:
        self.name, self.args = name, args

    def __reduce__(self) -> tuple[Any, ...]:
        return self.name, self.args


def asking_for(module: str, name: str) -> bytes:
    """A pickle that asks for a name and calls it with one string."""
    return b"c" + f"{module}\n{name}\n".encode() + b"(S'x'\ntR."


def test_plain_values_come_as_they_are() -> None:
    value = {"a": [1, 2.5, None, True, "é", b"\xff"], "b": (("x",), {"y"})}
    for protocol in (4, 5):
        assert load(pickle.dumps(value, protocol=protocol)) == value


def test_an_admitted_name_is_kept_with_its_arguments_and_state_and_not_called() -> None:
    made = load(b"cbuiltins\nslice\n(I1\nI2\nI3\ntR.")
    assert isinstance(made, Made)
    assert (made.name, made.args, made.state) == ("slice", (1, 2, 3), None)
    made = load(b"\x80\x02cpandas\nDataFrame\n)\x81}X\x01\x00\x00\x00aK\x01sb.")
    assert (made.name, made.args, made.state) == ("DataFrame", (), {"a": 1})


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("posix", "system"),
        ("nt", "system"),
        ("subprocess", "Popen"),
        ("builtins", "eval"),
        ("builtins", "exec"),
        ("__builtin__", "eval"),
        ("builtins", "getattr"),
        ("builtins", "__import__"),
        ("builtins", "type"),
        ("operator", "attrgetter"),
        ("functools", "partial"),
        ("importlib", "import_module"),
        ("pickle", "loads"),
        ("pandas", "read_pickle"),
        ("pandas", "eval"),
        ("pandas", "DataFrame.to_csv"),
        ("pandas.core.frame", "DataFrame.__init__.__globals__"),
        ("pandas.io.pickle", "read_pickle"),
        ("pandas.core.computation.eval", "eval"),
        ("numpy", "load"),
        ("numpy", "fromfile"),
        ("numpy.core.multiarray", "fromfile"),
        ("numpy._core.multiarray", "fromfile"),
        ("numpy.core.multiarray", "_reconstruct.__globals__"),
        ("numpy.testing._private.utils", "runstring"),
        ("numpy.f2py", "compile"),
        ("pyarrow.lib", "memory_map"),
        ("copyreg", "add_extension"),
        ("codecs", "open"),
        ("_codecs", "lookup"),
    ],
)
def test_a_name_that_is_not_admitted_is_refused(module: str, name: str) -> None:
    message = f"asks for {module}.{name}, which no table of papers needs; it was not loaded"
    stacked = b"\x80\x04" + b"".join(b"\x8c" + bytes([len(part)]) + part.encode() for part in (module, name)) + b"\x93."
    instance = f"(i{module}\n{name}\n.".encode()
    for content in (asking_for(module, name), stacked, instance):
        with pytest.raises(PickleRefused) as caught:
            load(content)
        assert str(caught.value) == message


def test_a_refused_call_has_not_happened(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    for call in (Calls(os.system, f"touch {canary}"), Calls(open, str(canary), "w"), Calls(os.mkdir, str(canary))):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(PickleRefused):
                load(pickle.dumps(["papers", call], protocol=protocol))
    assert not canary.exists()


def test_a_refused_module_is_not_even_imported() -> None:
    assert "antigravity" not in sys.modules
    with pytest.raises(PickleRefused):
        load(asking_for("antigravity", "geohash"))
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a pickle",
        b"\x80\x63.",
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"\x80\x04K\x01",
        b"J\x01",
        b"\x80\x05\x8e\xff\xff\xff\xff\xff\xff\xff\x7fx.",
        # a persistent id, an extension code, a buffer from outside
        b"Pkey\n.",
        b"\x82\x01.",
        b"\x80\x05\x97.",
        # calling what is no name, making of what is no class, building on what is no object
        b"S'os'\n(S'x'\ntR.",
        b"\x80\x02X\x02\x00\x00\x00os)\x81.",
        b"(lS'x'\nb.",
        # state for an admitted class itself, which would otherwise reach all objects of it
        b"cpandas\nDataFrame\n}S'__new__'\nS'x'\nsb.",
        b"cpandas\nDataFrame\nN}S'name'\nS'x'\ns\x86b.",
        # items and attributes of an inert object
        b"cpandas\nDataFrame\n)R(S'x'\nS'y'\nu.",
        b"cpandas\nDataFrame\n)R(S'x'\ne.",
    ],
)
def test_a_damaged_or_forged_pickle_is_refused(content: bytes) -> None:
    with pytest.raises(PickleRefused, match=r"^is damaged, or is not a pickle$"):
        load(content)


def test_a_forged_memo_index_costs_no_memory() -> None:
    assert load(b"\x80\x02K\x07r\xff\xff\xff\x7f.") == 7


def test_what_a_pickle_makes_does_not_outlast_it() -> None:
    first, second = load(b"cpandas\nNA\n."), load(b"cpandas\nNA\n.")
    assert first is not second
    assert issubclass(first, Made)


def test_every_admitted_name_is_asked_for_by_a_pickle_that_pandas_wrote() -> None:
    asked: set[tuple[str, str]] = set()

    class Listing(pickle._Unpickler):
        def find_class(self, module: str, name: str) -> type:
            asked.add((module, name))
            return type(name, (Made,), {"__slots__": (), "name": name})

    for content in [*(path.read_bytes() for path in sorted(FIXTURES.glob("*.pkl"))), _python_strings()]:
        Listing(io.BytesIO(content)).load()
    assert asked == ADMITTED


def _python_strings() -> bytes:
    """A frame of the installed pandas whose strings are Python's, and one without rows."""
    import pandas as pd

    with pd.option_context("mode.string_storage", "python"):
        frame = pd.DataFrame({"a": pd.array([""], dtype="str"), "b": pd.array([None], dtype="Int64"), "c": [1.0]})
    assert str(frame.dtypes["b"]) == "Int64"
    return pickle.dumps((frame, frame.iloc[:0]), protocol=2)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        load(content)
    except PickleRefused as error:
        assert error.line


@given(st.data())
def test_any_change_to_a_pickle_is_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from(sorted(FIXTURES.glob("*.pkl")))).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        load(bytes(content))
    except PickleRefused as error:
        assert error.line


def test_a_length_is_not_believed_beyond_what_is_there() -> None:
    """Python's own unpickler makes room for all that a forged length announces before it reads a byte."""
    tracemalloc.start()
    try:
        with pytest.raises(PickleRefused):
            load(b"\x80\x05\x96" + (200_000_000).to_bytes(8, "little") + b"x.")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert load(b"\x80\x05\x96" + (2).to_bytes(8, "little") + b"ab.") == bytearray(b"ab")
