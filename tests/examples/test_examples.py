"""The bundled example is complete and consistent: counts, ids, judgements, pages, papers."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

LANGUAGES = ("en", "ar")
CORD19_COLUMNS = (
    "cord_uid,sha,source_x,title,doi,pmcid,pubmed_id,license,abstract,publish_time,authors,journal,mag_id,"
    "who_covidence_id,arxiv_id,pdf_json_files,pmc_json_files,url,s2_id"
).split(",")
CHARSETS = {"en-climate-el-nino": "iso-8859-1", "ar-health-salt": "windows-1256"}
VOID = {"meta", "link", "br", "img", "hr", "input"}
BOILERPLATE = {"nav", "aside", "footer", "script", "title"}


def table(path: Path) -> list[list[str]]:
    """The rows of a tab-separated file, whose quotes and apostrophes mean nothing."""
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
    """The docid of every document of a language, papers' records included once each."""
    yield from (row[0] for row in table(examples / f"snippets-{language}.tsv")[1:])
    yield from (page.stem for page in pages(examples, language))
    if language == "en":
        yield from dict.fromkeys(row["cord_uid"] for row in papers(examples))


class Page(HTMLParser):
    """The start tags of a page, the tags that were never closed properly, and the words outside of the boilerplate."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.crossed: list[str] = []
        self.words = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.crossed.append(tag)

    def handle_data(self, data: str) -> None:
        if not BOILERPLATE & set(self.open):
            self.words += len(data.split())


def read_page(path: Path) -> tuple[str, Page]:
    """Decode a page by the charset that its meta element declares, strictly."""
    raw = path.read_bytes()
    declared = re.search(rb"charset=[\"']?([\w-]+)", raw)
    assert declared, f"{path.name} declares no charset"
    text = raw.decode(declared[1].decode("ascii"))
    parser = Page()
    parser.feed(text)
    parser.close()
    return text, parser


@pytest.mark.parametrize(("language", "snippets", "topics", "claims"), [("en", 38, 4, 22), ("ar", 24, 3, 8)])
def test_snippets_and_claims_have_the_stated_counts(
    examples: Path, language: str, snippets: int, topics: int, claims: int
) -> None:
    header, *rows = table(examples / f"snippets-{language}.tsv")
    assert header == ["id", "text", "topic", "page", "url"]
    assert len(rows) == snippets
    assert len({row[2] for row in rows}) == topics
    header, *rows = table(examples / f"claims-{language}.tsv")
    assert header == ["topic_id", "tweet_id", "tweet_text"]
    assert len(rows) == claims


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_snippets_id_holds_its_topic_and_page(examples: Path, language: str) -> None:
    for sid, text, topic, page, url in table(examples / f"snippets-{language}.tsv")[1:]:
        assert re.fullmatch(rf"EX-{language.upper()}-\d\d-\d{{4}}-\d{{3}}", sid)
        assert sid.startswith(f"{page}-")
        assert page.startswith(f"{topic}-")
        assert text.strip() == text
        assert text.endswith(".")
        assert url.startswith("https://")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_snippets_of_a_page_share_its_url(examples: Path, language: str) -> None:
    rows = table(examples / f"snippets-{language}.tsv")[1:]
    assert len({(page, url) for *_, page, url in rows}) == len({page for *_, page, _ in rows})


def test_docids_are_unique_over_the_whole_example(examples: Path) -> None:
    docids = [docid for language in LANGUAGES for docid in collection(examples, language)]
    assert len(docids) == len(set(docids)) == 62 + 12 + 39


def test_tweet_ids_are_unique_and_pass_the_shared_tasks_checker(examples: Path) -> None:
    ids = [row[1] for language in LANGUAGES for row in table(examples / f"claims-{language}.tsv")[1:]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[1-9]\d{18}", tweet) for tweet in ids)


@pytest.mark.parametrize("language", LANGUAGES)
def test_queries_are_the_claims(examples: Path, language: str) -> None:
    claims = [[tweet, text] for _, tweet, text in table(examples / f"claims-{language}.tsv")[1:]]
    assert table(examples / f"queries-{language}.tsv") == claims


@pytest.mark.parametrize("language", LANGUAGES)
def test_qrels_name_documents_and_claims_that_exist(examples: Path, language: str) -> None:
    judged = qrels(examples / f"qrels-{language}.txt")
    assert len({(qid, docid) for qid, docid, _ in judged}) == len(judged)
    assert {docid for _, docid, _ in judged} <= set(collection(examples, language))
    assert {qid for qid, _, _ in judged} == {row[0] for row in table(examples / f"queries-{language}.tsv")}
    assert {grade for *_, grade in judged} == {0, 1, 2}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_claim_has_evidence_in_the_snippets_of_its_topic(examples: Path, language: str) -> None:
    judged = qrels(examples / f"qrels-{language}.txt")
    topics = {tweet: topic for topic, tweet, _ in table(examples / f"claims-{language}.tsv")[1:]}
    useful = {qid for qid, docid, grade in judged if grade and docid.startswith(f"{topics[qid]}-")}
    assert useful == set(topics)


def test_some_claims_are_settled_by_a_page_or_a_paper_alone(examples: Path) -> None:
    for language, least in (("en", 3), ("ar", 1)):
        judged = qrels(examples / f"qrels-{language}.txt")
        settled = {qid for qid, docid, grade in judged if grade == 2}
        by_snippet = {qid for qid, docid, grade in judged if grade == 2 and docid.startswith("EX-")}
        assert len(settled - by_snippet) >= least


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_evidence_gold_agrees_with_the_qrels(examples: Path, language: str) -> None:
    gold = {(tweet, sid): int(label) for _, tweet, sid, label in table(examples / f"evidence-gold-{language}.tsv")}
    judged = qrels(examples / f"qrels-{language}.txt")
    snippets = {(qid, docid): int(grade > 0) for qid, docid, grade in judged if docid.startswith("EX-")}
    assert gold == snippets


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_evidence_gold_judges_every_snippet_of_a_claims_topic(examples: Path, language: str) -> None:
    claims = table(examples / f"claims-{language}.tsv")[1:]
    snippets = table(examples / f"snippets-{language}.tsv")[1:]
    expected = [[topic, tweet, row[0]] for topic, tweet, _ in claims for row in snippets if row[2] == topic]
    assert [row[:3] for row in table(examples / f"evidence-gold-{language}.tsv")] == expected


@pytest.mark.parametrize(("language", "count", "direction"), [("en", 9, None), ("ar", 3, "rtl")])
def test_pages_are_whole_web_pages(examples: Path, language: str, count: int, direction: str | None) -> None:
    found = pages(examples, language)
    assert len(found) == count
    for path in found:
        text, page = read_page(path)
        tags = [tag for tag, _ in page.tags]
        assert text.startswith("<!DOCTYPE html")
        assert (page.open, page.crossed) == ([], []), path.name
        for tag in ("html", "head", "title", "body", "nav", "h1", "footer"):
            assert tag in tags, f"{path.name} has no {tag}"
        html = next(attributes for tag, attributes in page.tags if tag == "html")
        assert html.get("dir") == direction
        assert 250 <= page.words <= 700, f"{path.name} has {page.words} words"
        assert any(a.get("name") == "description" for tag, a in page.tags if tag == "meta")
        assert any(a.get("rel") == "canonical" for tag, a in page.tags if tag == "link")
        assert "cookie" in text.lower() or "الكوكيز" in text or "تعريف الارتباط" in text


def test_each_page_says_when_it_was_published(examples: Path) -> None:
    meta = r'(article:published_time|DC\.date|name="date)" content="\d{4}'
    dated = re.compile(rf'{meta}|<time datetime="\d{{4}}|datePublished')
    for language in LANGUAGES:
        for path in pages(examples, language):
            assert dated.search(read_page(path)[0]), f"{path.name} has no date"


def test_json_ld_of_the_pages_is_json(examples: Path) -> None:
    block = re.compile(r'<script type="application/ld\+json">(.*?)</script>', re.DOTALL)
    texts = [read_page(path)[0] for language in LANGUAGES for path in pages(examples, language)]
    blocks = [json.loads(found) for text in texts for found in block.findall(text)]
    assert len(blocks) >= 3
    assert {found["@context"] for found in blocks} == {"https://schema.org"}


@pytest.mark.parametrize(("stem", "word"), [("en-climate-el-nino", "El Niño"), ("ar-health-salt", "الصوديوم")])
def test_two_pages_are_in_the_older_encoding_that_they_declare(examples: Path, stem: str, word: str) -> None:
    path = examples / f"pages-{stem[:2]}" / f"{stem}.html"
    assert f"charset={CHARSETS[stem]}" in path.read_bytes().decode("latin-1")
    assert word in read_page(path)[0]
    with pytest.raises(UnicodeDecodeError):
        path.read_bytes().decode("utf-8")


def test_metadata_has_the_schema_of_the_releases(examples: Path) -> None:
    with (examples / "cord19/metadata.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == CORD19_COLUMNS
    rows = papers(examples)
    assert len(rows) == 40
    for row in rows:
        assert re.fullmatch(r"ex[0-9a-z]{6}", row["cord_uid"])
        assert (row["license"], row["authors"]) == ("cc0", "factseek example")
        assert row["url"] == f"https://doi.org/{row['doi']}"
        assert row["title"]
    assert len({row["doi"] for row in rows}) == 39


def test_metadata_holds_the_awkward_records(examples: Path) -> None:
    rows = papers(examples)
    ids = [row["cord_uid"] for row in rows]
    assert {uid for uid in ids if ids.count(uid) > 1} == {"ex000a08"}
    first, second = (row for row in rows if row["cord_uid"] == "ex000a08")
    assert not first["journal"]
    assert second["journal"]
    assert len(second["abstract"]) > len(first["abstract"])
    assert [row["cord_uid"] for row in rows if not row["abstract"]] == ["ex000a30"]
    assert [row["cord_uid"] for row in rows if re.fullmatch(r"\d{4}", row["publish_time"])] == ["ex000a34"]


def test_abstracts_are_of_an_abstracts_length(examples: Path) -> None:
    longest: dict[str, int] = {}
    for row in papers(examples):
        words = len(row["abstract"].split())
        longest[row["cord_uid"]] = max(words, longest.get(row["cord_uid"], 0))
    assert {uid: n for uid, n in longest.items() if uid != "ex000a30" and not 90 <= n <= 180} == {}


@pytest.mark.parametrize(("uid", "column"), [("ex000a01", "pdf_json_files"), ("ex000a14", "pmc_json_files")])
def test_full_text_parses_have_the_schema_of_the_releases(examples: Path, uid: str, column: str) -> None:
    row = next(row for row in papers(examples) if row["cord_uid"] == uid)
    parse: dict[str, Any] = json.loads((examples / "cord19" / row[column]).read_text("utf-8"))
    assert parse["paper_id"] == (row["sha"] or row["pmcid"])
    assert parse["metadata"]["title"] == row["title"]
    assert ("abstract" in parse) == (column == "pdf_json_files")
    body = parse["body_text"]
    assert sum(len(paragraph["text"].split()) for paragraph in body) >= 1200
    assert len({paragraph["section"] for paragraph in body}) >= 5
    spans = [(p["text"], span) for p in body for span in (*p["cite_spans"], *p["ref_spans"])]
    assert len(spans) >= 5
    entries = parse["bib_entries"] | parse["ref_entries"]
    for text, span in spans:
        assert text[span["start"] : span["end"]] == span.get("text", span.get("mention"))
        assert span["ref_id"] in entries


def test_the_only_full_texts_are_those_that_the_metadata_names(examples: Path) -> None:
    files = {path.relative_to(examples / "cord19").as_posix() for path in (examples / "cord19").rglob("*.json")}
    named = {row[column] for row in papers(examples) for column in ("pdf_json_files", "pmc_json_files")} - {""}
    assert files == named


def test_the_readme_names_every_file(examples: Path) -> None:
    text = (examples / "README.md").read_text("utf-8")
    names = {path.name for path in examples.iterdir() if path.is_file()} - {"README.md"}
    assert {name for name in names if f"`{name}`" not in text} == set()
