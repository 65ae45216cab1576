"""Columns of pickled DataFrames, against what pandas itself wrote: 1.0, 1.5, 2.0, 2.3 and the one installed."""

from __future__ import annotations

import io
import math
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factseek.indexer.collections._frames import read_columns
from factseek.indexer.collections._pickle import PickleRefused

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
    "abstract": ["We measured droplets.\nMasks helped.", "Zinc did nothing, 95% CI −0.2–0.3.", None],
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


def known(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The columns with ``None`` for whatever is missing."""
    missing = lambda cell: cell == "" or (isinstance(cell, float) and math.isnan(cell))  # noqa: E731
    return {name: [None if missing(cell) else cell for cell in cells] for name, cells in columns.items()}


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.stem)
def test_a_pickle_of_any_pandas_gives_its_columns(path: Path) -> None:
    assert known(read_columns(path.read_bytes(), set(ROWS))) == ROWS


@pytest.mark.parametrize("path", TYPED, ids=lambda path: path.stem)
def test_every_type_of_column_is_read(path: Path) -> None:
    assert known(read_columns(path.read_bytes(), set(TYPED_ROWS))) == TYPED_ROWS


def test_only_wanted_columns_come() -> None:
    content = PLAIN[0].read_bytes()
    assert list(read_columns(content, {"title", "nothing"})) == ["title"]
    assert read_columns(content, set()) == {}


def pickled(frame: Any) -> bytes:
    buffer = io.BytesIO()
    frame.to_pickle(buffer)
    return buffer.getvalue()


TEXTS = st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
NUMBERS = st.one_of(st.none(), st.floats(allow_nan=False))


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(TEXTS, NUMBERS, st.integers(-(2**63), 2**63 - 1), TEXTS, st.booleans()), max_size=8),
    how=st.sampled_from(["as it is", "object", "transposed", "sliced", "stacked", "python strings"]),
    protocol=st.integers(2, pickle.HIGHEST_PROTOCOL),
)
def test_the_installed_pandas_is_the_oracle(rows: list[tuple[Any, ...]], how: str, protocol: int) -> None:
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list("abcde"))
    if how == "object":
        frame = frame.astype(object)
    elif how == "transposed":
        frame = pd.DataFrame(frame.astype(object).T.to_numpy().T.copy(order="F"), columns=list("abcde"), dtype=object)
    elif how == "sliced":
        frame = frame.iloc[1::2, ::-1]
    elif how == "stacked":
        frame = pd.concat([frame, frame], ignore_index=True)
    elif how == "python strings":
        frame["a"] = frame["a"].astype(pd.StringDtype("python", na_value=math.nan))
    columns = known(read_columns(pickle.dumps(frame, protocol=protocol), set("abcde")))
    expected = {name: [None if pd.isna(cell) else cell for cell in frame[name].tolist()] for name in frame.columns}
    assert columns == known(expected)


def test_what_is_no_frame_is_refused() -> None:
    import pandas as pd

    for value in ([1, 2], {"_mgr": None}, "text", None):
        with pytest.raises(PickleRefused, match=r"^holds no pandas DataFrame$"):
            read_columns(pickle.dumps(value), {"title"})
    with pytest.raises(PickleRefused, match=r"^asks for pandas.Series, which no table of papers needs"):
        read_columns(pickle.dumps(pd.Series(["x"])), {"title"})


def test_a_cell_that_is_no_single_value_is_refused_by_its_row() -> None:
    import pandas as pd

    frame = pd.DataFrame({"authors": pd.Series(["Ada", ["Bo", "Cy"]], dtype=object)})
    with pytest.raises(PickleRefused) as caught:
        read_columns(pickled(frame), {"authors"})
    assert str(caught.value) == "row 2: column 'authors' holds a list; save the table as JSON lines"


FORGED = {
    "no manager": b"}",
    "a manager that is text": b"}S'_mgr'\nS'x'\ns",
    "too many columns": b"}S'_mgr'\ncpandas.core.internals.managers\nBlockManager\n((t(cpandas.core.indexes.base\n"
    b"_new_Index\n(cpandas\nRangeIndex\n}S'start'\nI0\nsS'stop'\nI99999999999999\nsS'step'\nI1\nstRltRs",
}


@pytest.mark.parametrize("state", FORGED.values(), ids=FORGED.keys())
def test_a_forged_frame_is_refused(state: bytes) -> None:
    with pytest.raises(PickleRefused, match=r"^holds a table that is not laid out as pandas lays it out$"):
        read_columns(b"cpandas\nDataFrame\n)R" + state + b"b.", {"title"})


@given(st.data())
def test_any_change_to_a_pickle_is_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from(PLAIN + TYPED)).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        columns = read_columns(bytes(content), set(TYPED_ROWS))
    except PickleRefused as error:
        assert error.line
    else:
        assert len({len(cells) for cells in columns.values()}) <= 1
