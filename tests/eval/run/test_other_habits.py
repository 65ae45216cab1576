"""A person with other habits gets from her file to a run, or is told in a line what to do, without reading source."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from factseek import commands
from factseek.retrieval.records.table_shape import SAVE_AS_UTF8


@pytest.fixture
def factseek(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run a command; return its exit code and what it says on standard error."""

    def command(*arguments: object) -> tuple[int, str]:
        capsys.readouterr()
        code = commands.main(list(map(str, arguments)))
        return code, capsys.readouterr().err

    return command


QUERIES = {"K-01": "measles vaccine, deaths", "K-02": 'the "measles" vaccine'}


def sheet(header: list[str], delimiter: str, first: tuple[str, ...] = ()) -> str:
    content = io.StringIO()
    rows = csv.writer(content, delimiter=delimiter)
    rows.writerow(header)
    rows.writerows([*first, qid, text] for qid, text in QUERIES.items())
    return content.getvalue()


def test_her_tweets_as_a_sheet_of_excel(example, factseek, tmp_path: Path) -> None:
    rows = [["Topic ID", "Tweet ID", "Tweet Text"], ["EX-EN-01", "1", "measles, deaths"]]
    content = io.StringIO()
    csv.writer(content, delimiter=";").writerows(rows)
    hers, output = tmp_path / "hers.csv", tmp_path / "run"
    hers.write_bytes(content.getvalue().encode("utf-8-sig"))
    assert factseek("run", "ct2020-evidence", "--queries", hers, "--index", example, "--output", output) == (0, "")
    assert output.read_text().startswith("EX-EN-01\t1\t1\t")


def workbook() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return content.getvalue()


REFUSED = {
    "workbook": (
        workbook(),
        ': is an Excel workbook (.xlsx); in Excel, save the sheet as "CSV UTF-8 (Comma delimited)"',
    ),
    "another encoding": (
        sheet(["id", "claim"], ",").encode() + "K-03,Fieber über 40°\n".encode("cp1252"),
        f":4: is not UTF-8 (byte 0xfc); {SAVE_AS_UTF8}",
    ),
    "an answer of an API": (
        json.dumps({"count": 1, "data": [{"id": "1", "claim": "measles"}]}).encode(),
        ":1: has no id; its 'data' is a list of objects: write these one per line, as jq -c '.data[]' does",
    ),
    "JSON over several lines": (
        json.dumps({"data": [{"id": "1", "claim": "measles"}]}, indent=1).encode(),
        ":1: begins JSON that spans several lines: write one object per line, as jq -c '.[]' does "
        "with a list, jq -c . with objects",
    ),
    "own names": (
        sheet(["nummer", "behauptung"], ",").encode(),
        ":1: is a header with no column of ids among 'nummer', 'behauptung': expected qid, query_id, queryid, _id, "
        "id …; name them qid and query",
    ),
}  # fmt: skip


@pytest.mark.parametrize("habit", REFUSED)
def test_what_is_not_read_is_refused_with_what_to_do(habit, example, factseek, tmp_path: Path) -> None:
    content, message = REFUSED[habit]
    hers, output = tmp_path / "hers", tmp_path / "run"
    hers.write_bytes(content)
    refused = factseek("run", "trec", "--queries", hers, "--index", example, "--output", output)
    assert refused == (2, f"factseek: {hers}{message}\n")
    assert not output.exists()


def test_a_file_of_another_task_is_named(factseek, tmp_path: Path) -> None:
    gold, run = tmp_path / "gold", tmp_path / "run"
    gold.write_text("1 0 2 1\n")
    run.write_text('{"id": 1, "predicted_label": "SUPPORTS", "predicted_evidence": []}\n')
    code, said = factseek("score", "trec", "--gold", gold, "--run", run)
    assert code == 1
    assert "the file is JSON lines" in said
    assert said.endswith("; run reads as a submission of fever\n")


TWEETS = {"data": [{"id": "1", "text": "measles"}]}
TURKISH = "Kimlik;Metin\r\n1;Kızamık\r\n"
NO_TWEETS = {
    "an answer of an API": (
        json.dumps(TWEETS).encode(),
        ":1: has no tweet_id; its 'data' is a list of objects: write these one per line, as jq -c '.data[]' does",
    ),
    "a JSON list": (
        json.dumps(TWEETS["data"]).encode(),
        ":1: is not a JSON object: write its objects one per line, as jq -c '.[]' does",
    ),
    "another encoding": (TURKISH.encode("cp1254"), f":2: is not UTF-8 (byte 0xfd); {SAVE_AS_UTF8}"),
    "own names": (TURKISH.encode("utf-16"), ":1: the header has no tweet_id: it begins with 'Kimlik;Metin'"),
}


@pytest.mark.parametrize("habit", NO_TWEETS)
def test_tweets_that_are_not_read_are_refused_with_what_to_do(habit, factseek, tmp_path: Path) -> None:
    content, message = NO_TWEETS[habit]
    hers, gold = tmp_path / "hers", tmp_path / "gold"
    hers.write_bytes(content)
    refusal = (2, f"factseek: {hers}{message}\n")
    assert factseek("rank", "ct2021-1a", "--train", hers, "--input", hers, "--output", gold) == refusal
    assert factseek("score", "ct2021-1a", "--gold", hers, "--run", hers) == refusal


def test_an_encoding_is_explained_once_a_file(factseek, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hers = tmp_path / "hers"
    hers.write_bytes("CT\t1\t0.5\tKızamık\n".encode("cp1254") * 3)
    assert commands.main(["check", "ct2021-1a", str(hers)]) == 1
    assert capsys.readouterr().out.splitlines()[:3] == [
        f"{hers}:1: error: is not UTF-8 (byte 0xfd); {SAVE_AS_UTF8}",
        f"{hers}:2: error: is not UTF-8 (byte 0xfd)",
        f"{hers}:3: error: is not UTF-8 (byte 0xfd)",
    ]


def test_a_debate_that_is_another_table_is_named(factseek, tmp_path: Path) -> None:
    hers = tmp_path / "hers"
    hers.write_bytes("Satır;Konuşmacı;Metin\r\n1;A;aşı\r\n".encode("utf-8-sig"))
    layout = "has 1 of the 4 columns between tabs (line_number speaker text label)"
    assert factseek("score", "ct2021-1b", "--gold", hers, "--run", hers) == (
        2,
        f"factseek: {hers}:1: {layout}; the file is separated by semicolons\n",
    )
