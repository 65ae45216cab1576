"""Columns of pickled DataFrames, against what pandas itself wrote: 1.0, 1.5, 2.0, 2.3 and the one
installed.
"""

import math
import pickle
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factseek.indexer.collections import _frames
from factseek.indexer.collections._child import BadFileError
from factseek.indexer.collections._frames import RefusedError

FIXTURES = Path(__file__).parent / "fixtures"
PLAIN = sorted(path for path in FIXTURES.glob("*.pkl") if not path.stem.endswith("typed"))
TYPED = sorted(FIXTURES.glob("*typed.pkl"))

ROWS: dict[str, list[Any]] = {
    "cord_uid": ["aaaa0001", "aaaa0002", "aaaa0003"],
    "source_x": ["PMC", "Medline; PMC", "WHO"],
    "title": ["Masks in crowded rooms", "Zinc and the common cold", "Un virus en la ciudad"],
    "doi": ["10.1000/a1", "10.1000/a2", "10.1000/a3"],
    "pmcid": ["PMC1", None, None],
    "pubmed_id": ["101", "102", None],
    "license": ["cc-by", "no-cc", "unk"],
    "abstract": [
        "We measured droplets.\nMasks helped.",
        "Zinc did nothing, 95% CI −0.2–0.3.",
        None,
    ],
    "publish_time": ["2020-03-01", "2020", "2021-11-27"],
    "authors": ["Ada, A.; Bo, B.", None, "Cruz, C."],
    "journal": ["Journal of Air", None, None],
    "mag_id": [None, None, None],
    "who_covidence_id": [None, "#9", None],
    "arxiv_id": [None, None, "2001.00001"],
    "label": ["aaaa0001", "aaaa0002", "aaaa0003"],
    "time": ["2020-03-01", "2020-01-01", "2021-11-27"],
    "timet": [1583020800, 1577836800, 1637971200],
}
TYPED_ROWS = {
    **ROWS,
    "pubmed_id": [101.0, 102.0, None],
    "publish_time": ["2020-03-01", None, "2021-11-27"],
    "license": ["cc-by", "no-cc", None],
    "pmcid": [1, None, 3],
    "doi": ["2020-03-01", "2020-01-01", None],
    "sha": ["2020-03-01", None, None],
    "journal": [True, False, True],
}


def read_columns(content: bytes, wanted: Collection[str]) -> dict[str, list[Any]]:
    return _frames.load_columns(content, wanted)


def known(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    def plain(cell: Any) -> Any:
        if cell == "" or (isinstance(cell, float) and math.isnan(cell)):
            return None
        return cell.isoformat()[:10] if hasattr(cell, "isoformat") else cell

    return {name: list(map(plain, cells)) for name, cells in columns.items()}


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.stem)
def test_a_pickle_of_any_pandas_gives_its_columns(path: Path) -> None:
    assert known(read_columns(path.read_bytes(), set(ROWS))) == ROWS


@pytest.mark.parametrize("path", TYPED, ids=lambda path: path.stem)
def test_every_type_of_column_is_read(path: Path) -> None:
    assert known(read_columns(path.read_bytes(), set(TYPED_ROWS))) == TYPED_ROWS


TEXTS = st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
NUMBERS = st.one_of(st.none(), st.floats(allow_nan=False))


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(TEXTS, NUMBERS, st.integers(-(2**63), 2**63 - 1), TEXTS, st.booleans()),
        max_size=8,
    ),
    how=st.sampled_from(
        ["as it is", "object", "transposed", "sliced", "stacked", "python strings"]
    ),
    protocol=st.integers(2, pickle.HIGHEST_PROTOCOL),
)
def test_the_installed_pandas_is_the_oracle(
    rows: list[tuple[Any, ...]], how: str, protocol: int
) -> None:
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list("abcde"))
    if how == "object":
        frame = frame.astype(object)
    elif how == "transposed":
        frame = pd.DataFrame(
            frame.astype(object).T.to_numpy().T.copy(order="F"), columns=list("abcde"), dtype=object
        )
    elif how == "sliced":
        frame = frame.iloc[1::2, ::-1]
    elif how == "stacked":
        frame = pd.concat([frame, frame], ignore_index=True)
    elif how == "python strings":
        frame["a"] = frame["a"].astype(pd.StringDtype("python", na_value=math.nan))
    columns = known(read_columns(pickle.dumps(frame, protocol=protocol), set("abcde")))
    expected = {
        name: [None if pd.isna(cell) else cell for cell in frame[name].tolist()]
        for name in frame.columns
    }
    assert columns == known(expected)


def test_what_is_no_frame_is_refused() -> None:
    import pandas as pd

    for value in ([1, 2], {"_mgr": None}, "text", None):
        with pytest.raises(RefusedError, match=r"^contains no pandas DataFrame$"):
            read_columns(pickle.dumps(value), {"title"})
    with pytest.raises(
        RefusedError, match=r"^refers to pandas.Series, which no table of papers needs"
    ):
        read_columns(pickle.dumps(pd.Series(["x"])), {"title"})


@settings(max_examples=3)
@given(st.data())
def test_any_change_to_a_pickle_is_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from(PLAIN + TYPED)).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        columns = _frames.read_columns(Path("p.pkl"), bytes(content), set(TYPED_ROWS))
    except BadFileError as error:
        assert error.line
    else:
        assert len({len(cells) for cells in columns.values()}) <= 1


def asking_for(module: str, name: str) -> bytes:
    return b"c" + f"{module}\n{name}\n".encode() + b"(S'x'\ntR."


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("posix", "system"),
        ("builtins", "eval"),
        ("builtins", "__import__"),
        ("operator", "attrgetter"),
        ("pickle", "loads"),
        ("pandas", "DataFrame.to_csv"),
        ("pandas.core.computation.eval", "eval"),
        ("numpy.core.multiarray", "fromfile"),
        ("numpy.core.multiarray", "_reconstruct.__globals__"),
        ("pyarrow.lib", "memory_map"),
        ("codecs", "open"),
    ],
)
def test_a_name_that_is_not_admitted_is_refused(module: str, name: str) -> None:
    message = f"refers to {module}.{name}, which no table of papers needs, so factseek refused it"
    stacked = (
        b"\x80\x04"
        + b"".join(b"\x8c" + bytes([len(part)]) + part.encode() for part in (module, name))
        + b"\x93."
    )
    instance = f"(i{module}\n{name}\n.".encode()
    for content in (asking_for(module, name), stacked, instance):
        with pytest.raises(RefusedError) as caught:
            read_columns(content, {"title"})
        assert str(caught.value) == message


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x63.",
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
        # a persistent id, an extension code, a buffer from outside
        b"Pkey\n.",
        b"\x82\x01.",
        b"\x80\x05\x97.",
        # calling what is no name, making of what is no class, building on what is no object
        b"(lS'x'\nb.",
        # state for an admitted class itself, which would otherwise reach all objects of it
        b"cpandas\nDataFrame\n}S'__new__'\nS'x'\nsb.",
        b"cpandas\nDataFrame\nN}S'name'\nS'x'\ns\x86b.",
        # items and attributes of an inert object
        b"cpandas\nDataFrame\n)R(S'x'\ne.",
    ],
)
def test_a_damaged_or_forged_pickle_is_refused(content: bytes) -> None:
    with pytest.raises(
        RefusedError, match=r"^(is damaged, or is not a pickle|contains no pandas DataFrame)$"
    ):
        read_columns(content, {"title"})


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        read_columns(content, {"title"})
    except RefusedError as error:
        assert str(error)


def calling(module: str, name: str, arguments: bytes) -> bytes:
    """Return a pickle, of any length, of a DataFrame's column that is the result of a call."""
    return b"c" + f"{module}\n{name}\n".encode() + b"(" + arguments + b"tR"


ARRAY = calling(
    "numpy",
    "ndarray",
    b"(I300000000\ntS'S7'\n"
    + calling("_codecs", "encode", b"X\x07\x00\x00\x00measlesS'latin1'\n")
    + b"I0\n(I0\nt",
)
RANGE = (
    b"cpandas.core.indexes.base\n_new_Index\n(cpandas\nRangeIndex\n"
    b"(S'start'\nI0\nS'stop'\nI1000000000000\nS'step'\nI1\nS'name'\nNdtR"
)
EMPTY = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"


def dtype(name: str) -> bytes:
    return calling("numpy", "dtype", f"S'{name}'\nI0\nI1\n".encode())


LARGE = {
    "strides of nothing": ARRAY,
    "an array without content": calling("numpy", "ndarray", b"(I900000000\ntS'S7'\n"),
    "a range": RANGE,
    "many bytes": calling("builtins", "bytes", b"I9000000000\n"),
    "a bytearray": calling("builtins", "bytearray", b"I9000000000\n"),
    "items of no bytes": EMPTY + b"(I1\n(I900000000000\nt" + dtype("V0") + b"I00\nS''\ntb",
    "no items of many rows": EMPTY + b"(I1\n(I900000000000\nI0\nt" + dtype("O") + b"I00\n(ltb",
    "a reconstructed array": calling(
        "numpy.core.multiarray", "_reconstruct", b"cnumpy\nndarray\n(I900000000\ntS'b'\n"
    ),
    "nulls": calling(
        "pyarrow.lib",
        "_restore_array",
        b"("
        + calling("pyarrow.lib", "type_for_alias", b"S'null'\n")
        + b"I900000000\nI-1\nI0\n(lN(lNt",
    ).replace(b"(lN(lN", b"(lp0\nNa(lp1\nN"),
    "a codec that lengthens": calling("_codecs", "encode", b"X\x01\x00\x00\x00aS'utf-32'\n"),
    "a bytearray by its opcode": b"\x96" + (1 << 40).to_bytes(8, "little"),
    "an index of long items": (
        b"cpandas.core.indexes.base\n_new_Index\n(cpandas\nIndex\n"
        b"(S'data'\n(lS'dtype'\nS'S900000000'\nS'name'\nNdtR"
    ),
    "a slice": calling("builtins", "slice", b"I0\nI900000000000\nI1\n"),
}


@pytest.mark.parametrize("what", LARGE)
@pytest.mark.parametrize("framed", [False, True])
def test_a_few_bytes_do_not_ask_for_a_large_table(what: str, framed: bool) -> None:
    """In a table or by itself, in this process: what is not made takes neither time nor memory."""
    column = LARGE[what]
    content = b"cpandas\nDataFrame\n((S'title'\n" + column + b"dtR." if framed else column + b"."
    with pytest.raises(RefusedError, match=r"^is damaged, or is not a pickle$"):
        read_columns(content, {"title"})


def test_a_table_that_repeats_a_text_is_refused() -> None:
    import pandas as pd

    frame = pd.DataFrame({"title": ["x" * 1_000_000] * 300}, dtype=object)
    with pytest.raises(
        RefusedError, match=r"^unpacks to more than 200 times its size; it is not a collection$"
    ):
        read_columns(pickle.dumps(frame), {"title"})


def test_a_list_in_a_cell_is_not_unfolded() -> None:
    import pandas as pd

    nested: list[Any] = ["x"]
    for _ in range(60):
        nested = [nested, nested]
    frame = pd.DataFrame({"title": pd.Series([nested, "a"], dtype=object)})
    assert _frames.read_columns(Path("p.pkl"), pickle.dumps(frame), {"title"}) == {
        "title": [{"list": None}, "a"]
    }


def test_bytes_in_a_cell_are_not_repeated() -> None:
    import pandas as pd

    frame = pd.DataFrame({"title": pd.Series([b"x" * 100_000] * 3 + ["a"], dtype=object)})
    assert _frames.read_columns(Path("p.pkl"), pickle.dumps(frame), {"title"}) == {
        "title": [{"bytes": None}] * 3 + ["a"]
    }


def test_a_number_of_any_size_is_read() -> None:
    import pandas as pd

    frame = pd.DataFrame({"title": pd.Series([10**30, -(10**30), 7], dtype=object)})
    assert _frames.read_columns(Path("p.pkl"), pickle.dumps(frame), {"title"}) == {
        "title": [str(10**30), str(-(10**30)), 7]
    }
