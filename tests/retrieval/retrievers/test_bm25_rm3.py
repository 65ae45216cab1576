"""RM3 takes the terms that Anserini takes, of equal passages and of equal terms too."""

from pathlib import Path

from factseek.core.domain import Document
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.retrievers.bm25_rm3 import relevance_model
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.prepared_query import PreparedQuery
from factseek.settings import convert


def test_terms_of_equal_weight_are_taken_in_alphabetical_order() -> None:
    passages = [{"wave": 1, "tide": 1, "moon": 2, "ebb": 1}, {"reef": 1, "moon": 1, "sand": 1}]
    model = relevance_model(passages, [4.0, 2.0], 2)
    # Of the first passage, moon and ebb are taken, of the second moon and reef.
    assert list(model) == ["moon", "ebb"]
    assert [round(weight, 6) for weight in model.values()] == [0.733333, 0.266667]


def test_passages_of_equal_score_are_taken_in_the_order_of_their_docids(tmp_path: Path) -> None:
    filling = [Document(f"z{number}", f"other{number} text") for number in range(20)]
    alike = [Document(docid, f"harbour {docid}") for docid in ("dee", "bee", "cee", "aye")]
    source = tmp_path / "corpus.jsonl"
    source.write_text(
        "".join(f'{{"docid": "{d.docid}", "text": "{d.text}"}}\n' for d in (*alike, *filling)),
        "utf-8",
    )
    config = convert({"bm25_rm3": {"passages": 2}}, "test")
    build(
        BuildRequest(kind="jsonl", sources=(source,), folder=tmp_path / "index", dense=False),
        config,
    )
    with Index(tmp_path / "index", config) as index:
        state = index._state
        expanded = state.ranking("bm25+rm3", config).expand(PreparedQuery("harbour"), None)
    assert {term for term, _ in expanded.terms} == {"ay", "bee", "harbour"}
