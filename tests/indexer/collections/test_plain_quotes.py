"""Between tabs, a quote is an ordinary character unless the table is quoted as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from factseek.core.errors import SourceError
from factseek.indexer.collections import ReadOptions, claimreview, claims, snippets

TABLE = 'id\tclaim\trating\nc1\t"Never" he said\tFalse\nc2\t"Never\tTrue\nc3\tagain"\tTrue\n'


@pytest.mark.parametrize("reader", [claims, claimreview])
def test_no_row_is_lost_behind_a_quote(reader: object, tmp_path: Path) -> None:
    path = tmp_path / "claims.tsv"
    path.write_text(TABLE, "utf-8")
    records = list(reader.read([path], ReadOptions()))  # type: ignore[attr-defined]
    texts = [record.document.text for record in records]
    assert len(texts) == 3
    assert texts[0] == '"Never" he said'


def test_quoted_cells_between_tabs_are_still_read(tmp_path: Path) -> None:
    path = tmp_path / "claims.tsv"
    path.write_text('id\tclaim\nc1\t"one ""quoted""\tcell"\nc2\t"two"\n', "utf-8")
    texts = [record.document.text for record in claims.read([path], ReadOptions())]
    assert texts == ['one "quoted"\tcell', "two"]


def test_a_table_without_addresses_gives_none(tmp_path: Path) -> None:
    path = tmp_path / "notes.tsv"
    path.write_text("title\ttext\nA\tWhales are mammals.\nB\tWater boils.\n", "utf-8")
    assert [record.document.url for record in snippets.read([path], ReadOptions())] == ["", ""]


def test_a_missing_column_says_how_to_name_it(tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    path.write_text("nr,author\n1,Ada\n2,Bo\n", "utf-8")
    with pytest.raises(SourceError) as refused:
        list(claims.read([path], ReadOptions()))
    assert "name that of the texts with --column text=NAME" in refused.value.line
