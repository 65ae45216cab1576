"""Building: what is published, what is refused, and what an interruption leaves."""

from pathlib import Path

import pytest

from factseek.core.domain import Hit
from factseek.core.errors import IndexStateError, SourceError
from factseek.indexer import journal as journals
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store import manifest as manifests

TEXTS = [
    "Vaccines prevent measles in most children.",
    "The Nile is the longest river of Africa.",
    "Masks reduce the spread of respiratory viruses.",
    "Measles is caused by a virus.",
    "The moon has no atmosphere to speak of.",
    "Rivers carry sediment to the sea.",
]
DOCUMENTS = [{"docid": f"d{i}", "text": text, "topic": f"T{i % 2}"} for i, text in enumerate(TEXTS)]


def found(folder: Path, query: str, **asked: object) -> list[Hit]:
    with Index(folder) as index:
        return index.search([query], Search(retriever="bm25", **asked))[0]


def test_an_index_is_made_and_described(tmp_path: Path, write_jsonl, build_jsonl) -> None:
    source = write_jsonl("docs.jsonl", DOCUMENTS)
    report = build_jsonl(source)
    assert (report.documents, report.passages, report.duplicates, report.resumed) == (
        6,
        6,
        0,
        False,
    )
    manifest = manifests.read(tmp_path / "index")
    assert manifest == report.manifest
    assert (manifest.language, manifest.analyzer, manifest.encoder) == ("en", "english", None)
    (segment,) = manifest.segments
    assert [(s.name, s.bytes) for s in segment.sources] == [("docs.jsonl", source.stat().st_size)]
    assert "documents.sqlite" in segment.files
    assert any(name.startswith("lucene/segments_") for name in segment.files)
    assert [hit.docid for hit in found(tmp_path / "index", "measles virus")] == ["d3", "d0"]
    assert sorted(path.name for path in (tmp_path / "index").iterdir()) == [
        "lock",
        "manifest.json",
        "segments",
    ]


def test_texts_of_another_language_are_noted(write_jsonl, build_jsonl) -> None:
    texts = [
        "Der Bürgermeister sagt, die Brücke sei gesperrt.",
        "Die Arbeitslosigkeit in der Stadt ist gesunken.",
    ]
    source = write_jsonl("docs.jsonl", [{"docid": text[:3], "text": text} for text in texts])
    (note,) = build_jsonl(source).notes
    assert note == (
        "the language of the texts seems to be de, but the language of the index is en; "
        "if so, build the index again with "
        "--language de"
    )
    assert build_jsonl(source, verb="overwrite", index={"language": "de"}).notes == ()


def test_append_adds_skips_and_refuses(tmp_path: Path, write_jsonl, build_jsonl) -> None:
    build_jsonl(write_jsonl("one.jsonl", DOCUMENTS[:4]))
    report = build_jsonl(write_jsonl("two.jsonl", DOCUMENTS[2:]), verb="append")
    assert (report.documents, report.duplicates, report.manifest.documents) == (2, 2, 6)
    changed = write_jsonl(
        "three.jsonl", [{"docid": "d9", "text": "new"}, {"docid": "d1", "text": "other"}]
    )
    with pytest.raises(SourceError) as error:
        build_jsonl(changed, verb="append")
    assert str(error.value) == (
        f"{changed}:2: docid 'd1' is already at {tmp_path / 'one.jsonl'}:2, in the index, with "
        "different content; "
        "replace it with --update, or skip bad lines with --skip-bad-lines N"
    )
    assert manifests.read(tmp_path / "index") == report.manifest
    assert build_jsonl(write_jsonl("two.jsonl", DOCUMENTS), verb="overwrite").duplicates == 0


def test_an_update_replaces_no_other_review_and_no_other_page(tmp_path: Path, build_jsonl) -> None:
    def put(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, "utf-8")
        return path

    claims = ["The sea is dry today.", "The moon is hot.", "The sun is cold."]
    jan, feb = (
        put(
            f"{name}.csv",
            "".join(
                ["claim,url,rating\n", *(f"{claim},https://x.org/1,False\n" for claim in some)]
            ),
        )
        for name, some in (("jan", claims[:2]), ("feb", claims[2:]))
    )
    build_jsonl(jan, kind="claimreview")
    with pytest.raises(
        SourceError, match=r"jan.csv:2, which reviews another claim of the same page; read both"
    ):
        build_jsonl(feb, kind="claimreview", verb="update")
    jan.write_text(jan.read_text("utf-8").replace("False", "Mostly false"), "utf-8")
    report = build_jsonl(jan, feb, kind="claimreview", verb="update")
    assert (report.documents, report.replaced, report.manifest.documents) == (3, 2, 3)
    feb.write_text(feb.read_text("utf-8").replace("cold", "freezing"), "utf-8")
    assert build_jsonl(jan, feb, kind="claimreview", verb="update").replaced == 1

    folder = put("m/a/x.txt", "The bridge of the town is closed.").parent.parent
    build_jsonl(folder, kind="webpages", verb="overwrite")
    other = put("m/b/x.txt", "The school got a new roof.")
    with pytest.raises(
        SourceError, match=r"m/a/x.txt, which is another file; rename one, or delete the stored"
    ):
        build_jsonl(other, kind="webpages", verb="update")
    same = put("m/a/x.txt", "The bridge of the town is open.")
    report = build_jsonl(same, kind="webpages", verb="update")
    assert (report.documents, report.replaced, report.manifest.documents) == (1, 1, 1)
    later = put("later/x.txt", "The bridge of the town is gone.").parent
    assert build_jsonl(later, kind="webpages", verb="update").replaced == 1


def test_a_source_whose_name_is_no_text_is_read_again(write_jsonl, build_jsonl) -> None:
    source = write_jsonl("caf\udce9.jsonl", DOCUMENTS)
    build_jsonl(source)
    assert build_jsonl(source, verb="update").duplicates == 6


def test_a_broken_line_leaves_a_build_that_goes_on(
    tmp_path: Path, write_jsonl, build_jsonl
) -> None:
    source = write_jsonl("docs.jsonl", DOCUMENTS)
    with source.open("a", encoding="utf-8") as file:
        file.write('{"docid": "d7", "text": "cut o\n')
    small = {"index": {"segment_passages": 2}}
    with pytest.raises(SourceError, match=r"docs\.jsonl:7: "):
        build_jsonl(source, **small)
    assert not (tmp_path / "index" / "manifest.json").exists()
    with pytest.raises(
        IndexStateError, match="is half-built; run the same factseek index command again"
    ):
        Index(tmp_path / "index")
    finished = [segment.name for segment in journal(tmp_path).finished]
    assert finished == ["000000", "000001", "000002"]


def journal(tmp_path: Path) -> journals.Journal:
    import msgspec

    path = tmp_path / "index" / manifests.BUILD / journals.NAME
    return msgspec.json.decode(path.read_bytes(), type=journals.Journal)


def test_a_build_of_changed_documents_begins_anew(tmp_path: Path, write_jsonl, build_jsonl) -> None:
    small = {"index": {"segment_passages": 2}}
    with pytest.raises(SourceError):
        build_jsonl(write_jsonl("docs.jsonl", [*DOCUMENTS, {"docid": ""}]), **small)
    report = build_jsonl(
        write_jsonl("docs.jsonl", [{"docid": "d0", "text": "Changed."}, *DOCUMENTS[1:]]), **small
    )
    assert not report.resumed
    assert report.documents == 6
    assert [hit.docid for hit in found(tmp_path / "index", "changed vaccines")] == ["d0"]


def test_a_build_with_another_analyzer_begins_anew(
    tmp_path: Path, write_jsonl, build_jsonl
) -> None:
    source = write_jsonl(
        "docs.jsonl", [*DOCUMENTS, {"docid": "d8", "text": "Floods"}, {"docid": ""}]
    )
    with pytest.raises(SourceError):
        build_jsonl(source, index={"segment_passages": 2})
    other = {"segment_passages": 2, "analyzer": "whitespace"}
    report = build_jsonl(source, index=other, build={"skip_bad_lines": 1})
    assert (report.resumed, report.documents) == (False, 7)
    assert [hit.docid for hit in found(tmp_path / "index", "Floods")] == ["d8"]
    assert found(tmp_path / "index", "flood") == []


def test_what_a_refused_update_wrote_is_not_published_by_a_later_one(
    tmp_path: Path, write_jsonl, build_jsonl
) -> None:
    small = {"index": {"segment_passages": 2}}
    build_jsonl(write_jsonl("docs.jsonl", DOCUMENTS), **small)
    refused = [
        {"docid": "d8", "text": "Refused."},
        {"docid": "d9", "text": "Refused."},
        {"docid": ""},
    ]
    with pytest.raises(SourceError):
        build_jsonl(write_jsonl("docs.jsonl", refused), verb="update", **small)
    report = build_jsonl(write_jsonl("docs.jsonl", DOCUMENTS), verb="update", **small)
    assert (report.resumed, report.documents, report.duplicates) == (False, 0, 6)
    with Index(tmp_path / "index") as index:
        assert sorted(index.docids()) == [document["docid"] for document in DOCUMENTS]
