"""The bundled example is complete and consistent: counts, ids, judgements, pages, papers."""

import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

LANGUAGES = ("en", "ar")


def table(path: Path) -> list[list[str]]:
    text = path.read_text("utf-8")
    assert text.endswith("\n"), f"{path.name} does not end with a line end"
    assert "\r" not in text
    return [line.split("\t") for line in text[:-1].split("\n")]


def qrels(path: Path) -> list[tuple[str, str, int]]:
    rows = [line.split() for line in path.read_text("utf-8").splitlines()]
    assert {row[1] for row in rows} == {"0"}
    return [(qid, docid, int(grade)) for qid, _, docid, grade in rows]


def papers(examples: Path) -> list[dict[str, str]]:
    with (examples / "cord19/metadata.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def pages(examples: Path, language: str) -> list[Path]:
    return sorted((examples / f"pages-{language}").glob("*.html"))


def collection(examples: Path, language: str) -> Iterator[str]:
    yield from (row[0] for row in table(examples / f"snippets-{language}.tsv")[1:])
    yield from (page.stem for page in pages(examples, language))
    if language == "en":
        yield from dict.fromkeys(row["cord_uid"] for row in papers(examples))


def test_tweet_ids_are_unique_and_pass_the_shared_tasks_checker(examples: Path) -> None:
    ids = [
        row[1] for language in LANGUAGES for row in table(examples / f"claims-{language}.tsv")[1:]
    ]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[1-9]\d{18}", tweet) for tweet in ids)


@pytest.mark.parametrize("language", LANGUAGES)
def test_qrels_name_documents_and_claims_that_exist(examples: Path, language: str) -> None:
    judged = qrels(examples / f"qrels-{language}.txt")
    assert len({(qid, docid) for qid, docid, _ in judged}) == len(judged)
    assert {docid for _, docid, _ in judged} <= set(collection(examples, language))
    assert {qid for qid, _, _ in judged} == {
        row[0] for row in table(examples / f"queries-{language}.tsv")
    }
    assert {grade for *_, grade in judged} == {0, 1, 2}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_evidence_gold_agrees_with_the_qrels(examples: Path, language: str) -> None:
    gold = {
        (tweet, sid): int(label)
        for _, tweet, sid, label in table(examples / f"evidence-gold-{language}.tsv")
    }
    judged = qrels(examples / f"qrels-{language}.txt")
    snippets = {
        (qid, docid): int(grade > 0) for qid, docid, grade in judged if docid.startswith("EX-")
    }
    assert gold == snippets


def test_the_readme_names_every_file(examples: Path) -> None:
    text = (examples / "README.md").read_text("utf-8")
    names = {path.name for path in examples.iterdir() if path.is_file()} - {"README.md"}
    assert {name for name in names if f"`{name}`" not in text} == set()


def build(root: Path, indexes: Path) -> str:
    command = [sys.executable, str(root / "examples" / "build.py"), str(indexes)]
    return subprocess.run(
        command, check=True, capture_output=True, cwd=root, timeout=900, text=True
    ).stdout


@pytest.mark.deep
def test_what_is_current_is_left_alone_and_a_damaged_ranker_made_again(
    root: Path, example_folder: Path
) -> None:
    indexes = example_folder / "indexes"
    ranker = indexes / "tweets.model"
    before = ranker.read_bytes()
    assert build(root, indexes) == ""
    ranker.write_bytes(before[:-1])
    assert build(root, indexes) == "step 5 of 5: learn which tweets are worth checking\n"
    assert ranker.read_bytes() == before
