"""What a fact-checker found: a passage of its own behind the claim."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import factseek
from factseek import Search
from factseek.core.errors import SourceError
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.export import documents_of, export
from factseek.settings import Config, convert

BM25 = Search(retriever="bm25")
CLAIM, FOUND = "Wind farms cause cancer", "No epidemiological study has found a link"


def index_of(tmp_path: Path, kind: str, source: Path, *, dense: bool = False, **how: Any) -> Path:
    folder = tmp_path / "index"
    request = BuildRequest(kind=kind, sources=(source,), folder=folder, dense=dense, **how)
    build(request, Config())
    return folder


def desk_table(tmp_path: Path, column: str, found: str = FOUND) -> Path:
    path = tmp_path / "desk.csv"
    path.write_text(
        f"Claim;Rating;{column};Link\n{CLAIM};False;{found};https://desk.example.org/w\n"
        "The moon is round;True;;https://desk.example.org/m\n",
        "utf-8",
    )
    return path


@pytest.mark.parametrize("kind", ["claims", "claimreview"])
@pytest.mark.parametrize(
    "column", ["What we found", "explanation", "Erklärung", "reviewBody", "Abstract", "الشرح"]
)
def test_it_is_found_with_the_claim_beside_it(tmp_path: Path, kind: str, column: str) -> None:
    folder = index_of(tmp_path, kind, desk_table(tmp_path, column))
    with factseek.open_index(folder) as index:
        (hits,) = index.search(["epidemiological study"], BM25)
        (hit,) = index.evidence("epidemiological study", hits)
        (of_claim,) = index.evidence("cancer", index.search(["cancer"], BM25)[0])
    assert (hit.passage.text, hit.claim, hit.passage.number) == (FOUND, CLAIM, 1)
    assert (of_claim.passage.text, bool(of_claim.claim)) == (CLAIM, False)
    assert hit.metadata["explanation"] == of_claim.metadata["explanation"] == FOUND


def test_vectors_find_it(tmp_path: Path) -> None:
    folder = index_of(tmp_path, "claims", desk_table(tmp_path, "What we found"), dense=True)
    with factseek.open_index(folder) as index:
        (hits,) = index.search(["research detected no connection"], Search(retriever="dense"))
    assert (hits[0].passage, len(hits)) == (1, 2)


def test_a_long_explanation_is_several_passages_unless_configured(tmp_path: Path) -> None:
    found = " ".join(f"Sentence number {number} says nothing new." for number in range(80))
    source = desk_table(tmp_path, "What we found", found)
    folder = index_of(tmp_path, "claims", source)
    with factseek.open_index(folder) as index:
        docid = index.search(["cancer"], BM25)[0][0].docid
        texts = [passage.text for passage in index.passages(docid)]
    assert texts[0] == CLAIM
    assert len(texts) == 4
    whole = convert({"passages": {"split": {"claims": False}}}, "settings")
    build(
        BuildRequest(
            kind="claims", sources=(source,), folder=folder, verb="overwrite", dense=False
        ),
        whole,
    )
    with factseek.open_index(folder) as index:
        assert [passage.text for passage in index.passages(docid)] == [CLAIM, found]


def test_an_export_is_read_back_with_the_same_passages(tmp_path: Path) -> None:
    folder = index_of(tmp_path, "claims", desk_table(tmp_path, "What we found"))
    lines = tmp_path / "export.jsonl"
    lines.write_bytes(b"".join(export(folder)))
    (tmp_path / "again").mkdir()
    again = index_of(tmp_path / "again", "jsonl", lines)
    assert [stored.spans for stored in documents_of(again)] == [
        stored.spans for stored in documents_of(folder)
    ]


def test_an_update_may_change_the_explanation_of_a_review(tmp_path: Path) -> None:
    reviews = tmp_path / "a"
    reviews.mkdir()
    folder = index_of(tmp_path, "claimreview", desk_table(reviews, "Explanation"))
    later = tmp_path / "b"
    later.mkdir()
    source = desk_table(later, "Explanation", "Two studies exist").rename(tmp_path / "new.csv")
    request = BuildRequest(
        kind="claimreview", sources=(source,), folder=folder, verb="update", dense=False
    )
    assert build(request, Config()).replaced == 1
    other = tmp_path / "other.csv"
    other.write_text(source.read_text().replace(CLAIM, "Wind farms cure cancer"))
    with pytest.raises(SourceError, match="which reviews another claim of the same page"):
        build(replace(request, sources=(other,)), Config())


def test_the_body_of_a_review_is_a_passage_behind_its_explanation(tmp_path: Path) -> None:
    review = {
        "@type": "ClaimReview",
        "url": "https://desk.example.org/w",
        "claimReviewed": CLAIM,
        "reviewBody": "We asked three clinics.",
        "reviewRating": {"alternateName": "False", "ratingExplanation": FOUND},
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps(review))
    folder = index_of(tmp_path, "claimreview", path)
    with factseek.open_index(folder) as index:
        texts = [passage.text for passage in index.passages("https://desk.example.org/w")]
    assert texts == [CLAIM, FOUND, "We asked three clinics."]


@pytest.mark.parametrize("kind", ["snippets", "claims", "claimreview"])
def test_two_columns_of_texts_make_two_passages(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "two.csv"
    path.write_text("id,Saying,Outcome,url\n1,One thing,Another thing,https://a.example/\n")
    columns = (("text", "Saying"), ("text 2", "Outcome"))
    folder = index_of(tmp_path, kind, path, columns=columns)
    (stored,) = documents_of(folder)
    text = stored.document.text
    assert [text[span.start : span.end] for span in stored.spans] == ["One thing", "Another thing"]


def test_a_claim_without_an_explanation_is_as_it_was(tmp_path: Path) -> None:
    folder = index_of(tmp_path, "claims", desk_table(tmp_path, "What we found"))
    (moon,) = [
        stored for stored in documents_of(folder) if stored.document.text == "The moon is round"
    ]
    assert "part_starts" not in moon.document.metadata
    assert len(moon.spans) == 1
