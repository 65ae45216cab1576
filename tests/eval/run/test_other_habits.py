"""A person with other habits gets from her file to a run, or is told in a line what to do, without
reading source.
"""

import csv
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from factseek import commands
from factseek.core.records.table_shape import SAVE_AS_UTF8


@pytest.fixture
def factseek(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
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
        (
            ":1: has no id; its 'data' is a list of objects: write these one per line, as jq "
            "-c '.data[]' does"
        ),
    ),
    "own names": (
        sheet(["nummer", "behauptung"], ",").encode(),
        ":1: is a header with no column of ids, only 'nummer', 'behauptung': expected qid, "
        "query_id, queryid, _id, "
        "id …; name two columns qid and query",
    ),
}


@pytest.mark.parametrize("habit", REFUSED)
def test_what_is_not_read_is_refused_with_what_to_do(
    habit, example, factseek, tmp_path: Path
) -> None:
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
    assert said.endswith("; run looks like a submission of fever\n")


def test_tweets_in_an_answer_of_an_api_have_no_labels(factseek, tmp_path: Path) -> None:
    hers = tmp_path / "hers"
    hers.write_text(json.dumps({"data": [{"id": "1", "text": "measles"}]}))
    assert factseek("score", "ct2021-1a", "--gold", hers, "--run", hers) == (
        2,
        f"factseek: {hers}: has no labels: it needs a column check_worthiness or "
        "claim_worthiness\n",
    )
