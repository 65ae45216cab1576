"""Files of other data sets and programs: the message says what they are and how to read them."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from factseek.core.errors import SourceError
from factseek.eval.files.topics import read_topics
from factseek.indexer.collections import ReadOptions, Record, reader

from .test_office import xlsx

AVERITEC = {
    "claim": "The tram line is closed.",
    "label": "Refuted",
    "questions": [{"question": "Is it?", "answers": [{"answer": "No"}]}],
}
CLIMATE_FEVER = {
    "claim_id": "7",
    "claim": "Trams warm the city.",
    "claim_label": "REFUTES",
    "evidences": [{"evidence_id": "Tram:3", "article": "Tram", "evidence": "Trams are cold."}],
}
MEDIAWIKI = "<mediawiki xml:lang='en'><page><title>Tram</title></page></mediawiki>"
EXTRACT = (
    "it is a dump of MediaWiki: extract its pages first, for example with WikiExtractor --json, "
    "and read these with factseek index jsonl"
)


def read(kind: str, path: Path) -> list[Record]:
    return list(reader(kind).read([path], ReadOptions()))


def refusal(kind: str, path: Path, content: str) -> str:
    path.write_text(content, "utf-8")
    with pytest.raises(SourceError) as caught:
        read(kind, path)
    return str(caught.value)


def jq(program: str, source: Path, made: Path) -> Path:
    if not (found := shutil.which("jq")):
        pytest.skip("jq is not installed")
    lines = subprocess.run([found, "-c", program, source], capture_output=True, check=True).stdout
    made.write_bytes(lines)
    return made


def test_a_claim_of_averitec_is_named_and_its_advice_works(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    program = "to_entries[] | {id: .key} + .value"
    for content in ([AVERITEC], AVERITEC):
        message = refusal("jsonl", path, json.dumps(content))
        assert "it is a claim of AVeriTeC" in message
        assert f"jq -c '{program}'" in message
    path.write_text(json.dumps([AVERITEC] * 2, indent=1))
    numbered = jq(program, path, tmp_path / "claims.jsonl")
    assert [record.document.docid for record in read("claims", numbered)] == ["0", "1"]
    assert [query.qid for query in read_topics(numbered)] == ["0", "1"]


def test_lines_of_claims_of_averitec_are_named_and_their_advice_works(tmp_path: Path) -> None:
    path = tmp_path / "dev.jsonl"
    program = "{id: input_line_number} + ."
    message = refusal("jsonl", path, f"{json.dumps(AVERITEC)}\n" * 2)
    assert f"jq -c '{program}'" in message
    # As claims they need no ids of their own, and no question becomes a text.
    assert {record.document.text for record in read("claims", path)} == {AVERITEC["claim"]}
    with pytest.raises(SourceError, match=r"input_line_number.*factseek run read the result"):
        read_topics(path)
    numbered = jq(program, path, tmp_path / "claims.jsonl")
    assert [record.document.docid for record in read("claims", numbered)] == ["1", "2"]
    assert [query.qid for query in read_topics(numbered)] == ["1", "2"]


def test_a_claim_of_climate_fever_is_named_and_its_advice_works(tmp_path: Path) -> None:
    path = tmp_path / "climate-fever.jsonl"
    program = ".evidences[] | {id: .evidence_id, title: .article, text: .evidence}"
    message = refusal("jsonl", path, json.dumps(CLIMATE_FEVER))
    assert "it is a claim of Climate-FEVER" in message
    assert f"jq -c '{program}'" in message
    assert [record.document.text for record in read("claims", path)] == ["Trams warm the city."]
    evidence = jq(program, path, tmp_path / "evidence.jsonl")
    assert [record.document.title for record in read("jsonl", evidence)] == ["Tram"]


def test_annotations_of_another_claim_are_not_offered_as_documents(tmp_path: Path) -> None:
    claim = {"claim": "x", "annotations": [{"annotator": 1}]}
    message = refusal("jsonl", tmp_path / "claims.jsonl", json.dumps(claim))
    assert "it is a claim, and its 'annotations' are annotations" in message


def test_a_dump_of_mediawiki_is_named_by_every_reader(tmp_path: Path) -> None:
    for kind in ("jsonl", "snippets", "trec"):
        assert EXTRACT in refusal(kind, tmp_path / "dump.xml", MEDIAWIKI)


def test_a_feed_is_not_sent_to_trec(tmp_path: Path) -> None:
    feed = "<?xml version='1.0'?><rss version='2.0'><channel><item/></channel></rss>"
    assert refusal("snippets", tmp_path / "feed.xml", feed).endswith(
        "is XML, not snippets; read it with factseek index feed"
    )


FIRST_RELEASE = (
    "sha,source_x,title,doi,pmcid,pubmed_id,abstract,publish_time,authors,full_text_file"
)


@pytest.mark.parametrize("table", ["metadata.csv", "all_sources_metadata_2020-03-13.csv"])
def test_the_first_releases_of_cord19_are_read_without_cord_uid(table: str, tmp_path: Path) -> None:
    rows = [
        f"{'a' * 40}; {'b' * 40},PMC,Tram dust,,PMC1,,,2020 Mar 3,,custom_license",
        ",medrxiv,Bus dust,10.1101/x,,,Buses are dusty.,2020,,",
        ",PMC,Rail dust,,PMC9,,,,,",
        ",PMC,No id,,,,,,,",
    ]
    (tmp_path / table).write_text("\n".join((FIRST_RELEASE, *rows)) + "\n", "utf-8")
    parses = tmp_path / "custom_license" / "custom_license"
    parses.mkdir(parents=True)
    parse = {"metadata": {"title": ""}, "body_text": [{"text": "Dust everywhere", "section": ""}]}
    (parses / f"{'b' * 40}.json").write_text(json.dumps(parse), "utf-8")
    options = ReadOptions()
    options.bad_lines.limit = 1
    documents = [each.document for each in reader("cord19").read([tmp_path], options)]
    assert [(each.docid, each.text, each.date) for each in documents] == [
        ("a" * 40, "Dust everywhere", "2020-03-03"),
        ("10.1101/x", "Buses are dusty.", "2020"),
        ("PMC9", "", ""),
    ]
    assert options.bad_lines.count == 1


def test_a_fault_in_a_workbook_names_the_row_of_the_sheet(tmp_path: Path) -> None:
    rows = [["id", "text"], ["a", "one\ntwo\nthree"], [], ["b c", "four"]]
    path = tmp_path / "claims.xlsx"
    path.write_bytes(xlsx(rows))
    for kind in ("snippets", "claims"):
        with pytest.raises(SourceError) as caught:
            read(kind, path)
        assert str(caught.value).startswith(f"{path}:4: docid 'b c' contains white space")
