"""Tables of every kind of file give the same rows, and broken ones give one line."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from factseek.core.errors import SourceError
from factseek.core.records.columns import Columns
from factseek.indexer.collections import BadLines, ReadOptions, _frames
from factseek.indexer.collections._tables import read_rows

NAMES = {"id": ("id", "key"), "title": ("title",), "year": ("year",), "who": ("who",)}
REQUIRED = (("id",),)
RECORDS: list[dict[str, Any]] = [
    {"id": "1", "title": 'A "quoted"\nline, twice', "year": 2020, "other": "x"},
    {"id": "2", "title": None, "year": None, "other": "x"},
    {"id": "03", "title": "c\td", "year": 1999, "other": None},
]
ROWS = [
    {"id": "1", "title": 'A "quoted"\nline, twice', "year": "2020"},
    {"id": "2"},
    {"id": "03", "title": "c\td", "year": "1999"},
]


def write(folder: Path, name: str) -> Path:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / name
    frame = pd.DataFrame(RECORDS)
    frame["year"] = frame["year"].astype("Int64")
    match name.split(".")[1]:
        case "csv":
            frame.to_csv(path, index=False)
        case "tsv":
            frame.to_csv(path, index=False, sep="\t")
        case "jsonl":
            lines = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()
            path.write_bytes(gzip.compress(lines) if name.endswith("gz") else lines)
        case "parquet":
            pq.write_table(pa.Table.from_pylist(RECORDS), path)
        case "pkl":
            frame.to_pickle(path)
    return path


def rows(path: Path, given: ReadOptions | None = None) -> list[tuple[str, dict[str, str]]]:
    return list(read_rows(path, given or ReadOptions(), Columns(NAMES, REQUIRED)))


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("t.csv", "246"),
        ("t.tsv", "246"),
        ("t.jsonl", "123"),
        ("t.parquet", "123"),
        ("t.pkl", "123"),
    ],
)
def test_every_kind_of_file_gives_the_same_rows(tmp_path: Path, name: str, places: str) -> None:
    path = write(tmp_path, name)
    found = rows(path)
    assert [row for _, row in found] == ROWS
    expected = [f"{path}:{place}" for place in places]
    if "csv" in name or "tsv" in name:
        expected = [f"{path}:2", f"{path}:4", f"{path}:5"]
    assert [place for place, _ in found] == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "t.xyz",
            b"id\n1\n",
            "{}: is not a table that factseek reads; give one of .csv, .tsv, .xlsx, .ods, .jsonl, "
            ".ndjson, .parquet, .pkl, .pickle",
        ),
        (
            "t.csv",
            b"a,b\n1,2\n",
            "{}:1: there is no column 'id' or 'key'; the columns are 'a', 'b'; name it with "
            "--column id=NAME",
        ),
        ("t.csv", b"id,b,id\n1,2,3\n", "{}:1: the column 'id' occurs twice"),
        (
            "t.jsonl",
            b'{"id": {"a": 1}}\n',
            "{}:1: column 'id' contains a dict, not a text or a number; fix it, or "
            "skip bad lines with --skip-bad-lines N",
        ),
        (
            "t.pkl",
            b"cos\nsystem\n(S'true'\ntR.",
            "{}: refers to os.system, which no table of papers needs, so factseek refused it",
        ),
    ],
)
def test_a_broken_table_is_an_error_in_one_line(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        rows(path)
    said = message.format(path)
    assert str(caught.value) == said or (said.endswith("(") and str(caught.value).startswith(said))


def test_a_text_that_cannot_be_stored_is_a_bad_row(tmp_path: Path) -> None:
    import pandas as pd

    path = tmp_path / "t.pkl"
    pd.DataFrame({"id": ["1", "2", "3"], "title": ["a\0b", "c", "\ud800"]}, dtype=object).to_pickle(
        path
    )
    given = ReadOptions(bad_lines=BadLines(limit=9))
    assert [row for _, row in rows(path, given)] == [{"id": "2", "title": "c"}]
    reason = "column 'title' contains a character that is not text"
    assert given.bad_lines.examples == [f"{path}:1: {reason}", f"{path}:3: {reason}"]


def test_a_parquet_file_that_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setattr(_frames, "UNPACKED_AT_ONCE", 2_000_000)
    path = tmp_path / "t.parquet"
    pd.DataFrame({"id": ["1"], "title": ["x" * 3_000_000], "other": ["y"]}).to_parquet(
        path, compression="gzip"
    )
    with pytest.raises(SourceError) as caught:
        rows(path)
    assert (
        str(caught.value)
        == f"{path}: unpacks to more than 200 times its size; it is not a collection"
    )
    nothing = pa.nulls(3_000_000, pa.string())
    pq.write_table(pa.table({"id": nothing, "title": nothing}), path, row_group_size=len(nothing))
    # Of rows of no bytes.
    with pytest.raises(SourceError, match="unpacks to more than 200 times its size"):
        rows(path)
    path.unlink()
    pd.DataFrame({"id": ["1"], "title": ["x"], "other": ["y" * 3_000_000]}).to_parquet(
        path, compression="gzip"
    )
    # What is not wanted is not unpacked.
    assert [row for _, row in rows(path)] == [{"id": "1", "title": "x"}]


def test_a_parquet_file_whose_records_share_a_long_text_takes_little_memory_and_is_refused(
    tmp_path: Path,
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    long, path = "x" * 1_000_000, tmp_path / "t.parquet"
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000, pa.int32()), pa.array([long]))
    table = pa.table({"id": pa.array(map(str, range(1_000))), "title": shared})
    pq.write_table(table, path, store_schema=False, compression="gzip")
    taken = []
    before = pa.total_allocated_bytes()
    with pytest.raises(
        SourceError, match="unpacks to more than 200 times its size; it is not a collection"
    ):
        for _, row in read_rows(
            path, ReadOptions(), Columns({"id": ("id",), "title": ("title",)}, ())
        ):
            taken.append(row["id"])
            assert row["title"] == long
            assert pa.total_allocated_bytes() - before < 20_000_000  # and not 512 times a megabyte
    assert 50 < len(taken) <= 100


def test_a_pickle_is_bounded(tmp_path: Path) -> None:
    path = write(tmp_path, "t.pkl")
    with pytest.raises(SourceError, match=r"is longer than 100 bytes \(build.max_file_bytes\)$"):
        rows(path, ReadOptions(max_file_bytes=100))
